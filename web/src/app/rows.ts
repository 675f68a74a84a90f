// Long lists: which rows match a search, in what order, and which of them are drawn.

/** A direction of a column. */
export interface Order {
  column: string;
  isDescending: boolean;
}

/** What a row has in a column to sort by; nothing where it is not known. */
export type SortValue = number | string | null | undefined;

const collator = new Intl.Collator("en", { numeric: true });

/** The rows in an order; rows without a value are last in both directions. */
export function sorted<T>(rows: readonly T[], isDescending: boolean, of: (row: T) => SortValue): T[] {
  const sign = isDescending ? -1 : 1;
  const keyed = rows.map((row, index) => ({ row, index, key: of(row) ?? null }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return a.key === b.key ? a.index - b.index : a.key === null ? 1 : -1;
    const by = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : collator.compare(String(a.key), String(b.key));
    return by === 0 ? a.index - b.index : sign * by;
  });
  return keyed.map((one) => one.row);
}

/** Rows `from` up to, not including, `to`. */
export interface Span {
  from: number;
  to: number;
}

/** Rows beyond both ends of what is seen that are drawn as well, so that Tab finds the next one. */
const BEYOND = 12;

/** The rows to draw: those in sight, and the one that has the focus, wherever it is. */
export function spansOf({ rows, rowHeight, top, height, focused }: { rows: number; rowHeight: number; top: number; height: number; focused: number | null }): Span[] {
  const clamp = (row: number) => Math.max(0, Math.min(rows, row));
  const from = clamp(Math.min(Math.floor(top / rowHeight) - BEYOND, rows - Math.ceil(height / rowHeight)));
  const seen = { from, to: clamp(Math.max(from, Math.ceil((top + height) / rowHeight) + BEYOND)) };
  if (focused === null || focused < 0 || focused >= rows || (focused >= seen.from && focused < seen.to)) return [seen];
  const own = { from: focused, to: focused + 1 };
  return focused < seen.from ? [own, seen] : [seen, own];
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&amp;": "&" };

/** Kafka's documentation of a key as text: it has tags of HTML. */
export function plain(documentation: string): string {
  return documentation.replaceAll(/<\/?[a-z][^<>]*>/gi, "").replaceAll(/&(?:lt|gt|quot|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
