// A new run: an experiment of the library or one's own, what is changed about it, and the plan that comes of it.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ExperimentLibrary, LibraryEntry, PlanReply, StartReply } from "../../api";
import { MISSING, clock, percent } from "../../format";
import { Choice, Table } from "../../section/Section";
import { Starting } from "../Starting";
import { ArmRoutes } from "../ArmRoutes";
import { Gone, Refused, getText, post, reason } from "../client";
import type { Editor, TextProblem } from "../editor";
import { FIRST, requestOf, type RunForm } from "../experiment-form";
import { Await, Do, Heading, Problem, mayChange, useAction } from "../pieces";
import { useResource } from "../resource";
import { at, go } from "../router";
import { plural } from "../words";
import type { Schema } from "../yaml";

const DEBOUNCE_MS = 400;

/** Where one's own experiment begins. */
const EMPTY = "question: \nworkload: \narms:\n  - name: \nload:\n";

/** What `tare plan --json` prints, as far as it is shown beside its text. */
interface PlanFigures {
  estimate?: { trials_min: number; trials_max: number; block_ns: number | null; total_min_ns: number | null; total_max_ns: number | null };
  minimum_detectable?: { run: string; differences: { level: string; metric: string; relative: number | null }[] } | null;
  not_run?: { what: string; reason: string }[];
}

function Experiments({ all, chosen, choose }: { all: readonly LibraryEntry[]; chosen: string | null; choose: (entry: LibraryEntry) => void }): JSX.Element {
  const [text, setText] = useState("");
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const shown = all.filter((entry) => words.every((word) => `${entry.name}\n${entry.question}`.toLowerCase().includes(word)));
  return (
    <>
      <search class="filters"><label>Text <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label></search>
      {shown.length === 0 && <p class="none">No experiment is like that.</p>}
      <div class="library" role="radiogroup" aria-label="Experiments" tabIndex={shown.length === 0 ? undefined : -1}>
        {shown.map((entry) => (
          <label key={entry.name}>
            <input type="radio" name="experiment" checked={entry.name === chosen} onChange={() => choose(entry)} />
            <span><b>{entry.name}</b>{!entry.has_quick && <span class="quiet"> no quick form</span>}<span class="range">{entry.question}</span></span>
          </label>
        ))}
      </div>
    </>
  );
}

/** The editor, as soon as its code is there. */
function Yaml({ text, change, problem }: { text: string; change: (text: string) => void; problem: TextProblem | null }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const schema = useResource<Schema>("schemas/experiment");
  const known = useRef<Schema | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  known.current = schema.data;
  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    let isHere = true;
    import("../editor").then(
      ({ editorIn }) => {
        if (!isHere) return;
        editor.current = editorIn(element.shadowRoot ?? element.attachShadow({ mode: "open" }), text, () => known.current, change);
      },
      (error: unknown) => isHere && setTrouble(reason(error)),
    );
    return () => {
      isHere = false;
      editor.current?.destroy();
      editor.current = null;
    };
  }, []);
  useEffect(() => editor.current?.show(problem), [problem]);
  return (
    <>
      {trouble !== null && <Problem>The editor cannot be loaded: {trouble}</Problem>}
      <div class="editor" ref={holder} />
      <p class="how">Ctrl-Space lists what may stand at the cursor. Files that it refers to must lie in the directories that the server was started with.</p>
    </>
  );
}

function Form({ form, change, hasQuick }: { form: RunForm; change: (form: RunForm) => void; hasQuick: boolean }): JSX.Element {
  return (
    <div class="form">
      <fieldset>
        <Choice
          legend="Form"
          name="form"
          options={[{ value: "quick", label: "quick" }, { value: "full", label: "full" }]}
          value={form.quick ? "quick" : "full"}
          choose={(value) => change({ ...form, quick: value === "quick" })}
        />
        {form.quick && !hasQuick && <span class="how">This experiment has no quick form.</span>}
        <label><input type="checkbox" checked={!form.noAa} onChange={() => change({ ...form, noAa: !form.noAa })} /> A/A check (the baseline twice in each block)</label>
      </fieldset>
      <fieldset>
        <label><span>Blocks</span><input type="number" min="1" value={form.blocks} placeholder="as written" onInput={(event) => change({ ...form, blocks: event.currentTarget.value })} /></label>
        <label><span>Seed</span><input type="number" min="0" value={form.seed} placeholder="random" onInput={(event) => change({ ...form, seed: event.currentTarget.value })} /></label>
      </fieldset>
      <details>
        <summary>Addresses of services that run already</summary>
        <label class="tall"><span>part = host:port, host:port (one part on each line)</span><textarea rows={2} value={form.external} spellcheck={false} onInput={(event) => change({ ...form, external: event.currentTarget.value })} /></label>
      </details>
    </div>
  );
}

function Plan({ plan }: { plan: PlanReply }): JSX.Element {
  const { estimate, minimum_detectable: detectable, not_run: notRun } = plan.plan as PlanFigures;
  const span = (low: number | null | undefined, high: number | null | undefined) => (clock(low) === clock(high) ? clock(low) : `${clock(low)} to ${clock(high)}`);
  return (
    <>
      <dl class="now">
        <div><dt>Time, about</dt><dd>{span(estimate?.total_min_ns, estimate?.total_max_ns)}</dd></div>
        <div><dt>First block after</dt><dd>{clock(estimate?.block_ns)}</dd></div>
        <div><dt>Trials</dt><dd>{estimate === undefined ? MISSING : estimate.trials_min === estimate.trials_max ? estimate.trials_min : `${estimate.trials_min} to ${estimate.trials_max}`}</dd></div>
      </dl>
      {(notRun ?? []).map((one) => <Problem key={one.what}>{one.what} is not run: {one.reason}</Problem>)}
      <h3 class="sub">What it can detect</h3>
      {detectable == null ? <p class="how">No earlier run of this experiment on this machine: known after the first.</p> : (
        <Table label="Smallest differences that it can detect">
          <thead><tr><th scope="col">level</th><th scope="col">metric</th><th scope="col" class="n">smallest difference</th></tr></thead>
          <tbody>{detectable.differences.map((one) => <tr key={`${one.level} ${one.metric}`}><td>{one.level}</td><td>{one.metric}</td><td class="n">{percent(one.relative)}</td></tr>)}</tbody>
        </Table>
      )}
      <h3 class="sub">Routes of the arms</h3>
      <ArmRoutes arms={plan.arms} />
      <details class="block"><summary>The whole plan</summary><pre class="plan" tabIndex={0}>{plan.text}</pre></details>
    </>
  );
}

interface Planned {
  plan: PlanReply | null;
  problem: string | null;
  place: TextProblem | null;
  isBusy: boolean;
}

/** The plan of a form, asked for when typing pauses; the last one stays until then. */
function usePlan(form: RunForm): Planned {
  const [planned, setPlanned] = useState<Planned>({ plan: null, problem: null, place: null, isBusy: false });
  const request = useMemo(() => requestOf(form), [form]);
  useEffect(() => {
    if (request === null || typeof request === "string") {
      setPlanned({ plan: null, problem: request, place: null, isBusy: false });
      return;
    }
    const stop = new AbortController();
    setPlanned((before) => ({ ...before, isBusy: true }));
    const timer = setTimeout(() => {
      post<PlanReply>("plan", request, stop.signal).then(
        (plan) => setPlanned({ plan, problem: null, place: null, isBusy: false }),
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const refused = error instanceof Refused ? error.error : null;
          const place = refused?.line == null ? null : { message: refused.message, line: refused.line, column: refused.column ?? 1 };
          setPlanned({ plan: null, problem: error instanceof Gone ? "The server does not answer." : reason(error), place, isBusy: false });
        },
      );
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [request]);
  return planned;
}

/** The view that starts a run. */
export function New(): JSX.Element {
  const library = useResource<ExperimentLibrary>("library");
  const [form, change] = useState<RunForm>(FIRST);
  const [start, setStart] = useState<StartReply | null>(null);
  const [isStarting, setStarting] = useState(false);
  const planned = usePlan(form);
  const starting = useAction();
  const loading = useAction();
  // What was written, by experiment: going back to the library loses nothing.
  const drafts = useRef(new Map<string | null, string>());
  const entry = library.data?.experiments.find((one) => one.name === form.experiment);
  const edit = async () => {
    const path = (form.experiment ?? "").split("/").map(encodeURIComponent).join("/");
    const yaml = drafts.current.get(form.experiment) ?? (await getText(`library/${path}`));
    change((before) => ({ ...before, yaml }));
  };
  const back = () => {
    if (form.yaml !== null) drafts.current.set(form.experiment, form.yaml);
    change({ ...form, yaml: null });
  };
  const begin = async () => {
    const request = requestOf(form);
    if (request === null || typeof request === "string") return;
    setStart(await post<StartReply>("runs", request));
    setStarting(true);
  };
  if (!mayChange()) return <><Heading title="New run" name="New run" /><p class="none">This server is read-only: it starts nothing.</p></>;
  return (
    <>
      <Heading title="New run" name="New run" />
      <div class="two">
        <section aria-labelledby="experiment-title">
          <header class="bar">
            <h2 id="experiment-title">{form.yaml === null ? "Experiment" : form.experiment ?? "Own experiment"}</h2>
            <div class="tools">
              {form.yaml !== null
                ? <button type="button" class="plain" onClick={back}>Back to the library</button>
                : <>
                    <Do action={loading} run={edit} disabled={form.experiment === null}>Edit as YAML</Do>
                    <button type="button" class="plain" onClick={() => change({ ...form, experiment: null, yaml: drafts.current.get(null) ?? EMPTY })}>Write one</button>
                  </>}
            </div>
          </header>
          {loading.problem !== null && <Problem>{loading.problem}</Problem>}
          {form.yaml === null ? (
            <Await of={library} what="library">
              {(data) => data.experiments.length === 0
                ? <p class="none">The library is empty. Write an experiment, or start the server where the experiments are.</p>
                : <Experiments all={data.experiments} chosen={form.experiment} choose={(one) => change({ ...form, experiment: one.name, quick: form.quick && one.has_quick })} />}
            </Await>
          ) : (
            <>
              <p class="lead">Rates, arms and assertions are changed here. The library stays as it is.</p>
              <Yaml text={form.yaml} change={(yaml) => change((before) => ({ ...before, yaml }))} problem={planned.place} />
            </>
          )}
          <Form form={form} change={change} hasQuick={entry?.has_quick !== false} />
        </section>
        <section aria-labelledby="plan-title" aria-busy={planned.isBusy}>
          <header class="bar">
            <h2 id="plan-title">Plan</h2>
            <Do action={starting} run={begin} strong disabled={planned.plan === null || planned.isBusy || isStarting}>Start</Do>
          </header>
          <p class="unseen" role="status">{planned.isBusy ? "Planning" : planned.plan !== null ? `Planned: ${plural(planned.plan.arms.length, "arm")}` : ""}</p>
          {starting.problem !== null && <Problem>{starting.problem}</Problem>}
          {planned.problem !== null && <Problem>{planned.place === null ? "" : `Line ${planned.place.line}, column ${planned.place.column}: `}{planned.problem}</Problem>}
          {start !== null && <Starting key={start.id} start={start} ready={(id) => go(at("runs", id))} failed={() => setStarting(false)} />}
          {planned.plan !== null ? <Plan plan={planned.plan} /> : planned.problem === null && <p class="none">{planned.isBusy ? "Planning …" : "Choose an experiment: its plan is shown here before anything starts."}</p>}
        </section>
      </div>
    </>
  );
}
