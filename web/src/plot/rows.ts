// Pictures made of rows: a heading line with a name and a reading, and marks on a track below it.
import * as Plot from "@observablehq/plot";
import { shorten } from "../scale";
import { charactersIn } from "./frame";

/** One row before it is placed. */
export interface Row {
  /** Heading of the group that starts here, if one does. */
  group: string | null;
  name: string;
  color: string;
  reading: string;
}

/** A row with the place of its heading and of its track, in pixels from the top of the frame. */
export interface Placed<T extends Row> {
  row: T;
  groupY: number | null;
  headY: number;
  trackY: number;
}

const GROUP_HEIGHT = 28;
const ROW_HEIGHT = 42;

/** Places rows below each other; gives the whole height too. */
export function place<T extends Row>(rows: readonly T[]): { placed: Placed<T>[]; height: number } {
  let y = 4;
  const placed = rows.map((row) => {
    const groupY = row.group === null ? null : y + GROUP_HEIGHT / 2;
    if (row.group !== null) y += GROUP_HEIGHT;
    const at = { row, groupY, headY: y + 9, trackY: y + 26 };
    y += ROW_HEIGHT;
    return at;
  });
  return { placed, height: y };
}

/** The headings of placed rows, for a frame of the given inner width. */
export function headings<T extends Row>(placed: readonly Placed<T>[], inner: number): Plot.Markish[] {
  const grouped = placed.filter((item) => item.groupY !== null);
  const reading = (item: Placed<T>) => shorten(item.row.reading, charactersIn(inner * 0.72));
  return [
    Plot.text(grouped, {
      frameAnchor: "left",
      y: "groupY",
      text: (item: Placed<T>) => shorten(item.row.group ?? "", charactersIn(inner)),
      textAnchor: "start",
      fill: "var(--quiet)",
      fontWeight: 600,
    }),
    Plot.text(placed, {
      frameAnchor: "left",
      y: "headY",
      // The name gets what the reading leaves, less a gap.
      text: (item: Placed<T>) =>
        shorten(item.row.name, Math.max(8, charactersIn(inner) - reading(item).length - 2)),
      textAnchor: "start",
      fill: (item: Placed<T>) => item.row.color,
      fontWeight: 600,
    }),
    Plot.text(placed, {
      frameAnchor: "right",
      y: "headY",
      text: reading,
      textAnchor: "end",
      fill: "var(--ink)",
    }),
  ];
}
