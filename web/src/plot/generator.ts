// The generator's own lateness beside the latency that it measured, from the 50th to the 99th percentile.
import * as Plot from "@observablehq/plot";
import { present, scaleFor, time } from "../format";
import type { Panel, Series } from "../layout";
import { logDomain, logTicks } from "../scale";
import type { Metric } from "../api";
import type { Picture } from "./frame";
import { rowsOnAxis, type Placed, type Row } from "./rows";

interface GeneratorRow extends Row {
  late50: number | null;
  late99: number | null;
  service50: number | null;
  service99: number | null;
}

type End = "late50" | "late99" | "service50" | "service99";

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
  const [low, high] = [domain[0] / scale.per, domain[1] / scale.per];
  const color = (item: Placed<GeneratorRow>) => item.row.color;
  return rowsOnAxis({
    rows: panel.series.map(rowOf),
    width,
    values: () => [],
    domain: () => [low, high],
    axis: "time, logarithmic",
    tick: (value) => time(value * scale.per, 1),
    logTicks: logTicks(low, high, width > 500 ? 8 : 5),
    under: () => [],
    over: (placed) => [
      ...span(placed, ["late50", "late99"], scale.per, -4, { strokeWidth: 1.5, strokeDasharray: "2 2" }, { symbol: "square", r: 3, fill: "var(--paper)" }),
      ...span(placed, ["service50", "service99"], scale.per, 4, { strokeWidth: 3 }, { symbol: "circle", r: 3.5, fill: color }),
    ],
  });
}

/** Two values of each row, and a line between them. */
function span(
  placed: readonly Placed<GeneratorRow>[],
  ends: readonly [End, End],
  per: number,
  dy: number,
  line: Plot.RuleYOptions,
  dot: Plot.DotOptions,
): Plot.Markish[] {
  const at = (end: End) => ({ row }: Placed<GeneratorRow>) => (row[end] === null ? null : row[end] / per);
  const track = { y: (item: Placed<GeneratorRow>) => item.trackY + dy, stroke: (item: Placed<GeneratorRow>) => item.row.color };
  const known = (...of: End[]) => placed.filter(({ row }) => of.every((end) => row[end] !== null));
  return [
    Plot.ruleY(known(...ends), { x1: at(ends[0]), x2: at(ends[1]), ...track, ...line }),
    ...ends.map((end) => Plot.dot(known(end), { x: at(end), ...track, strokeWidth: 1.6, ...dot })),
  ];
}
