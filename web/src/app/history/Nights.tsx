// Nights: the results of suites, the newest first, each with its own page.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NightCounts, NightList, NightSummary } from "../../api";
import { MISSING, clock } from "../../format";
import { API } from "../client";
import { Await, Heading, server } from "../pieces";
import { useInterval, useResource } from "../resource";
import type { Order } from "../rows";
import { VirtualTable, type Column } from "../VirtualTable";
import { moment, plural } from "../words";
import { changesOf, endOf, entriesOf } from "./night-words";

const REFRESH_MS = 15_000;

function End({ night }: { night: NightSummary }): JSX.Element {
  const { words, isBad } = endOf(night);
  return <span class={isBad ? "bad" : undefined} title={night.result?.reason ?? words}>{words}{night.result != null && ` (${night.result.exit_code})`}</span>;
}

const of = (night: NightSummary, say: (counts: NightCounts) => string) => (night.result == null ? MISSING : say(night.result));
const long = (night: NightSummary, say: (counts: NightCounts) => string) => <span title={of(night, say)}>{of(night, say)}</span>;

const COLUMNS: Column<NightSummary>[] = [
  { key: "night", label: "night", width: 14, cell: ({ night, result }) => (result == null ? night : <a href={`${API}/history/nights/${encodeURIComponent(night)}/night.html`}>{night}</a>), sort: ({ night }) => night },
  { key: "end", label: "end (exit code)", width: 19, cell: (night) => <End night={night} /> },
  { key: "entries", label: "entries", width: 21, cell: (night) => long(night, entriesOf) },
  { key: "changes", label: "changes", width: 48, cell: (night) => long(night, changesOf) },
  { key: "started", label: "started", width: 21, cell: (night) => of(night, (one) => moment(one.started_unix_us / 1000)), sort: (night) => night.result?.started_unix_us },
  { key: "took", label: "took", width: 11, kind: "n", cell: (night) => of(night, (one) => clock(one.took_ns)), sort: (night) => night.result?.took_ns },
  { key: "suite", label: "suite", width: 12, cell: (night) => <span title={of(night, (one) => one.suite)}>{of(night, (one) => one.suite.replace(/^.*\/|\.ya?ml$/g, ""))}</span> },
];

function List({ nights }: { nights: readonly NightSummary[] }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "", isDescending: true });
  return (
    <>
      <p class="found" role="status">{plural(nights.length, "night")}</p>
      <VirtualTable label="Nights" rows={nights} columns={COLUMNS} keyOf={({ night }) => night} order={order} setOrder={setOrder} />
      <p class="how">The page of a night has the findings of its runs, and a chart of each series that changed. Entries that are left are run first by the next call.</p>
    </>
  );
}

/** The page of the nights. */
export function Nights(): JSX.Element {
  const nights = useResource<NightList>("history/nights");
  useInterval(nights.reload, REFRESH_MS);
  return (
    <>
      <p class="crumb"><a href="/history">History</a> / nights</p>
      <Heading title="Nights" name="Nights" lead="What each call of “tare suite” measured, and what had changed." />
      <Await of={nights} what="nights">
        {(list) => list.nights.length > 0 ? <List nights={list.nights} /> : (
          <div class="none">
            <p>No suite has run yet: a suite runs experiments and loads in turn, every night, and says what changed.</p>
            <p><code>tare suite suites/nightly.yaml --runs {server.value?.runs ?? "DIR"}</code></p>
          </div>
        )}
      </Await>
    </>
  );
}
