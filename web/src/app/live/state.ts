// A run while it is measured, worked out from its events.
import type { PartSample, RunEvent, RunProgress, Sample, TrialPosition, TrialStatus, View } from "../../api";

/** One second: what the agents counted and what the parts used. */
export interface Second {
  /** Seconds of load so far, over all trials. */
  x: number;
  samples: Map<string, Sample>;
  parts: Map<string, PartSample>;
  /** Length of the usage. */
  usageNs: number;
  backgroundCpuNs: number | null;
}

/** A trial that was measured. */
export interface DoneTrial {
  trial: number;
  block: number;
  arm: string;
  level: string;
  aaCopy: number;
  attempt: number;
  status: TrialStatus;
}

/** What is known of a run that is being measured. */
export interface LiveRun {
  folder: string | null;
  /** What is being waited for. */
  doing: string;
  notes: string[];
  planned: number | null;
  /** Trials of blocks from before it was resumed. */
  before: number;
  at: TrialPosition | null;
  blocksDone: number;
  trials: DoneTrial[];
  seconds: Second[];
  /** Parts in order of first appearance: instance and role. */
  parts: Map<string, string>;
  errors: number;
  ended: { progress: RunProgress; reason: string | null } | null;
  view: View | null;
}

/** Seconds that charts show; older ones are dropped. */
export const SECONDS_MAX = 600;

/** A sample that is shorter says little about a second. */
const SHORTEST_NS = 500_000_000;

/** A run of which no event is known. */
export function unknownRun(): LiveRun {
  return {
    folder: null, doing: "Waiting for the first event", notes: [], planned: null, before: 0, at: null, blocksDone: 0, trials: [], seconds: [],
    parts: new Map(), errors: 0, ended: null, view: null,
  };
}

/** The run as it is now, as a value that further events do not change: views are drawn again when theirs has changed. */
export function snapshot(run: LiveRun): LiveRun {
  return { ...run, notes: [...run.notes], trials: [...run.trials], seconds: [...run.seconds], parts: new Map(run.parts) };
}

function emptySecond(x: number): Second {
  return { x, samples: new Map(), parts: new Map(), usageNs: 0, backgroundCpuNs: null };
}

function lastX(run: Pick<LiveRun, "seconds">): number {
  return run.seconds.at(-1)?.x ?? 0;
}

/** The second that has no such figure yet: the last one, or one more. */
function secondWithout(run: Pick<LiveRun, "seconds">, has: (second: Second) => boolean): Second {
  const last = run.seconds.at(-1);
  if (last !== undefined && last.samples.size + last.parts.size > 0 && !has(last)) return last;
  const next = emptySecond(lastX(run) + 1);
  run.seconds.push(next);
  if (run.seconds.length > SECONDS_MAX) run.seconds.splice(0, run.seconds.length - SECONDS_MAX);
  return next;
}

function begin(run: LiveRun, at: TrialPosition): void {
  run.at = at;
  run.doing = "Setting up";
  // An empty second, so that no line joins two trials.
  if (run.seconds.length > 0) run.seconds.push(emptySecond(lastX(run) + 1));
}

/** Takes a sample of an agent in. */
export function takeSample(run: Pick<LiveRun, "seconds" | "errors">, source: string, sample: Sample): void {
  run.errors += sample.errors;
  if (sample.length_ns >= SHORTEST_NS) secondWithout(run, (second) => second.samples.has(source)).samples.set(source, sample);
}

/** Takes an event in. */
export function take(run: LiveRun, event: RunEvent): void {
  switch (event.event) {
    case "preparing":
      run.doing = `Preparing: ${event.what}`;
      break;
    case "note":
      run.notes.push(event.text);
      break;
    case "started":
      run.folder = event.folder;
      run.planned = event.trials;
      run.before = event.done;
      // Resumed: what ended before goes on.
      run.ended = null;
      run.doing = "Starting";
      break;
    case "trial-started":
      begin(run, event.at);
      break;
    case "starting":
      run.at = event.at;
      run.doing = `Waiting for ${event.instance} to be ready, ${Math.round(event.waited_ns / 1e9)} s so far`;
      break;
    case "step":
      run.at = event.at;
      run.doing = `Step: ${event.step}`;
      break;
    case "sample":
      run.at = event.at;
      run.doing = "Measuring";
      takeSample(run, event.source, event.sample);
      break;
    case "usage": {
      run.at = event.at;
      const second = secondWithout(run, (one) => one.parts.size > 0);
      second.usageNs = event.length_ns;
      second.backgroundCpuNs = event.background_cpu_ns ?? null;
      for (const part of event.parts) {
        second.parts.set(part.instance, part);
        run.parts.set(part.instance, part.role);
      }
      break;
    }
    case "trial-done": {
      const { trial, block, arm, level, aa_copy: aaCopy, attempt, status } = event;
      run.trials.push({ trial, block, arm, level, aaCopy, attempt, status });
      run.doing = "Taking the test bed down";
      break;
    }
    case "block-done":
      run.blocksDone = Math.max(run.blocksDone, event.block);
      break;
    case "ended":
      run.ended = { progress: event.progress, reason: event.reason ?? null };
      break;
    case "result":
      run.view = event;
      break;
  }
}

/** Why a trial does not count; empty if it does. */
export function reasonsOf(status: TrialStatus): string[] {
  if (status.status === "fit") return [];
  return status.status === "failed" ? [status.reason] : status.reasons;
}

/** Where a trial stands: `block 1 of 3, both-sidecars at 2000/s`. */
export function place(at: TrialPosition): string {
  const copy = at.aa_copy > 0 ? " (second copy, A/A check)" : "";
  const repeat = at.attempt > 0 ? ", repeated" : "";
  return `block ${at.block} of ${at.blocks}, ${at.arm}${copy} at ${at.level}${repeat}`;
}

/** Values of a chart: seconds and one row of values per line. */
export interface Lines {
  x: number[];
  lines: { name: string; values: (number | null)[] }[];
}

/** One figure of the agents' samples, a line for each source. */
export function sampleLines(run: Pick<LiveRun, "seconds">, figures: readonly { name: string; of: (sample: Sample) => number | null | undefined }[]): Lines {
  const sources = [...new Set(run.seconds.flatMap((second) => [...second.samples.keys()]))];
  const named = (source: string, name: string) => (sources.length > 1 ? `${source} ${name}` : name);
  const valueOf = (second: Second, source: string, of: (sample: Sample) => number | null | undefined) => {
    const sample = second.samples.get(source);
    return sample === undefined ? null : (of(sample) ?? null);
  };
  return {
    x: run.seconds.map((second) => second.x),
    lines: sources.flatMap((source) =>
      figures.map(({ name, of }) => ({ name: named(source, name), values: run.seconds.map((second) => valueOf(second, source, of)) })),
    ),
  };
}

/** A figure of the parts in a second, or in units per second where it is counted. */
export type PartFigure = "cpu" | "memory" | "packets" | "disk";

/** What a part used: cores, bytes, packets per second, bytes per second. */
export function partValue(second: Second, instance: string, figure: PartFigure): number | null {
  const part = second.parts.get(instance);
  if (part === undefined) return null;
  const perSecond = (value: number | null | undefined) => (value == null || second.usageNs === 0 ? null : (value * 1e9) / second.usageNs);
  switch (figure) {
    case "cpu":
      return part.cpu_ns == null || second.usageNs === 0 ? null : part.cpu_ns / second.usageNs;
    case "memory":
      return part.rss_bytes ?? null;
    case "packets":
      return perSecond(part.packets);
    case "disk":
      return perSecond(part.disk_write_bytes);
  }
}

/** One figure of all parts, a line for each. */
export function partLines(run: LiveRun, figure: PartFigure): Lines {
  return {
    x: run.seconds.map((second) => second.x),
    lines: [...run.parts.keys()].map((name) => ({ name, values: run.seconds.map((second) => partValue(second, name, figure)) })),
  };
}

/** Cores that programs outside of the run used. */
export function backgroundLine(run: LiveRun): Lines {
  const cores = (second: Second) => (second.backgroundCpuNs === null || second.usageNs === 0 ? null : second.backgroundCpuNs / second.usageNs);
  return { x: run.seconds.map((second) => second.x), lines: [{ name: "other programs", values: run.seconds.map(cores) }] };
}
