// The head of the page: what was asked, what came out, and how sure that is.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, instant, percent } from "../format";
import { after, follow, themeOf, type Theme } from "../theme";
import type { RunHead, Sentence, View } from "../api";

const PROGRESS: Record<RunHead["progress"], string> = {
  running: "in progress, or killed",
  complete: "complete",
  interrupted: "interrupted",
  failed: "failed with an error",
};

function stateWords(run: RunHead): string {
  const blocks = `${run.blocks_complete} of ${run.blocks_planned} blocks`;
  switch (run.state) {
    case "provisional":
      return `Provisional: ${blocks}, too few for an interval`;
    case "partial":
      return `Partial: ${blocks}`;
    case "complete":
      return `Complete: ${blocks}`;
  }
}

/** The machine in one line: the values of the first group of facts that is about it. */
export function machineLine(view: View): string | null {
  const group = view.facts.find((item) => /machine|host|hardware/i.test(item.title)) ?? view.facts[0];
  if (group === undefined || group.facts.length === 0) return null;
  return group.facts
    .filter(([, value]) => value.length <= 60)
    .slice(0, 5)
    .map(([name, value]) => (/^[\d.]+$/.test(value) ? `${value} ${name}` : value))
    .join(" · ");
}

const NAMES: Record<Theme, string> = { system: "Auto", light: "Light", dark: "Dark" };

/** Changes the colours; `remember` keeps the choice. */
export function ThemeButton({ begin = themeOf(location.hash), remember }: { begin?: Theme; remember?: (theme: Theme) => void }): JSX.Element {
  const [theme, setTheme] = useState<Theme>(begin);
  const next = after(theme);
  return (
    <button
      type="button"
      class="theme"
      aria-label={`${NAMES[theme]} colours; change to ${next}`}
      onClick={() => {
        follow(next);
        setTheme(next);
        remember?.(next);
      }}
    >
      {NAMES[theme]}
    </button>
  );
}

/** Brand, and what the report is of. */
export function Head({ view }: { view: View }): JSX.Element {
  return (
    <header class="head">
      <div class="brand">
        <span>Tare {view.run.tare}</span>
        <ThemeButton />
      </div>
      <Subject view={view} />
    </header>
  );
}

/** Experiment, question, state and machine. */
export function Subject({ view }: { view: View }): JSX.Element {
  const { run } = view;
  const machine = machineLine(view);
  return (
    <>
      <h1>{run.experiment}</h1>
      <p class="question">{run.question}</p>
      <dl class="facts-line">
        <div><dt>State</dt><dd><span class={`state ${run.state}`}>{stateWords(run)}</span>{run.form === "quick" && " · quick form"}</dd></div>
        {run.progress !== "complete" && (
          <div><dt>Ended</dt><dd>{run.end_reason ?? PROGRESS[run.progress]}</dd></div>
        )}
        <div><dt>Measured</dt><dd>{instant(run.started)}, {clock(run.took_ns)}, of which {percent(run.measuring_share)} inside measuring windows</dd></div>
        {machine !== null && <div><dt>Machine</dt><dd>{machine}</dd></div>}
      </dl>
    </>
  );
}

const KINDS: Record<Sentence["kind"], string> = { finding: "", warning: "Warning", note: "Note" };

/** Sentences of one kind. */
export function Sentences({ sentences, kind }: { sentences: readonly Sentence[]; kind: Sentence["kind"] }): JSX.Element | null {
  const mine = sentences.filter((sentence) => sentence.kind === kind);
  if (mine.length === 0) return null;
  return (
    <ul class={`sentences ${kind}`}>
      {mine.map((sentence) => (
        <li key={sentence.text}>
          {kind === "warning" && <b><span aria-hidden="true">▲ </span>{KINDS[kind]}: </b>}
          {sentence.text}
        </li>
      ))}
    </ul>
  );
}

/** The verdict: findings large, warnings marked, notes small. */
export function Verdict({ view }: { view: View }): JSX.Element {
  return (
    <section id="verdict" aria-label="Verdict" class="verdict">
      {!view.verdict.some((sentence) => sentence.kind === "finding") && (
        <p class="no-finding">No finding: the warnings and notes say why.</p>
      )}
      <Sentences sentences={view.verdict} kind="finding" />
      <Sentences sentences={view.verdict} kind="warning" />
      <Sentences sentences={view.verdict} kind="note" />
      {view.unreadable_files.length > 0 && (
        <details>
          <summary>Parts of the run that could not be read: {view.unreadable_files.length}</summary>
          <ul>{view.unreadable_files.map((file) => <li key={file}>{file}</li>)}</ul>
        </details>
      )}
    </section>
  );
}
