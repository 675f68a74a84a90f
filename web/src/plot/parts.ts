// What each part consumed: one stacked bar per thing compared.
import * as Plot from "@observablehq/plot";
import { present, quantity, scaleFor, tick } from "../format";
import type { Panel } from "../layout";
import { isTareProcess } from "../palette";
import type { PartView } from "../api";
import { charactersIn, type Picture } from "./frame";
import { axisWidth, rowsOnAxis, type Placed, type Row } from "./rows";

/** Which resource is drawn. */
export type Resource = "cpu" | "memory";

interface Segment {
  x1: number;
  x2: number;
  y: number;
  part: PartView;
  value: number;
}

function valueOf(part: PartView, resource: Resource): number | null {
  const value = resource === "cpu" ? part.cpu_s_per_1000 : part.rss_peak_bytes;
  return present(value) ? value : null;
}

/** Parts that a bar shows: for memory, Tare's own are left out, as the figure beside it leaves them out. */
export function partsShown(parts: readonly PartView[], resource: Resource): PartView[] {
  const shown = resource === "cpu" ? [...parts] : parts.filter((part) => !isTareProcess(part.role));
  return shown.sort((a, b) => Number(isTareProcess(a.role)) - Number(isTareProcess(b.role)));
}

/** Longest bar of the panels, for a shared axis. */
export function partsEnd(panels: readonly Panel[], resource: Resource): number {
  const lengths = panels.flatMap((panel) =>
    panel.series.map((series) =>
      partsShown(series.cell.parts, resource).reduce((sum, part) => sum + (valueOf(part, resource) ?? 0), 0),
    ),
  );
  return lengths.reduce((most, length) => Math.max(most, length), 0);
}

function readingOf(series: Panel["series"][number], resource: Resource): string[] {
  const metric = resource === "cpu" ? "cpu-total" : "memory";
  const total = series.cell.figures.find((figure) => figure.metric === metric)?.text ?? "–";
  const missing = partsShown(series.cell.parts, resource).filter((part) => valueOf(part, resource) === null);
  return missing.length === 0 ? [total] : [total, `not measured: ${missing.map((part) => part.instance).join(", ")}`];
}

/** Draws one panel. `end` is the end of the shared axis in the resource's base unit. */
export function partsPicture(
  panel: Panel,
  resource: Resource,
  colors: Map<string, string>,
  end: number,
  width: number,
): Picture {
  const unit = resource === "cpu" ? "cpu-seconds-per1000" : "bytes";
  const scale = scaleFor(unit, end);
  const rows: Row[] = panel.series.map((series) => ({
    group: null,
    name: series.name,
    color: "var(--ink)",
    reading: readingOf(series, resource),
  }));
  const last = end / scale.per || 1;
  const wide = (segment: Segment) => ((segment.x2 - segment.x1) / last) * axisWidth(width);
  const bars = (segments: readonly Segment[]) => [
    Plot.rect(segments, {
      x1: "x1",
      x2: "x2",
      y1: (segment: Segment) => segment.y - 8,
      y2: (segment: Segment) => segment.y + 8,
      fill: (segment: Segment) => colors.get(segment.part.instance) ?? "var(--tare-0)",
      insetLeft: 0.5,
      insetRight: 0.5,
      title: (segment: Segment) =>
        `${segment.part.instance} (${segment.part.role}, ${segment.part.software}): ${quantity(segment.value, unit)}`,
    }),
    Plot.text(
      segments.filter((segment) => charactersIn(wide(segment) - 8) >= segment.part.instance.length),
      {
        x: (segment: Segment) => (segment.x1 + segment.x2) / 2,
        y: "y",
        text: (segment: Segment) => segment.part.instance,
        fill: "var(--on-shade)",
        pointerEvents: "none",
      },
    ),
  ];
  return rowsOnAxis({
    rows,
    width,
    values: () => [],
    domain: () => [0, last * 1.02],
    axis: resource === "cpu" ? "CPU-seconds per 1000 exchanges" : `peak resident memory, ${scale.label}`,
    tick,
    under: () => [],
    over: (placed) => bars(placed.flatMap((item, index) => segmentsOf(panel.series[index]?.cell.parts ?? [], resource, scale.per, item))),
  });
}

function segmentsOf(parts: readonly PartView[], resource: Resource, per: number, item: Placed<Row>): Segment[] {
  let x = 0;
  return partsShown(parts, resource).flatMap((part) => {
    const value = valueOf(part, resource);
    if (value === null) return [];
    const segment = { x1: x, x2: x + value / per, y: item.trackY, part, value };
    x = segment.x2;
    return [segment];
  });
}
