// A table of any length that draws the rows in sight: sorted by its headings, gone through with the arrow keys, told as a whole to screen readers.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { adopt } from "./pieces";
import { sorted, spansOf, type Order, type SortValue } from "./rows";
import style from "./table.css?inline";

adopt(style);

/** A column. The first one names the row. */
export interface Column<T> {
  key: string;
  label: ComponentChildren;
  /** Width in digits. */
  width: number;
  kind?: "n";
  cell: (row: T) => ComponentChildren;
  sort?: (row: T) => SortValue;
}

interface Props<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  order: Order;
  setOrder: (order: Order) => void;
  /** Rows that are selected, where rows can be. */
  chosen?: { keys: ReadonlySet<string>; choose: (key: string, isChosen: boolean) => void };
  isMarked?: (row: T) => boolean;
}

const ROW_HEIGHT = 31;
/** Tables up to this length are drawn whole. */
const WHOLE = 30;

const CONTROLS = "a, button, input, select";

function Head<T>({ column, order, setOrder }: { column: Column<T>; order: Order; setOrder: (order: Order) => void }): JSX.Element {
  const isOrder = order.column === column.key;
  if (column.sort === undefined) return <th scope="col" class={column.kind}>{column.label}</th>;
  return (
    <th scope="col" class={column.kind} aria-sort={isOrder ? (order.isDescending ? "descending" : "ascending") : undefined}>
      {/* Figures are looked at from the largest down, names from A. */}
      <button type="button" class="sort" onClick={() => setOrder({ column: column.key, isDescending: isOrder ? !order.isDescending : column.kind === "n" })}>
        {column.label}<span aria-hidden="true">{isOrder ? (order.isDescending ? " ▼" : " ▲") : ""}</span>
      </button>
    </th>
  );
}

/** The table. */
export function VirtualTable<T>({ label, rows, columns, keyOf, order, setOrder, chosen, isMarked }: Props<T>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [seen, see] = useState({ top: 0, height: 900 });
  const [focused, focus] = useState<string | null>(null);
  const pending = useRef<{ row: number; control: number } | null>(null);
  const by = columns.find((column) => column.key === order.column)?.sort;
  const inOrder = useMemo(() => (by === undefined ? rows : sorted(rows, order.isDescending, by)), [rows, order.column, order.isDescending]);
  const isWhole = inOrder.length <= WHOLE;
  const focusedRow = useMemo(() => (focused === null ? -1 : inOrder.findIndex((row) => keyOf(row) === focused)), [inOrder, focused]);
  const spans = isWhole ? [{ from: 0, to: inOrder.length }] : spansOf({ rows: inOrder.length, rowHeight: ROW_HEIGHT, ...seen, focused: focusedRow < 0 ? null : focusedRow });

  const look = () => {
    const element = box.current;
    if (element === null) return;
    const next = { top: Math.floor(element.scrollTop / ROW_HEIGHT) * ROW_HEIGHT, height: element.clientHeight };
    if (next.top !== seen.top || next.height !== seen.height) see(next);
  };
  useLayoutEffect(() => {
    if (!isWhole) look();
    const wanted = pending.current;
    if (wanted === null) return;
    const row = box.current?.querySelector(`tr[aria-rowindex="${wanted.row + 2}"]`);
    const controls = row?.querySelectorAll<HTMLElement>(CONTROLS);
    const control = controls?.[Math.min(wanted.control, controls.length - 1)];
    pending.current = null;
    control?.focus({ preventScroll: true });
  });

  const goTo = (row: number, control: number) => {
    const element = box.current;
    const item = inOrder[row];
    if (element === null || item === undefined) return;
    if (!isWhole) {
      // One row is left free for the heading, which stays in sight.
      const [from, to] = [(row - 1) * ROW_HEIGHT, (row + 2) * ROW_HEIGHT];
      if (element.scrollTop > from) element.scrollTop = Math.max(0, from);
      else if (element.scrollTop + element.clientHeight < to + ROW_HEIGHT) element.scrollTop = to + ROW_HEIGHT - element.clientHeight;
    }
    pending.current = { row, control };
    focus(keyOf(item));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(seen.height / ROW_HEIGHT) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    if (step === undefined || !(event.target instanceof HTMLElement) || focusedRow < 0) return;
    const row = event.target.closest("tbody tr");
    if (row === null) return;
    event.preventDefault();
    goTo(Math.max(0, Math.min(inOrder.length - 1, focusedRow + step)), [...row.querySelectorAll(CONTROLS)].indexOf(event.target));
  };
  const onFocus = (event: FocusEvent) => {
    const key = event.target instanceof Element ? (event.target.closest<HTMLElement>("tr[data-key]")?.dataset["key"] ?? null) : null;
    focus(key);
  };

  const body: JSX.Element[] = [];
  let end = 0;
  const gap = (name: string, count: number) => count > 0 && body.push(<tr key={name} class="gap" aria-hidden="true"><td colSpan={columns.length} style={{ height: `${count * ROW_HEIGHT}px` }} /></tr>);
  for (const span of spans) {
    gap(`before ${span.from === 0 ? "first" : body.length}`, span.from - end);
    for (let index = span.from; index < span.to; index += 1) {
      const row = inOrder[index] as T;
      const key = keyOf(row);
      body.push(
        <tr key={`row ${key}`} data-key={key} aria-rowindex={index + 2} class={isMarked?.(row) === true ? "unfit" : undefined}>
          {columns.map((column, place) => place === 0 ? (
            <th scope="row" key={column.key}>
              {chosen !== undefined && <input type="checkbox" checked={chosen.keys.has(key)} onChange={(event) => chosen.choose(key, event.currentTarget.checked)} aria-label={`Select ${key}`} />}
              {column.cell(row)}
            </th>
          ) : <td key={column.key} class={column.kind}>{column.cell(row)}</td>)}
        </tr>,
      );
    }
    end = span.to;
  }
  gap("after", inOrder.length - end);
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    <div class={`scroll virtual${isWhole ? "" : " long"}`} role="group" aria-label={label} tabIndex={0} ref={box} onScroll={look} onKeyDown={onKeyDown} onFocusIn={onFocus} onFocusOut={() => focus(null)}>
      <table aria-label={label} aria-rowcount={inOrder.length + 1} style={{ minWidth: `${width}ch` }}>
        <colgroup>{columns.map((column) => <col key={column.key} style={{ width: `${column.width}ch` }} />)}</colgroup>
        <thead><tr aria-rowindex={1}>{columns.map((column) => <Head key={column.key} column={column} order={order} setOrder={setOrder} />)}</tr></thead>
        <tbody>{body}</tbody>
      </table>
    </div>
  );
}
