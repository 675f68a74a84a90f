// The generator's own lateness beside the latency that it measured, from the 50th to the 99th percentile.
import * as Plot from "@observablehq/plot";
import { present, scaleFor, time } from "../format";
import type { Panel, Series } from "../layout";
import { logDomain, logTicks } from "../scale";
import type { Metric } from "../view";
import { draw, labelsX, rulesX, type Picture } from "./frame";
import { headings, place, type Placed, type Row } from "./rows";

interface GeneratorRow extends Row {
  late50: number | null;
  late99: number | null;
  service50: number | null;
  service99: number | null;
}

function figure(series: Series, metric: Metric): number | null {
  const value = series.cell.figures.find((item) => item.metric === metric)?.value;
  return present(value) && value > 0 ? value : null;
}

function positive(value: number | null | undefined): number | null {
  return present(value) && value > 0 ? value : null;
}

function rowOf(series: Series): GeneratorRow {
  const own = series.cell.generator;
  return {
    group: null,
    name: series.name,
    color: series.ink.color,
    reading: [`lateness p99 ${time(own.lateness_p99_ns)}`],
    late50: positive(own.lateness_p50_ns),
    late99: positive(own.lateness_p99_ns),
    service50: figure(series, "service-median"),
    service99: figure(series, "service-p99"),
  };
}

function valuesOf(row: GeneratorRow): number[] {
  return [row.late50, row.late99, row.service50, row.service99].filter(present);
}

/** The axis that all panels share, in nanoseconds; `null` when nothing was measured. */
export function generatorDomain(panels: readonly Panel[]): [number, number] | null {
  return logDomain(panels.flatMap((panel) => panel.series.flatMap((series) => valuesOf(rowOf(series)))), 1.3);
}

/** Draws one panel. */
export function generatorPicture(panel: Panel, domain: [number, number], width: number): Picture {
  const scale = scaleFor("nanoseconds", domain[1]);
  const margins = { marginLeft: 4, marginRight: 12, marginTop: 2, marginBottom: 44 };
  const laid = place(panel.series.map(rowOf), width - margins.marginLeft - margins.marginRight);
  const { placed, height } = laid;
  const ticks = logTicks(domain[0] / scale.per, domain[1] / scale.per, width > 500 ? 8 : 5);
  const at = (value: number | null) => (value === null ? null : value / scale.per);
  const span = (low: (row: GeneratorRow) => number | null, high: (row: GeneratorRow) => number | null, dy: number) => {
    const both = placed.filter(({ row }) => low(row) !== null && high(row) !== null);
    const y = (item: Placed<GeneratorRow>) => item.trackY + dy;
    const color = (item: Placed<GeneratorRow>) => item.row.color;
    const end = (of: (row: GeneratorRow) => number | null, options: Plot.DotOptions) =>
      Plot.dot(placed.filter(({ row }) => of(row) !== null), {
        x: (item: Placed<GeneratorRow>) => at(of(item.row)),
        y,
        stroke: color,
        strokeWidth: 1.6,
        ...options,
      });
    return { both, y, color, end };
  };
  const late = span((row) => row.late50, (row) => row.late99, -4);
  const service = span((row) => row.service50, (row) => row.service99, 4);
  const bar = (track: typeof late, low: keyof GeneratorRow, high: keyof GeneratorRow, strokeWidth: number, dash: string) =>
    Plot.ruleY(track.both, {
      x1: (item: Placed<GeneratorRow>) => at(item.row[low] as number | null),
      x2: (item: Placed<GeneratorRow>) => at(item.row[high] as number | null),
      y: track.y,
      stroke: track.color,
      strokeWidth,
      strokeDasharray: dash,
    });
  const fill = (item: Placed<GeneratorRow>) => item.row.color;
  return draw({
    width,
    height: height + margins.marginTop + margins.marginBottom,
    ...margins,
    x: { type: "log", domain: [domain[0] / scale.per, domain[1] / scale.per], axis: null },
    y: { type: "linear", domain: [height, 0], range: [margins.marginTop + height, margins.marginTop], axis: null },
    marks: [
      rulesX(ticks),
      labelsX(ticks, (value) => time(value * scale.per, 1)),
      Plot.text(["time, logarithmic →"], { frameAnchor: "bottom-right", dy: 36, textAnchor: "end", fill: "var(--quiet)" }),
      ...headings(laid),
      bar(late, "late50", "late99", 1.5, "2 2"),
      bar(service, "service50", "service99", 3, "none"),
      late.end((row) => row.late50, { symbol: "square", r: 3, fill: "var(--paper)" }),
      late.end((row) => row.late99, { symbol: "square", r: 3, fill: "var(--paper)" }),
      service.end((row) => row.service50, { symbol: "circle", r: 3.5, fill }),
      service.end((row) => row.service99, { symbol: "circle", r: 3.5, fill }),
    ],
  });
}
