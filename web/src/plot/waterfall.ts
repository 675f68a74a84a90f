// A sum taken apart: bars that float from where the one before ends, between the least arm and the most.
import * as Plot from "@observablehq/plot";
import { present, quantity, scaleFor, tick } from "../format";
import { zeroDomain } from "../scale";
import type { Unit, WaterfallSequence } from "../view";
import type { Picture } from "./frame";
import { rowsOnAxis, type Placed, type Row } from "./rows";

/** What a bar is: a whole arm, or what a step adds or takes away. */
export type Bar = "whole" | "adds" | "takes";

export const BARS: Record<Bar, { color: string; label: string }> = {
  whole: { color: "var(--baseline)", label: "an arm as it is" },
  adds: { color: "var(--hue-0)", label: "added by a step" },
  takes: { color: "var(--hue-1)", label: "taken away by a step" },
};

export interface BarRow extends Row {
  from: number | null;
  to: number | null;
  /** Ends of the step's interval, laid at the end of its bar. */
  low: number | null;
  high: number | null;
  bar: Bar;
}

/** The rows of an order, in units of the axis. */
export function barsOf(sequence: WaterfallSequence, unit: Unit, per: number): BarRow[] {
  const scaled = (value: number | null | undefined) => (present(value) ? value / per : null);
  const whole = (name: string, value: number | null | undefined, reading: string): BarRow => ({
    group: null, name, color: BARS.whole.color, reading: [reading], from: 0, to: scaled(value), low: null, high: null, bar: "whole",
  });
  const steps = sequence.steps.map((step): BarRow => {
    const bar = present(step.added?.estimate) && step.added.estimate < 0 ? "takes" : "adds";
    const end = (value: number | null | undefined) => (present(value) && present(step.from) ? (step.from + value) / per : null);
    return {
      group: null,
      name: `+ ${step.what}`,
      color: BARS[bar].color,
      reading: [step.added_text, `${step.share_text} of all`],
      from: scaled(step.from),
      to: scaled(step.to),
      low: end(step.added?.low),
      high: end(step.added?.high),
      bar,
    };
  });
  const last = sequence.steps.at(-1)?.arm ?? "";
  const total = `${quantity(sequence.end, unit)}, all together ${sequence.total_text}`;
  return [whole(sequence.first, sequence.start, quantity(sequence.start, unit)), ...steps, whole(last, sequence.end, total)];
}

/** Draws one order. */
export function waterfallPicture(sequence: WaterfallSequence, unit: Unit, width: number): Picture {
  const most = [sequence.start, ...sequence.steps.map((step) => step.to)].filter(present).reduce((a, b) => Math.max(a, b), 0);
  const scale = scaleFor(unit, most);
  return rowsOnAxis({
    rows: barsOf(sequence, unit, scale.per),
    width,
    values: (row) => [row.from, row.to, row.low, row.high],
    domain: zeroDomain,
    axis: scale.label,
    tick,
    under: (placed) => [joints(placed)],
    over: (placed) => [...bars(placed), intervals(placed)],
  });
}

/** Where one bar ends and the next begins. */
function joints(placed: readonly Placed<BarRow>[]): Plot.Markish {
  const drawn = placed.filter(({ row }) => row.from !== null && row.to !== null);
  const pairs = drawn.slice(0, -1).map((item, index) => ({ at: item.row.to ?? 0, y1: item.trackY, y2: drawn[index + 1]?.trackY ?? item.trackY }));
  return Plot.ruleX(pairs, { x: "at", y1: "y1", y2: "y2", stroke: "var(--quiet)", strokeDasharray: "2,3" });
}

function bars(placed: readonly Placed<BarRow>[]): Plot.Markish[] {
  const drawn = placed.filter(({ row }) => row.from !== null && row.to !== null);
  return [
    Plot.rect(drawn, {
      x1: (item: Placed<BarRow>) => Math.min(item.row.from ?? 0, item.row.to ?? 0),
      x2: (item: Placed<BarRow>) => Math.max(item.row.from ?? 0, item.row.to ?? 0),
      y1: (item: Placed<BarRow>) => item.trackY - 6,
      y2: (item: Placed<BarRow>) => item.trackY + 6,
      fill: (item: Placed<BarRow>) => item.row.color,
      stroke: (item: Placed<BarRow>) => item.row.color,
      fillOpacity: (item: Placed<BarRow>) => (item.row.bar === "takes" ? 0.25 : 1),
    }),
  ];
}

function intervals(placed: readonly Placed<BarRow>[]): Plot.Markish {
  return Plot.ruleY(placed.filter(({ row }) => row.low !== null && row.high !== null), {
    x1: (item: Placed<BarRow>) => item.row.low,
    x2: (item: Placed<BarRow>) => item.row.high,
    y: (item: Placed<BarRow>) => item.trackY + 9,
    stroke: "var(--ink)",
    strokeWidth: 1.5,
  });
}
