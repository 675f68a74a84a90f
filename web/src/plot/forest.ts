// Differences with their intervals: one row for each comparison, a zero line, and the margin that counts as none.
import * as Plot from "@observablehq/plot";
import { present, scaleFor, tick, type Scale } from "../format";
import { zeroDomain } from "../scale";
import type { Interval, Overhead, Unit } from "../api";
import type { Picture } from "./frame";
import { rowsOnAxis, type Placed, type Row } from "./rows";

/** What the x axis shows. */
export type Side = "added" | "ratio";

/** How an outcome is drawn: by shape, so that colour is never needed. */
export type Mark = "differs" | "differs-little" | "same" | "undecided" | "plain";

/** Plot's symbol for each mark and whether it is filled. */
export const MARKS: Record<Mark, { symbol: "diamond" | "circle" | "square" | "times"; filled: boolean; label: string }> = {
  differs: { symbol: "diamond", filled: true, label: "differs" },
  "differs-little": { symbol: "diamond", filled: false, label: "differs, by less than the margin" },
  same: { symbol: "circle", filled: false, label: "changes by less than the margin" },
  undecided: { symbol: "times", filled: false, label: "undecided" },
  plain: { symbol: "square", filled: true, label: "no verdict" },
};

/** The mark of an outcome. */
export function markOf(overhead: Overhead): Mark {
  switch (overhead.outcome.outcome) {
    case "differs":
      return overhead.outcome.within_margin ? "differs-little" : "differs";
    case "same":
      return "same";
    case "undecided":
      return "undecided";
    case "descriptive":
    case "none":
      return "plain";
  }
}

interface ForestRow extends Row {
  estimate: number | null;
  low: number | null;
  high: number | null;
  margin: number | null;
  mark: Mark;
}

/** What a forest needs to know of one row, besides the comparison. */
export interface Labelled {
  overhead: Overhead;
  group: string | null;
  name: string;
  color: string;
}

function onAxis(overhead: Overhead, side: Side): { interval: Interval | null; margin: number | null } {
  if (side === "added") {
    const margin = present(overhead.margin) && present(overhead.base) ? overhead.margin * Math.abs(overhead.base) : null;
    return { interval: overhead.added ?? null, margin };
  }
  const ratio = overhead.ratio ?? null;
  const percent = (value: number | null | undefined) => (present(value) ? (value - 1) * 100 : null);
  const interval =
    ratio === null || !present(ratio.estimate)
      ? null
      : { estimate: (ratio.estimate - 1) * 100, low: percent(ratio.low), high: percent(ratio.high) };
  return { interval, margin: present(overhead.margin) ? overhead.margin * 100 : null };
}

function rowOf(labelled: Labelled, side: Side, per: number): ForestRow {
  const { overhead } = labelled;
  const { interval, margin } = onAxis(overhead, side);
  const scaled = (value: number | null | undefined) => (present(value) ? value / per : null);
  const reading = side === "added" ? overhead.added_text : overhead.ratio_text;
  return {
    group: labelled.group,
    name: labelled.name,
    color: labelled.color,
    reading: [reading, overhead.outcome_text],
    estimate: scaled(interval?.estimate),
    low: scaled(interval?.low),
    high: scaled(interval?.high),
    margin: scaled(margin),
    mark: markOf(overhead),
  };
}

function scaleOf(rows: readonly Labelled[], side: Side, unit: Unit): Scale {
  if (side === "ratio") return { label: "% of what it is compared with", per: 1 };
  const ends = rows.flatMap(({ overhead }) => [overhead.added?.estimate, overhead.added?.low, overhead.added?.high]);
  return scaleFor(unit, ends.filter(present).reduce((most, value) => Math.max(most, Math.abs(value)), 0));
}

/** Draws the comparisons of one metric. */
export function forestPicture(rows: readonly Labelled[], side: Side, unit: Unit, width: number): Picture {
  const scale = scaleOf(rows, side, unit);
  return rowsOnAxis({
    rows: rows.map((row) => rowOf(row, side, scale.per)),
    width,
    values: (row) => [row.estimate, row.low, row.high, row.margin, row.margin === null ? null : -row.margin],
    domain: zeroDomain,
    axis: `difference, ${scale.label}`,
    tick: signed,
    under: (placed) => [
      Plot.rect(placed.filter(({ row }) => row.margin !== null), {
        x1: (item: Placed<ForestRow>) => -(item.row.margin ?? 0),
        x2: (item: Placed<ForestRow>) => item.row.margin ?? 0,
        y1: (item: Placed<ForestRow>) => item.trackY - 8,
        y2: (item: Placed<ForestRow>) => item.trackY + 8,
        fill: "var(--band)",
      }),
      // Only beside the marks: through names and readings it would be in the way.
      Plot.ruleX(placed, {
        x: () => 0,
        y1: (item: Placed<ForestRow>) => item.trackY - 11,
        y2: (item: Placed<ForestRow>) => item.trackY + 11,
        stroke: "var(--ink)",
        strokeWidth: 1,
      }),
    ],
    over: (placed) => [
      Plot.ruleY(placed.filter(({ row }) => row.low !== null && row.high !== null), {
        x1: (item: Placed<ForestRow>) => item.row.low,
        x2: (item: Placed<ForestRow>) => item.row.high,
        y: "trackY",
        stroke: (item: Placed<ForestRow>) => item.row.color,
        strokeWidth: 2,
      }),
      ...symbolMarks(placed),
    ],
  });
}

function signed(value: number): string {
  return (value > 0 ? "+" : "") + tick(value);
}

function symbolMarks(placed: readonly Placed<ForestRow>[]): Plot.Markish[] {
  return (Object.keys(MARKS) as Mark[]).map((mark) =>
    Plot.dot(
      placed.filter(({ row }) => row.mark === mark && row.estimate !== null),
      {
        x: (item: Placed<ForestRow>) => item.row.estimate,
        y: "trackY",
        symbol: MARKS[mark].symbol,
        r: mark === "plain" ? 3.5 : 5.5,
        stroke: (item: Placed<ForestRow>) => item.row.color,
        strokeWidth: 2,
        fill: MARKS[mark].filled
          ? (item: Placed<ForestRow>) => item.row.color
          : mark === "undecided"
            ? "none"
            : "var(--paper)",
      },
    ),
  );
}
