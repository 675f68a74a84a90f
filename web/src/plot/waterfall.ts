// Waterfall: each bar starts where the one before ends, from the first arm to the last.
import * as Plot from "@observablehq/plot";
import { present, quantity, scaleFor, tick } from "../format";
import { zeroDomain } from "../scale";
import type { Unit, WaterfallSequence, WaterfallStep } from "../api";
import type { Picture } from "./frame";
import { rowsOnAxis, type Placed, type Row } from "./rows";

/** What a bar is: a whole arm, what a step adds or takes away, or a step whose interval has nothing in it. */
export type Bar = "total" | "increase" | "decrease" | "undecided";

export const BARS: Record<Bar, { color: string; label: string; opacity: number }> = {
  total: { color: "var(--baseline)", label: "an arm as it is", opacity: 1 },
  increase: { color: "var(--hue-0)", label: "added by a step", opacity: 1 },
  decrease: { color: "var(--hue-1)", label: "taken away by a step", opacity: 0.25 },
  undecided: { color: "var(--quiet)", label: "undecided", opacity: 0.15 },
};

export interface BarRow extends Row {
  from: number | null;
  to: number | null;
  /** Ends of the step's interval, laid at the end of its bar. */
  low: number | null;
  high: number | null;
  bar: Bar;
}

/** What the bar of a step is: without an interval (too few blocks) its estimate is all there is. */
export function barOf({ added }: WaterfallStep): Bar {
  if (present(added?.low) && present(added?.high) && added.low <= 0 && added.high >= 0) return "undecided";
  return present(added?.estimate) && added.estimate < 0 ? "decrease" : "increase";
}

/** The rows of an order, in units of the axis. */
export function barsOf(sequence: WaterfallSequence, unit: Unit, per: number): BarRow[] {
  const scaled = (value: number | null | undefined) => (present(value) ? value / per : null);
  const whole = (name: string, value: number | null | undefined, reading: string): BarRow => ({
    group: null, name, color: BARS.total.color, reading: [reading], from: 0, to: scaled(value), low: null, high: null, bar: "total",
  });
  const steps = sequence.steps.map((step): BarRow => {
    const bar = barOf(step);
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

/** Draws one order on the axis that it shares with all orders of the same sum. */
export function waterfallPicture(sequence: WaterfallSequence, all: readonly WaterfallSequence[], unit: Unit, width: number): Picture {
  const most = all.flatMap((one) => [one.start, ...one.steps.map((step) => step.to)]).filter(present).reduce((a, b) => Math.max(a, b), 0);
  const scale = scaleFor(unit, most);
  const values = (row: BarRow) => [row.from, row.to, row.low, row.high];
  const shared = all.flatMap((one) => barsOf(one, unit, scale.per)).flatMap(values).filter(present);
  return rowsOnAxis({
    rows: barsOf(sequence, unit, scale.per),
    width,
    values,
    domain: () => zeroDomain(shared),
    axis: scale.label,
    tick,
    under: (placed) => [connectors(placed)],
    over: (placed) => [...bars(placed), intervals(placed)],
  });
}

/** Where one bar ends and the next begins. */
function connectors(placed: readonly Placed<BarRow>[]): Plot.Markish {
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
      fillOpacity: (item: Placed<BarRow>) => BARS[item.row.bar].opacity,
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
