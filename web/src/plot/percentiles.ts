// Latency by percentile, one curve per thing compared.
import * as Plot from "@observablehq/plot";
import { scaleFor, time, type Scale } from "../format";
import type { Panel } from "../layout";
import type { SeriesStyle } from "../palette";
import { logDomain, logTicks, percentileLabel, percentilePosition, percentileTicks, shorten, spread } from "../scale";
import type { CurvePoint } from "../api";
import { charactersIn, drawLines, tip, type Picture } from "./frame";

/** Which latency is drawn. */
export type Measure = "latency" | "response" | "service";

/** What a measure is called. */
export const TITLES: Record<Measure, string> = { latency: "Latency", response: "Response time", service: "Service time" };

/** One curve. */
export interface CurveLine {
  name: string;
  ink: SeriesStyle;
  curve: readonly CurvePoint[];
}

interface Point {
  x: number;
  y: number;
  name: string;
  color: string;
  percentile: number;
  atLeast: boolean;
}

/** Axes that several panels share so that they can be compared by eye. */
export interface PercentileAxes {
  scale: Scale;
  y: [number, number];
  end: number;
}

/** Axes that hold every curve of the panels; `null` when there is none. */
export function percentileAxes(panels: readonly Panel[], measure: Measure): PercentileAxes | null {
  return curveAxes(panels.flatMap((panel) => panel.series.flatMap((series) => series.cell[measure])));
}

/** Axes that hold all points; `null` when there is none. */
export function curveAxes(all: readonly CurvePoint[]): PercentileAxes | null {
  const drawn = all.filter((point) => percentilePosition(point.percentile) !== null && point.value_ns > 0);
  const domain = logDomain(drawn.map((point) => point.value_ns));
  if (domain === null) return null;
  const scale = scaleFor("nanoseconds", domain[1]);
  const end = drawn.reduce((most, point) => Math.max(most, percentilePosition(point.percentile) ?? 0), 0);
  return { scale, y: [domain[0] / scale.per, domain[1] / scale.per], end: Math.max(end, 1) };
}

function pointsOf(line: CurveLine, per: number): Point[] {
  return line.curve.flatMap((point) => {
    const x = percentilePosition(point.percentile);
    if (x === null || !(point.value_ns > 0)) return [];
    const base = { name: line.name, color: line.ink.color, percentile: point.percentile };
    return [{ ...base, x, y: point.value_ns / per, atLeast: point.is_lower_bound }];
  });
}

/** Draws one panel. */
export function percentilePicture(panel: Panel, measure: Measure, axes: PercentileAxes, width: number): Picture {
  const curves = panel.series.map(({ name, ink, cell }) => ({ name, ink, curve: cell[measure] }));
  return curvesPicture(curves, TITLES[measure].toLowerCase(), axes, width);
}

/** Draws curves over shared axes; `quantity` is what they are of. Names that differ at the end only are no use beside curves. */
export function curvesPicture(curves: readonly CurveLine[], quantity: string, axes: PercentileAxes, width: number, hasLabels = true): Picture {
  const labelled = hasLabels && width >= 520;
  const marginRight = labelled ? 148 : 16;
  const height = width >= 520 ? 330 : 290;
  const xTicks = percentileTicks(axes.end);
  const lines = curves.map((series) => ({ series, points: pointsOf(series, axes.scale.per) }));
  return drawLines({
    width,
    height,
    marginLeft: 46,
    marginRight,
    x: {
      domain: [0, axes.end],
      ticks: xTicks.map((item) => item.position),
      label: (position) => percentileLabel(xTicks.find((item) => item.position === position)?.percentile ?? 0),
      name: "percentile of answers",
    },
    y: { type: "log", domain: axes.y, ticks: logTicks(axes.y[0], axes.y[1]), name: `${quantity}, ${axes.scale.label} (logarithmic)` },
    marks: [
      ...lines.flatMap(({ series, points }) => curveMarks(series, points)),
      // 70: the margins above and below.
      ...(labelled ? endLabels(lines, axes, height - 70, marginRight) : []),
      tip(
        lines.flatMap((line) => line.points),
        "x",
        "y",
        (point) => `${point.name}\np${percentileLabel(point.percentile)}: ${point.atLeast ? "> " : ""}${time(point.y * axes.scale.per)}`,
      ),
    ],
  });
}

function curveMarks(series: CurveLine, points: readonly Point[]): Plot.Markish[] {
  const firstOpen = points.findIndex((point) => point.atLeast);
  const known = firstOpen === -1 ? points : points.slice(0, firstOpen);
  // The open part starts at the last known point so that the curve does not break.
  const open = firstOpen === -1 ? [] : points.slice(Math.max(0, firstOpen - 1));
  const common = { x: "x", y: "y", stroke: series.ink.color } as const;
  return [
    Plot.line(known, { ...common, strokeWidth: series.ink.width, strokeDasharray: series.ink.dash || "none" }),
    Plot.line(open, { ...common, strokeWidth: 1, strokeDasharray: "1 3" }),
    Plot.dot(open.slice(-1), { x: "x", y: "y", stroke: series.ink.color, symbol: "triangle", r: 4, fill: "var(--paper)" }),
  ];
}

function endLabels(
  lines: readonly { series: CurveLine; points: Point[] }[],
  axes: PercentileAxes,
  inner: number,
  room: number,
): Plot.Markish[] {
  const ends = lines.flatMap(({ series, points }) => {
    const last = points.at(-1);
    return last === undefined ? [] : [{ series, last }];
  });
  const [low, high] = axes.y;
  const pixel = (value: number) => (inner * Math.log(high / value)) / Math.log(high / low);
  // Beside the longest curve: beside a shorter one, its label would lie on the others.
  const right = Math.max(...ends.map((end) => end.last.x));
  const placed = spread(ends.map((end) => pixel(end.last.y)), 14, 4, inner - 4);
  return ends.map(({ series, last }, index) =>
    Plot.text([last], {
      x: () => right,
      y: "y",
      dx: 8,
      dy: (placed[index] ?? 0) - pixel(last.y),
      text: () => shorten(series.name, charactersIn(room - 12)),
      textAnchor: "start",
      fill: series.ink.color,
      fontWeight: 600,
    }),
  );
}
