// The tables of the view: one way to show each of them.
import type { ComponentChildren, JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Table as TableView, TableCell, TableColumn, TableRow, View } from "../api";
import { Choice, Section, Table } from "./Section";
import { TrialAddress } from "./links";

/** Rows above which a table is folded: beside other things in its section, and alone. */
const LONG = { beside: 12, alone: 40 };

/** Rows up to which the tables of all levels are one table at first. */
const TOGETHER = 24;

const ALL_LEVELS = "all levels";

/** The tables of the page, in order. */
export function tablesOf(view: View): TableView[] {
  return view.tables.filter((table) => table.outputs.includes("page"));
}

/** Headings of the sections that have tables, in order. */
export function sectionsOf(view: View): string[] {
  return [...new Set(tablesOf(view).map((table) => table.section))];
}

/** The anchor of a section. */
export function anchorOf(section: string): string {
  return section.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/** Words as the beginning of a sentence; `p99` and `mTLS` stay. */
export function capital(words: string): string {
  return /^.[a-z ]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

function isShown(column: TableColumn): boolean {
  return (column.outputs ?? []).length === 0 || (column.outputs ?? []).includes("page");
}

function Cell({ column, cell, repeats }: { column: TableColumn; cell: TableCell | undefined; repeats: boolean }): JSX.Element {
  const trialAt = useContext(TrialAddress);
  const text = trialAt !== null && column.label === "trial" && /^\d+$/.test(cell?.text ?? "") ? <a href={trialAt(Number(cell?.text))}>{cell?.text}</a> : cell?.text;
  const words = cell?.marked === true ? <b>▲ {text}</b> : text;
  return (
    <td class={column.kind === "figure" ? "n" : column.kind === "words" ? "words" : undefined}>
      {!repeats && words}
      {!repeats && (cell?.detail ?? "") !== "" && <span class="range">{cell?.detail}</span>}
    </td>
  );
}

/** Whether a row has the same names as the one before, in all columns of groups up to this one. */
function repeats(columns: readonly TableColumn[], at: number, row: TableRow, before: TableRow | undefined): boolean {
  const groups = columns.slice(0, at + 1).map((column, index) => column.kind !== "group" || before?.cells[index]?.text === row.cells[index]?.text);
  return columns[at]?.kind === "group" && before !== undefined && groups.every(Boolean);
}

function Rows({ table }: { table: TableView }): JSX.Element {
  const shown = table.columns.flatMap((column, at) => (isShown(column) ? [{ column, at }] : []));
  return (
    <>
      {table.rows.length > 0 && (
        <Table label={capital(table.title)}>
          <thead>
            <tr>{shown.map(({ column, at }) => <th scope="col" class={column.kind === "figure" ? "n" : undefined} key={at}>{column.label}</th>)}</tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => (
              <tr key={index} class={row.cells.some((cell) => cell.marked === true) ? "unfit" : undefined}>
                {shown.map(({ column, at }) => (
                  <Cell key={at} column={column} cell={row.cells[at]} repeats={repeats(table.columns, at, row, table.rows[index - 1])} />
                ))}
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {(table.footnotes ?? []).map((sentence) => <p class="how" key={sentence}>{capital(sentence)}</p>)}
    </>
  );
}

/** The tables of several levels as one with a column of levels; null where their columns differ. */
export function together(tables: readonly TableView[]): TableView | null {
  const [first] = tables;
  const labels = (table: TableView) => table.columns.map((column) => column.label).join("\n");
  if (first === undefined || tables.some((table) => labels(table) !== labels(first))) return null;
  const level = (table: TableView): TableCell => ({ text: table.level ?? "" });
  return {
    ...first,
    columns: [{ label: "level", kind: "group" }, ...first.columns],
    rows: tables.flatMap((table) => table.rows.map((row) => ({ ...row, cells: [level(table), ...row.cells] }))),
    footnotes: [...new Set(tables.flatMap((table) => table.footnotes ?? []))],
  };
}

/** Tables that differ in their level only: one of them, or all together. */
function Levels({ tables }: { tables: readonly TableView[] }): JSX.Element | null {
  const all = together(tables);
  const preferred = tables.find((table) => table.outputs.length > 1) ?? tables[tables.length - 1];
  const [chosen, choose] = useState(all !== null && all.rows.length <= TOGETHER ? ALL_LEVELS : (preferred?.level ?? ""));
  const names = [...tables.map((table) => table.level ?? ""), ...(all === null ? [] : [ALL_LEVELS])];
  const table = (chosen === ALL_LEVELS ? all : null) ?? tables.find((one) => one.level === chosen) ?? tables[0];
  if (table === undefined) return null;
  return (
    <>
      {tables.length > 1 && (
        <Choice legend="Level" name={`level-of-${table.id}-${table.title}`} options={names.map((name) => ({ value: name, label: name }))} value={chosen} choose={choose} />
      )}
      <Rows table={table} />
    </>
  );
}

/** The tables of a section: a heading for each group that differs in the level only, long ones folded. */
export function Tables({ view, section, alone = false }: { view: View; section: string; alone?: boolean }): JSX.Element {
  const mine = tablesOf(view).filter((table) => table.section === section);
  const keys = [...new Set(mine.map((table) => `${table.id} ${table.title}`))];
  const groups = keys.map((key) => mine.filter((table) => `${table.id} ${table.title}` === key));
  const notes = groups.map((group) => group[0]?.note ?? undefined);
  return (
    <>
      {groups.map((group, index) => {
        const title = capital(group[0]?.title ?? "");
        const rows = group.reduce((sum, table) => sum + table.rows.length, 0);
        const note = notes.indexOf(notes[index]) === index ? notes[index] : undefined;
        const isOnly = alone && groups.length === 1;
        const body: ComponentChildren = (
          <>
            {note !== undefined && <p class={isOnly ? "lead" : "how"}>{note}</p>}
            {group.every((table) => table.level == null) ? group.map((table, at) => <Rows key={at} table={table} />) : <Levels tables={group} />}
          </>
        );
        // A heading says nothing new where it repeats that of the section.
        if (isOnly && rows <= LONG.alone && title === section) return <div key={keys[index]}>{body}</div>;
        return (
          <details class="block" key={keys[index]} open={rows <= (isOnly ? LONG.alone : LONG.beside)}>
            <summary>{title} ({rows})</summary>
            {body}
          </details>
        );
      })}
    </>
  );
}

/** A section that has tables only. */
export function TableSection({ view, section }: { view: View; section: string }): JSX.Element {
  return (
    <Section id={anchorOf(section)} title={section}>
      <Tables view={view} section={section} alone />
    </Section>
  );
}
