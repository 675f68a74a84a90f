// A chart of what happens, second by second (uPlot): lines over the seconds of load, drawn again as they come.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { MISSING, tick } from "../../format";
import { lineKey } from "../../legend";
import type { SeriesStyle } from "../../palette";
import { logDomain, logTicks } from "../../scale";
import { Keys } from "../../section/Picture";
import type { Lines } from "./state";

interface Props {
  title: string;
  /** Unit of the vertical axis, and what a value is divided by for it. */
  unit: string;
  per?: number;
  lines: Lines;
  inks: ReadonlyMap<string, SeriesStyle>;
  isLog?: boolean;
  how: string;
}

const HEIGHT = 190;
const AXIS_SIZE = 54;

function resolved(value: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(value)?.[1];
  return name === undefined ? value : getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function dataOf({ lines, per = 1, isLog = false }: Props): uPlot.AlignedData {
  // A logarithmic axis has no place for 0.
  const drawn = (value: number | null) => (value === null || (isLog && value <= 0) ? null : value / per);
  return [lines.x, ...lines.lines.map((line) => line.values.map(drawn))];
}

function optionsOf(props: Props, width: number): uPlot.Options {
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: resolved("var(--ink)"), font, grid: { stroke: resolved("var(--grid)"), width: 1 }, ticks: { show: false } };
  const log: Partial<uPlot.Scale> = {
    distr: 3,
    range: (chart) => logDomain(chart.data.slice(1).flatMap((line) => [...line].filter((value) => value != null)), 1.3) ?? [1, 10],
  };
  const linear: Partial<uPlot.Scale> = { range: (_chart, _low, high) => [0, high > 0 ? high * 1.08 : 1] };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: props.isLog === true ? log : linear },
    axes: [
      { ...axis, size: 24, values: (_chart, ticks) => ticks.map(tick) },
      {
        ...axis,
        size: AXIS_SIZE,
        ...(props.isLog === true && { splits: (_chart: uPlot, _axis: number, low: number, high: number) => logTicks(low, high, 6), filter: (_chart: uPlot, ticks: number[]) => ticks }),
        values: (_chart, ticks) => ticks.map((value) => tick(value)),
      },
    ],
    series: [
      {},
      ...props.lines.lines.map((line) => {
        const ink = props.inks.get(line.name);
        const dash = ink?.dash === undefined || ink.dash === "" ? undefined : ink.dash.split(" ").map(Number);
        return { label: line.name, stroke: resolved(ink?.color ?? "var(--ink)"), width: ink?.width ?? 2, dash, points: { show: true, size: 5, fill: resolved(ink?.color ?? "var(--ink)"), width: 0 }, spanGaps: false };
      }),
    ],
  };
}

function lastOf(props: Props): string {
  return props.lines.lines
    .map((line) => {
      const value = line.values.findLast((one) => one !== null);
      return `${line.name} ${value == null ? MISSING : tick(Number((value / (props.per ?? 1)).toPrecision(3)))}`;
    })
    .join(", ");
}

/** The chart; the last values are in its label for those who do not see it. */
export function Chart(props: Props): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const names = props.lines.lines.map((line) => line.name).join("\n");

  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const build = () => {
      chart.current?.destroy();
      chart.current = new uPlot(optionsOf(latest.current, element.clientWidth), dataOf(latest.current), element);
    };
    build();
    const resize = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    // Its colours are pixels: they do not follow the page's by themselves.
    const theme = new MutationObserver(build);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", build);
    return () => {
      resize.disconnect();
      theme.disconnect();
      system.removeEventListener("change", build);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [names, props.per, props.isLog]);

  useEffect(() => chart.current?.setData(dataOf(props)));

  const keys = useMemo(() => props.lines.lines.map((line) => lineKey(line.name, props.inks.get(line.name))), [names, props.inks]);
  return (
    <figure>
      <figcaption><h3>{props.title}, {props.unit}</h3></figcaption>
      <Keys keys={keys} />
      <div class="live-chart" ref={holder} role="img" aria-label={`${props.title}, ${props.unit}, now: ${lastOf(props)}`} />
      <p class="how">{props.how}</p>
    </figure>
  );
}
