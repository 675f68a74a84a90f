// The audit log: who changed what and when, and attempts to get in.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AuditEntry, AuditList } from "../../api";
import { MISSING } from "../../format";
import { callerOf, outcomeOf, pathOf } from "../audit";
import { Await, Heading } from "../pieces";
import { useInterval, useResource } from "../resource";
import type { Order } from "../rows";
import { VirtualTable, type Column } from "../VirtualTable";
import { moment, plural, searched } from "../words";

const REFRESH_MS = 15_000;

/** An entry with its place in the list, by which it is known. */
type Row = AuditEntry & { place: string };

function Outcome({ entry }: { entry: AuditEntry }): JSX.Element {
  const { words, isBad } = outcomeOf(entry);
  return <span class={isBad ? "bad" : undefined} title={words}>{words}</span>;
}

const COLUMNS: Column<Row>[] = [
  { key: "at", label: "when", width: 20, cell: (entry) => moment(entry.at_unix_us / 1000), sort: (entry) => entry.at_unix_us },
  { key: "caller", label: "who", width: 17, cell: callerOf, sort: callerOf },
  { key: "what", label: "request", width: 38, cell: (entry) => <span title={pathOf(entry)}>{pathOf(entry)}</span>, sort: pathOf },
  { key: "subject", label: "about", width: 20, cell: (entry) => <span title={entry.subject ?? undefined}>{entry.subject ?? MISSING}</span>, sort: (entry) => entry.subject },
  { key: "outcome", label: "outcome", width: 24, cell: (entry) => <Outcome entry={entry} />, sort: (entry) => entry.status },
  { key: "address", label: "from", width: 15, cell: (entry) => <span title={entry.address}>{entry.address}</span>, sort: (entry) => entry.address },
];

function List({ entries }: { entries: readonly AuditEntry[] }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "", isDescending: true });
  const [text, setText] = useState("");
  const rows = useMemo(() => entries.map((entry, index): Row => ({ ...entry, place: `${entry.at_unix_us} ${entries.length - index}` })), [entries]);
  const shown = searched(rows, text, (entry) => `${callerOf(entry)} ${entry.address} ${pathOf(entry)} ${entry.subject ?? ""} ${outcomeOf(entry).words}`);
  return (
    <>
      <div class="filters">
        <label>Search <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      </div>
      <p class="found" role="status">{shown.length === entries.length ? plural(entries.length, "entry", "entries") : `${shown.length} of ${plural(entries.length, "entry", "entries")}`}</p>
      <VirtualTable label="Audit log" rows={shown} columns={COLUMNS} keyOf={({ place }) => place} order={order} setOrder={setOrder} />
    </>
  );
}

/** The page of the audit log. */
export function Audit(): JSX.Element {
  const audit = useResource<AuditList>("audit?last=1000");
  useInterval(audit.reload, REFRESH_MS);
  return (
    <>
      <Heading title="Audit log" name="Audit log" lead="Who changed what through this server, and attempts to get in that failed. The newest first." />
      <Await of={audit} what="audit log">
        {(list) => (
          <>
            {list.entries.length > 0 ? <List entries={list.entries} /> : <p class="none">Nothing was changed yet.</p>}
            <p class="how">These are the last entries of <code>{list.file}</code>. What is done in a terminal is not in it.</p>
          </>
        )}
      </Await>
    </>
  );
}
