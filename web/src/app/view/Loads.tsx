// Loads that were kept, those of Fortio among them: their figures, and what can be done with several of them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { LoadEntry, LoadList } from "../../api";
import { MISSING, clock, count, significant, time } from "../../format";
import { post, remove } from "../client";
import { Await, Confirm, FileButton, Growing, Heading, Problem, mayChange, useAction } from "../pieces";
import { useInterval, useResource } from "../resource";
import { at, go, withEach } from "../router";
import { moment, searched } from "../words";

const REFRESH_MS = 5000;

function percentile(entry: LoadEntry, wanted: number): JSX.Element {
  const found = entry.figures?.percentiles.find((one) => one.percentile === wanted);
  return <>{found?.is_lower_bound === true && found.value_ns != null ? "> " : ""}{time(found?.value_ns)}</>;
}

function Row({ entry, isChosen, choose }: { entry: LoadEntry; isChosen: boolean; choose: (isChosen: boolean) => void }): JSX.Element {
  const { figures } = entry;
  const started = moment(figures?.started_unix_us == null ? null : figures.started_unix_us / 1000);
  const rate = figures == null ? MISSING : `${significant(figures.achieved_per_s)}/s`;
  return (
    <li class="run-row">
      <input type="checkbox" checked={isChosen} onChange={(event) => choose(event.currentTarget.checked)} aria-label={`Select ${entry.id}`} />
      <div class="run-name">
        <a href={at("loads", entry.id)}>{figures != null && figures.labels !== "" ? figures.labels : entry.id}</a>
        <span class="range">{entry.id}</span>
      </div>
      <div class="run-words">
        <p class="clamp">{figures?.target ?? entry.problem ?? MISSING}</p>
        {figures != null && <p class="quiet">{rate}, p50 {percentile(entry, 50)}, p99 {percentile(entry, 99)}, {count(figures.ok)} ok, {count(figures.errors)} errors</p>}
      </div>
      <div class="run-facts">
        {entry.running ? <span class="run-state running">running</span> : entry.problem != null && <span class="run-state failed">no figures</span>}
        <span class="range">{started}, {clock(figures?.window_ns)}</span>
        <span class="range">{figures?.tool ?? MISSING}</span>
      </div>
    </li>
  );
}

function List({ loads, reload }: { loads: readonly LoadEntry[]; reload: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isDeleting, setDeleting] = useState(false);
  const action = useAction();
  const shown = searched(loads, text, (entry) => [entry.id, entry.figures?.target, entry.figures?.labels, entry.figures?.tool].join("\n"));
  const ids = loads.filter((entry) => chosen.has(entry.id)).map((entry) => entry.id);
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const erase = async () => {
    for (const id of ids) await remove(`loads/${encodeURIComponent(id)}`);
    setDeleting(false);
    setChosen(new Set());
    reload();
  };
  return (
    <>
      <search class="filters"><label>Text <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label></search>
      <p class="found" role="status">{shown.length === loads.length ? `${count(loads.length)} ${loads.length === 1 ? "load" : "loads"}` : `${count(shown.length)} of ${count(loads.length)} loads`}</p>
      {ids.length > 0 && (
        <div class="chosen" role="region" aria-label="Selected loads">
          <span>{ids.length} selected</span>
          <button type="button" class="strong" disabled={ids.length < 2} onClick={() => go(withEach("/loads/compare", "load", ids.toReversed()))}>Compare</button>
          {mayChange() && <button type="button" class="plain" onClick={() => setDeleting(true)}>Delete …</button>}
          <button type="button" class="plain" onClick={() => setChosen(new Set())}>Select none</button>
        </div>
      )}
      {shown.length === 0 && <p class="none">No load is like that.</p>}
      <Growing
        all={shown}
        of={text}
        row={(entry) => <Row key={entry.id} entry={entry} isChosen={chosen.has(entry.id)} choose={(isChosen) => choose(entry.id, isChosen)} />}
      />
      {isDeleting && (
        <Confirm no="Keep" title={ids.length === 1 ? "Delete this load?" : `Delete these ${ids.length} loads?`} yes="Delete for ever" onYes={erase} onNo={() => setDeleting(false)} action={action}>
          <p>Their results are lost:</p>
          <ul class="losses">{ids.map((id) => <li key={id}>{id}</li>)}</ul>
        </Confirm>
      )}
    </>
  );
}

/** The view of all loads. */
export function Loads(): JSX.Element {
  const loads = useResource<LoadList>("loads");
  const action = useAction();
  useInterval(loads.reload, REFRESH_MS);
  const bring = (file: File) => action.run(async () => {
    let result: unknown;
    try {
      result = JSON.parse(await file.text());
    } catch {
      throw new Error(`${file.name} is not JSON: choose a result that Fortio has saved`);
    }
    const { id } = await post<{ id: string }>("loads/import", result);
    go(at("loads", id));
  });
  const tools = mayChange() && (
    <>
      <FileButton label={action.isBusy ? "Importing …" : "Import Fortio’s JSON"} accept=".json,application/json" take={bring} disabled={action.isBusy} />
      <a class="button strong" href="/loads/new">New load</a>
    </>
  );
  return (
    <>
      <Heading title="Loads" name="Loads" lead="Load on one URL, without an experiment round it." tools={tools} />
      {action.problem !== null && <Problem>{action.problem}</Problem>}
      <Await of={loads} what="list of loads">
        {(list) => list.loads.length === 0
          ? <p class="none">No load was kept yet. {mayChange() && <a href="/loads/new">Start the first one</a>}</p>
          : <List loads={list.loads} reload={loads.reload} />}
      </Await>
    </>
  );
}
