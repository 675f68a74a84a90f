// A run that is being measured: where it is, what comes in each second, what is known so far.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunDetail, RunEvent, View } from "../../api";
import { MISSING, clock, count, significant } from "../../format";
import { Verdict } from "../../section/Head";
import { TrialAddress } from "../../section/links";
import { Section, Table } from "../../section/Section";
import { ArmRoutes } from "../ArmRoutes";
import { post } from "../client";
import { Do, Heading, Lazy, Problem, mayChange, useAction } from "../pieces";
import { useInterval, useResource } from "../resource";
import { at } from "../router";
import { useStream } from "../stream";
import { size } from "../words";
import { PartCharts, SampleCharts } from "./Charts";
import { partValue, place, reasonsOf, snapshot, take, unknownRun, type DoneTrial, type LiveRun } from "./state";

/** Trials that are listed at once. */
const LATEST = 15;

function Now({ run, since }: { run: LiveRun; since: number }): JSX.Element {
  const [, tick] = useState(0);
  useInterval(() => tick((count) => count + 1), 1000);
  const { at: where } = run;
  const left = where === null ? null : Math.max(0, where.left_ns - (performance.now() - since) * 1e6);
  const own = run.trials.filter((trial) => trial.attempt === 0).length + run.before;
  return (
    <>
      <progress max={run.planned ?? 1} value={Math.min(own, run.planned ?? 1)} aria-label="Trials measured" />
      <dl class="now">
        <div><dt>Block</dt><dd>{where === null ? MISSING : `${where.block} of ${where.blocks}`}</dd></div>
        <div><dt>Arm</dt><dd>{where?.arm ?? MISSING}{where !== null && where.aa_copy > 0 && " (second copy, A/A check)"}</dd></div>
        <div><dt>Level</dt><dd>{where?.level ?? MISSING}</dd></div>
        <div><dt>Doing</dt><dd>{run.doing}</dd></div>
        <div><dt>Trials</dt><dd>{count(own)} of {count(run.planned)}</dd></div>
        <div><dt>Time left, about</dt><dd>{left === null ? MISSING : left === 0 ? "any moment" : clock(left)}</dd></div>
        <div><dt>Errors so far</dt><dd>{count(run.errors)}</dd></div>
      </dl>
      <p class="unseen" aria-live="polite">{where === null ? run.doing : `Now: ${place(where)}`}</p>
    </>
  );
}

function Parts({ run }: { run: LiveRun }): JSX.Element | null {
  const last = run.seconds.findLast((second) => second.parts.size > 0);
  if (last === undefined) return null;
  return (
    <Table label="What each part used in the last second">
      <thead><tr><th scope="col">part</th><th scope="col">role</th><th scope="col" class="n">CPU, cores</th><th scope="col" class="n">memory</th><th scope="col" class="n">packets/s</th><th scope="col" class="n">disk/s</th></tr></thead>
      <tbody>
        {[...last.parts.values()].map((part) => (
          <tr key={part.instance}>
            <th scope="row">{part.instance}</th>
            <td>{part.role}</td>
            <td class="n">{significant(partValue(last, part.instance, "cpu"))}</td>
            <td class="n">{size(part.rss_bytes)}</td>
            <td class="n">{count(partValue(last, part.instance, "packets"))}</td>
            <td class="n">{size(partValue(last, part.instance, "disk"))}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Trials({ id, trials }: { id: string; trials: readonly DoneTrial[] }): JSX.Element {
  const [isAll, showAll] = useState(false);
  const [isBad, showBad] = useState(false);
  const uncounted = trials.filter((trial) => trial.status.status !== "fit");
  const rows = (isBad ? uncounted : trials).toReversed();
  const shown = isAll ? rows : rows.slice(0, LATEST);
  if (trials.length === 0) return <p class="none">None yet.</p>;
  return (
    <>
      <p class="lead">
        {count(trials.length)} measured, {uncounted.length === 0 ? "all of them count" : `${count(uncounted.length)} do not count`}.{" "}
        {uncounted.length > 0 && <label><input type="checkbox" checked={isBad} onChange={() => showBad(!isBad)} /> only those that do not count</label>}
      </p>
      <Table label="Trials so far">
        <thead><tr><th scope="col" class="n">trial</th><th scope="col" class="n">block</th><th scope="col">arm</th><th scope="col">level</th><th scope="col">status</th><th scope="col">reason</th></tr></thead>
        <tbody>
          {shown.map((trial) => (
            <tr key={trial.trial} class={trial.status.status === "fit" ? undefined : "unfit"}>
              <td class="n"><a href={at("runs", id, "trials", trial.trial)}>{trial.trial}</a></td>
              <td class="n">{trial.block}</td>
              <td>{trial.arm}{trial.aaCopy > 0 && " (A/A)"}{trial.attempt > 0 && ", repeat"}</td>
              <td>{trial.level}</td>
              <td>{trial.status.status === "fit" ? "fit" : <b>▲ {trial.status.status}</b>}</td>
              <td class="words">{reasonsOf(trial.status).join("; ")}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      {rows.length > shown.length && <button type="button" onClick={() => showAll(true)}>Show all {count(rows.length)}</button>}
    </>
  );
}

/** The view of a run that is being measured. */
export function LiveView({ id, run: detail, ended, downloads }: { id: string; run: RunDetail; ended: () => void; downloads: ComponentChildren }): JSX.Element {
  const building = useRef<LiveRun>(unknownRun());
  const [run, show] = useState(building.current);
  const since = useRef(performance.now());
  const stop = useAction();
  const [isStopping, setStopping] = useState(false);
  const path = `runs/${encodeURIComponent(id)}`;
  useStream<RunEvent>(`${path}/events`, {
    restart: () => {
      building.current = unknownRun();
    },
    take: (events) => {
      for (const event of events) {
        if (event.event === "trial-started") since.current = performance.now();
        take(building.current, event);
      }
      show(snapshot(building.current));
      if (building.current.ended !== null) ended();
    },
    end: ended,
  });
  const { blocksDone } = run;
  const view = useResource<View>(blocksDone > 0 || (run.before ?? 0) > 0 ? `${path}/view` : null);
  useEffect(() => {
    if (blocksDone > 1) view.reload();
  }, [blocksDone]);
  const known = run.view ?? view.data;
  const { summary } = detail.entry;
  const doStop = async () => {
    await post(`${path}/stop`);
    setStopping(true);
  };
  return (
    <>
      <p class="crumb"><a href="/">Runs</a> / {id}</p>
      <Heading
        title={summary?.experiment ?? known?.run.experiment ?? id}
        name={`Running: ${summary?.experiment ?? id}`}
        lead={summary?.question ?? known?.run.question}
        tools={<>{mayChange() && <Do action={stop} run={doStop} strong disabled={isStopping} title="Ends the run; what was measured is kept">{isStopping ? "Stopping …" : "Stop"}</Do>}{downloads}</>}
      />
      {stop.problem !== null && <Problem>{stop.problem}</Problem>}
      <Now run={run} since={since.current} />
      {run.notes.length > 0 && <ul class="notes">{run.notes.map((note, index) => <li key={index}>{note}</li>)}</ul>}
      {known == null ? <p class="none">No finding yet: the first block must be complete.</p> : <Verdict view={known} />}
      <Section id="load" title="Load, second by second"><SampleCharts run={run} /></Section>
      <Section id="parts" title="Parts, second by second"><PartCharts run={run} /><Parts run={run} /></Section>
      <Section id="trials" title="Trials so far"><Trials id={id} trials={run.trials} /></Section>
      {known != null && (
        <TrialAddress.Provider value={(trial) => at("runs", id, "trials", trial)}>
          <Lazy what="figures" load={async () => (await import("../../Report")).Provisional} props={{ view: known }} />
        </TrialAddress.Provider>
      )}
      {detail.arms.length > 0 && <Section id="routes" title="Routes of the arms"><ArmRoutes arms={detail.arms} /></Section>}
      {detail.plan_text !== "" && <details class="block"><summary>The experiment, resolved</summary><pre class="plan" tabIndex={0}>{detail.plan_text}</pre></details>}
    </>
  );
}
