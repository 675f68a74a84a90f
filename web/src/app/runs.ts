// The list of runs: what of it is shown, and what its words are.
import type { RunEntry, RunEntryState } from "../api";
import { searched } from "./words";

/** What the reader looks for. */
export interface Filter {
  text: string;
  state: RunEntryState | "all";
  experiment: string;
}

/** Nothing is left out. */
export const ALL: Filter = { text: "", state: "all", experiment: "" };

/** States in words. */
export const STATES: Record<RunEntryState, string> = {
  running: "running", complete: "complete", interrupted: "interrupted", failed: "failed", killed: "killed", unreadable: "unreadable",
};

/** The first finding; the first warning where there is none. */
export function firstFinding(entry: RunEntry): string | null {
  const verdict = entry.summary?.verdict ?? [];
  return (verdict.find((sentence) => sentence.kind === "finding") ?? verdict[0])?.text ?? null;
}

function words(entry: RunEntry): string {
  const { summary } = entry;
  const of = summary == null ? [] : [summary.experiment, summary.question, summary.machine, summary.tare, ...summary.verdict.map((one) => one.text)];
  return [entry.id, STATES[entry.state], entry.problem ?? "", ...of].join("\n");
}

/** Runs that have every word of the text, the state and the experiment. */
export function filtered(runs: readonly RunEntry[], filter: Filter): readonly RunEntry[] {
  const fitting = runs.filter((entry) => (filter.state === "all" || entry.state === filter.state) && (filter.experiment === "" || entry.summary?.experiment === filter.experiment));
  return searched(fitting, filter.text, words);
}

/** Experiments of the runs, in alphabetical order. */
export function experimentsOf(runs: readonly RunEntry[]): string[] {
  return [...new Set(runs.flatMap((entry) => entry.summary?.experiment ?? []))].sort();
}

/** Whether a run can go on. */
export function canResume({ state, origin }: RunEntry): boolean {
  return origin !== "imported" && (state === "interrupted" || state === "failed" || state === "killed");
}
