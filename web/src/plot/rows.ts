// Pictures made of rows: a heading line with a name and a reading, and marks on a track below it.
import * as Plot from "@observablehq/plot";
import { shorten } from "../scale";
import { axisNameBelow, charactersIn, draw, labelsX, rulesX, ticksWithin, type Picture } from "./frame";

/** One row before it is placed. */
export interface Row {
  /** Heading of the group that starts here, if one does. */
  group: string | null;
  name: string;
  color: string;
  /** What it reads; the pieces stand on lines of their own where one line is too short for them. */
  reading: readonly string[];
}

/** A row with the place of its heading and of its track, in pixels from the top of the frame. */
export interface Placed<T extends Row> {
  row: T;
  groupY: number | null;
  headY: number;
  trackY: number;
}

const GROUP_HEIGHT = 28;
const LINE_HEIGHT = 16;
const TRACK_HEIGHT = 26;
/** Paper round letters, so that grid lines do not run through them. */
const HALO = { stroke: "var(--paper)", strokeWidth: 6, strokeLinejoin: "round" } as const;

/** Rows in their places. */
interface Rows<T extends Row> {
  placed: Placed<T>[];
  height: number;
  inner: number;
  /** 1: name and reading on one line; 2: below each other; 3: the reading's pieces below each other too. */
  lines: 1 | 2 | 3;
}

const JOINT = " · ";

function linesFor(rows: readonly Row[], most: number): 1 | 2 | 3 {
  const longest = (length: (row: Row) => number) => rows.reduce((most, row) => Math.max(most, length(row)), 0);
  if (longest((row) => row.name.length + row.reading.join(JOINT).length + 3) <= most) return 1;
  return longest((row) => row.reading.join(JOINT).length) <= most ? 2 : 3;
}

/** Places rows below each other in a frame of the given inner width; two lines each where one is too short for any. */
function place<T extends Row>(rows: readonly T[], inner: number): Rows<T> {
  const lines = linesFor(rows, charactersIn(inner));
  let y = 2;
  const placed = rows.map((row) => {
    const groupY = row.group === null ? null : y + GROUP_HEIGHT / 2;
    if (row.group !== null) y += GROUP_HEIGHT;
    const at = { row, groupY, headY: y + 9, trackY: y + lines * LINE_HEIGHT + 10 };
    y += lines * LINE_HEIGHT + TRACK_HEIGHT;
    return at;
  });
  return { placed, height: y, inner, lines };
}

/** The headings of placed rows. */
function headings<T extends Row>({ placed, inner, lines }: Rows<T>): Plot.Markish[] {
  const most = charactersIn(inner);
  return [
    Plot.text(placed.filter((item) => item.groupY !== null), {
      ...HALO,
      frameAnchor: "left",
      y: "groupY",
      text: (item: Placed<T>) => shorten(item.row.group ?? "", most),
      textAnchor: "start",
      fill: "var(--quiet)",
      fontWeight: 600,
    }),
    Plot.text(placed, {
      ...HALO,
      frameAnchor: "left",
      y: "headY",
      text: (item: Placed<T>) => shorten(item.row.name, Math.floor(most * 0.92)),
      textAnchor: "start",
      fill: (item: Placed<T>) => item.row.color,
      fontWeight: 600,
    }),
    ...(lines === 3 ? [0, 1] : [null]).map((piece) =>
      Plot.text(placed, {
        ...HALO,
        frameAnchor: lines === 1 ? "right" : "left",
        y: "headY",
        dy: lines === 1 ? 0 : (1 + (piece ?? 0)) * LINE_HEIGHT,
        text: ({ row }: Placed<T>) => shorten(piece === null ? row.reading.join(JOINT) : (row.reading[piece] ?? ""), most),
        textAnchor: lines === 1 ? "end" : "start",
        fill: "var(--ink)",
      }),
    ),
  ];
}

/** What a picture of rows over one common axis is made from. */
export interface OnAxis<T extends Row> {
  rows: readonly T[];
  width: number;
  /** Every value of a row that the axis must reach. */
  values: (row: T) => readonly (number | null)[];
  /** The domain that holds the values. */
  domain: (values: readonly number[]) => [number, number];
  /** Name of the axis, with its unit. */
  axis: string;
  tick: (value: number) => string;
  /** Ticks of a logarithmic axis; without them it is linear. */
  logTicks?: readonly number[];
  /** Marks under the headings, and over them. */
  under: (placed: readonly Placed<T>[]) => Plot.Markish[];
  over: (placed: readonly Placed<T>[]) => Plot.Markish[];
}

const MARGINS = { marginLeft: 4, marginRight: 10, marginTop: 2, marginBottom: 44 };

/** Width of the axis in a picture of this width. */
export function axisWidth(width: number): number {
  return width - MARGINS.marginLeft - MARGINS.marginRight;
}

/** Draws rows below each other over one axis. */
export function rowsOnAxis<T extends Row>(picture: OnAxis<T>): Picture {
  const { width } = picture;
  const inner = axisWidth(width);
  const laid = place(picture.rows, inner);
  const { placed, height } = laid;
  const values = placed.flatMap(({ row }) => picture.values(row)).filter((value) => value !== null);
  const domain = picture.domain(values);
  const ticks = picture.logTicks ?? ticksWithin(domain, inner, 4, picture.tick);
  return draw({
    width,
    height: height + MARGINS.marginTop + MARGINS.marginBottom,
    ...MARGINS,
    x: { type: picture.logTicks === undefined ? "linear" : "log", domain, axis: null },
    y: { type: "linear", domain: [height, 0], range: [MARGINS.marginTop + height, MARGINS.marginTop], axis: null },
    marks: [
      rulesX(ticks),
      labelsX(ticks, picture.tick),
      axisNameBelow(`${picture.axis} →`),
      ...picture.under(placed),
      ...headings(laid),
      ...picture.over(placed),
    ],
  });
}
