// The history of the runs: which of its pages, and the list of all experiments.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { HistoryExperiment, HistoryList } from "../../api";
import { count } from "../../format";
import { Await, Heading, Lazy, adopt, mayChange, server } from "../pieces";
import { useInterval, useResource, type Resource } from "../resource";
import { at } from "../router";
import type { Order } from "../rows";
import { VirtualTable, type Column } from "../VirtualTable";
import { moment, plural, searched } from "../words";
import { date, measuredAt } from "./changes";
import { Experiment } from "./Experiment";
import { experimentAt, filterOf } from "./filter";
import style from "./history.css?inline";
import { Nights } from "./Nights";

adopt(style);

const REFRESH_MS = 15_000;

/** What the reader looks for; it stays while other pages are shown. */
const wanted = signal<{ text: string; order: Order }>({ text: "", order: { column: "last", isDescending: true } });

const COLUMNS: Column<HistoryExperiment>[] = [
  { key: "experiment", label: "experiment", width: 34, cell: (one) => <a href={experimentAt({ experiment: one.experiment, form: one.form })} title={one.experiment}>{one.experiment}</a>, sort: (one) => one.experiment },
  { key: "form", label: "form", width: 9, cell: (one) => one.form, sort: (one) => one.form },
  { key: "runs", label: "runs", width: 9, kind: "n", cell: (one) => count(one.runs), sort: (one) => one.runs },
  { key: "machines", label: "machines", width: 12, kind: "n", cell: (one) => count(one.machines.length), sort: (one) => one.machines.length },
  { key: "first", label: "first run", width: 14, cell: (one) => date(one.first_unix_us), sort: (one) => one.first_unix_us },
  { key: "last", label: "last run", width: 22, cell: (one) => moment(one.last_unix_us / 1000), sort: (one) => one.last_unix_us },
];

function Unreadable({ list }: { list: HistoryList }): JSX.Element | null {
  const all = Object.entries(list.unreadable);
  if (all.length === 0) return null;
  return (
    <details class="block">
      <summary>{plural(all.length, "run")} cannot be read and {all.length === 1 ? "is" : "are"} in no series</summary>
      <ul class="notes">{all.map(([run, problem]) => <li key={run}><a href={at("runs", run)}>{run}</a>: {problem}</li>)}</ul>
    </details>
  );
}

function Experiments({ list }: { list: HistoryList }): JSX.Element {
  const { text, order } = wanted.value;
  const all = list.experiments;
  const shown = useMemo(() => searched(all, text, (one) => [one.experiment, one.form, ...one.arms, ...one.machines.map(({ about }) => about)].join("\n")), [all, text]);
  const change = (next: Partial<typeof wanted.value>) => {
    wanted.value = { ...wanted.value, ...next };
  };
  return (
    <>
      <search class="filters"><label>Text <input type="search" value={text} onInput={(event) => change({ text: event.currentTarget.value })} /></label></search>
      <p class="found" role="status">{shown.length === all.length ? plural(all.length, "experiment") : `${count(shown.length)} of ${plural(all.length, "experiment")}`}</p>
      {shown.length === 0 ? <p class="none">No experiment is like that. <button type="button" onClick={() => change({ text: "" })}>Show all</button></p> : (
        <VirtualTable label="Experiments" rows={shown} columns={COLUMNS} keyOf={(one) => `${one.experiment} ${one.form}`} order={order} setOrder={(next) => change({ order: next })} />
      )}
      <p class="how">Complete runs count, and kept loads. Quick and full runs of an experiment, and runs of two machines, are never in one series.</p>
    </>
  );
}

function All({ list }: { list: Resource<HistoryList> }): JSX.Element {
  return (
    <>
      <Heading title="History" name="History" lead="How the figures of an experiment developed over all its runs, and from which run on they differ." tools={<a class="button" href="/history/nights">Nights</a>} />
      <Await of={list} what="history">
        {(data) => (
          <>
            {data.experiments.length > 0 ? <Experiments list={data} /> : (
              <div class="none">
                <p>No runs yet: a history is made of the complete runs in {server.value?.runs ?? "the folder"}.</p>
                <p>{mayChange() ? <a href="/new">Start the first run</a> : "This server is read-only: start a run in a terminal with “tare run”."}</p>
              </div>
            )}
            <Unreadable list={data} />
          </>
        )}
      </Await>
    </>
  );
}

/** The page of the history at an address. */
export function History({ page, query }: { page: string; query: URLSearchParams }): JSX.Element {
  const list = useResource<HistoryList>(page === "nights" ? null : "history");
  useInterval(list.reload, page === "" ? REFRESH_MS : null);
  const filter = filterOf(query);
  if (page === "") return <All list={list} />;
  if (page === "nights") return <Nights />;
  if (filter !== null && page === "experiment") return <Await of={list} what="history">{(data) => <Experiment key={query.toString()} list={data} first={filter} />}</Await>;
  if (filter !== null && page === "series") return <Lazy key={query.toString()} what="series" load={async () => (await import("./Series")).Series} props={{ query, filter, kind: measuredAt(filter.experiment) }} />;
  return <><Heading title="Not found" name="Not found" /><p class="none">There is nothing at this address. <a href="/history">All experiments</a></p></>;
}
