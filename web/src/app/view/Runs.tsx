// All runs of the folder: what they asked, what came out, and what can be done with several of them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunDetail, RunEntry, RunEntryState, RunList } from "../../api";
import { MISSING, clock, count } from "../../format";
import { API, get, post, remove } from "../client";
import { Await, Confirm, FileButton, Growing, Heading, Problem, download, mayChange, server, useAction } from "../pieces";
import { useInterval, useResource } from "../resource";
import { at, go, withEach } from "../router";
import { ALL, STATES, experimentsOf, filtered, firstFinding, type Filter } from "../runs";
import { moment, size } from "../words";

const REFRESH_MS = 5000;

/** What the reader looks for; it stays while other views are shown. */
const wanted = signal<Filter>(ALL);

function State({ entry }: { entry: RunEntry }): JSX.Element {
  const { summary } = entry;
  const blocks = summary == null || entry.state === "complete" ? "" : `, ${summary.blocks_complete} of ${summary.blocks_planned} blocks`;
  return <span class={`run-state ${entry.state}`}>{STATES[entry.state]}{blocks}</span>;
}

function Row({ entry, isChosen, choose }: { entry: RunEntry; isChosen: boolean; choose: (isChosen: boolean) => void }): JSX.Element {
  const { summary } = entry;
  return (
    <li class="run-row">
      <input type="checkbox" checked={isChosen} onChange={(event) => choose(event.currentTarget.checked)} aria-label={`Select ${entry.id}`} />
      <div class="run-name">
        <a href={at("runs", entry.id)}>{summary?.experiment ?? entry.id}</a>
        {summary?.form === "quick" && <span class="quiet"> quick</span>}
        <span class="range">{entry.id}</span>
      </div>
      <div class="run-words">
        <p class="quiet clamp">{summary?.question ?? entry.problem ?? MISSING}</p>
        {summary != null && <p class="clamp">{firstFinding(entry) ?? MISSING}</p>}
      </div>
      <div class="run-facts">
        <State entry={entry} />
        <span class="range">{moment(summary && summary.started_unix_us / 1000)}, {clock(summary?.took_ns)}</span>
        <span class="range clamp">{summary?.machine ?? MISSING}</span>
      </div>
    </li>
  );
}

function Filters({ runs, filter, change }: { runs: readonly RunEntry[]; filter: Filter; change: (filter: Filter) => void }): JSX.Element {
  const experiments = useMemo(() => experimentsOf(runs), [runs]);
  return (
    <search class="filters">
      <label>Text <input type="search" value={filter.text} onInput={(event) => change({ ...filter, text: event.currentTarget.value })} /></label>
      <label>
        State{" "}
        <select value={filter.state} onChange={(event) => change({ ...filter, state: event.currentTarget.value as Filter["state"] })}>
          <option value="all">all</option>
          {(Object.keys(STATES) as RunEntryState[]).map((state) => <option key={state} value={state}>{STATES[state]}</option>)}
        </select>
      </label>
      <label>
        Experiment{" "}
        <select value={filter.experiment} onChange={(event) => change({ ...filter, experiment: event.currentTarget.value })}>
          <option value="">all</option>
          {experiments.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
    </search>
  );
}

interface Loss {
  id: string;
  trials: number | null;
  bytes: number | null;
}

/** Asks before runs are deleted, and says what would be lost. */
function Delete({ entries, done, cancel }: { entries: readonly RunEntry[]; done: () => void; cancel: () => void }): JSX.Element {
  const [losses, setLosses] = useState<Loss[] | null>(null);
  const action = useAction();
  const running = entries.filter((entry) => entry.state === "running");
  useEffect(() => {
    const stop = new AbortController();
    const loss = async (entry: RunEntry): Promise<Loss> => {
      const detail = await get<RunDetail>(`runs/${encodeURIComponent(entry.id)}`, stop.signal).catch(() => null);
      return { id: entry.id, trials: (detail?.entry ?? entry).summary?.trials ?? null, bytes: detail?.bytes ?? null };
    };
    void Promise.all(entries.map(loss)).then((all) => !stop.signal.aborted && setLosses(all));
    return () => stop.abort();
  }, []);
  const yes = async () => {
    for (const entry of entries) await remove(`runs/${encodeURIComponent(entry.id)}`);
    done();
  };
  return (
    <Confirm no="Keep" title={entries.length === 1 ? "Delete this run?" : `Delete these ${entries.length} runs?`} yes="Delete for ever" onYes={yes} onNo={cancel} action={action} isBlocked={running.length > 0}>
      {running.length > 0 && <Problem>A run that is being measured cannot be deleted: stop it first.</Problem>}
      <p>What was measured is lost, with the logs and the configurations:</p>
      <ul class="losses">
        {losses === null
          ? <li>Looking at what that is …</li>
          : losses.map((loss) => <li key={loss.id}><b>{loss.id}</b>: {count(loss.trials)} trials, {size(loss.bytes)}</li>)}
      </ul>
    </Confirm>
  );
}

function List({ runs, reload }: { runs: readonly RunEntry[]; reload: () => void }): JSX.Element {
  const filter = wanted.value;
  const setFilter = (next: Filter) => {
    wanted.value = next;
  };
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isDeleting, setDeleting] = useState(false);
  const shown = useMemo(() => filtered(runs, filter), [runs, filter]);
  const entries = runs.filter((entry) => chosen.has(entry.id));
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <>
      <Filters runs={runs} filter={filter} change={setFilter} />
      <p class="found" role="status">
        {shown.length === runs.length ? `${count(runs.length)} ${runs.length === 1 ? "run" : "runs"}` : `${count(shown.length)} of ${count(runs.length)} runs`}
      </p>
      {entries.length > 0 && (
        <div class="chosen" role="region" aria-label="Selected runs">
          <span>{entries.length} selected</span>
          <button type="button" class="strong" disabled={entries.length < 2} onClick={() => go(withEach("/compare", "run", entries.map((entry) => entry.id).reverse()))}>Compare</button>
          <button type="button" class="plain" onClick={() => entries.forEach((entry) => download(`${API}/runs/${encodeURIComponent(entry.id)}/archive`))}>Export</button>
          {mayChange() && <button type="button" class="plain" onClick={() => setDeleting(true)}>Delete …</button>}
          <button type="button" class="plain" onClick={() => setChosen(new Set(shown.map((entry) => entry.id)))}>Select all {count(shown.length)}</button>
          <button type="button" class="plain" onClick={() => setChosen(new Set())}>Select none</button>
        </div>
      )}
      {shown.length === 0 && <p class="none">No run is like that. <button type="button" onClick={() => setFilter(ALL)}>Show all</button></p>}
      <Growing
        all={shown}
        of={JSON.stringify(filter)}
        row={(entry) => <Row key={entry.id} entry={entry} isChosen={chosen.has(entry.id)} choose={(isChosen) => choose(entry.id, isChosen)} />}
      />
      {isDeleting && (
        <Delete
          entries={entries}
          cancel={() => setDeleting(false)}
          done={() => {
            setDeleting(false);
            setChosen(new Set());
            reload();
          }}
        />
      )}
    </>
  );
}

/** The view of all runs. */
export function Runs(): JSX.Element {
  const runs = useResource<RunList>("runs");
  const action = useAction();
  // A run may have been started in a terminal.
  useInterval(runs.reload, REFRESH_MS);
  const bring = (file: File) => action.run(async () => {
    const { id } = await post<{ id: string }>("runs/import", file);
    go(at("runs", id));
  });
  const tools = mayChange() && (
    <>
      <FileButton label={action.isBusy ? "Importing …" : "Import a run (tar)"} accept=".tar,application/x-tar" take={bring} disabled={action.isBusy} />
      <a class="button strong" href="/new">New run</a>
    </>
  );
  return (
    <>
      <Heading title="Runs" name="Runs" tools={tools} />
      {action.problem !== null && <Problem>{action.problem}</Problem>}
      <Await of={runs} what="list of runs">
        {(list) => list.runs.length === 0 ? (
          <div class="none">
            <p>No run is in {server.value?.runs ?? "the folder"} yet.</p>
            <p>{mayChange() ? <a href="/new">Start the first one</a> : "This server is read-only: start one in a terminal with “tare run”."}</p>
          </div>
        ) : <List runs={list.runs} reload={runs.reload} />}
      </Await>
    </>
  );
}
