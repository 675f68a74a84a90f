// A history in words: names of series, what changed, and the versions that a run was made with.
import type { SeriesChange, SeriesKey, SeriesPoint, Unit, VersionChange } from "../../api";
import { MISSING, change as relative, quantity } from "../../format";

/** `p99 of direct at 400/s`, `benchmark of encode in ns/op`; parts without a name are left out. */
export function seriesName(label: string, { arm, level }: Pick<SeriesKey, "arm" | "level">, unit: Unit): string {
  return `${label}${arm === "" ? "" : ` of ${arm}`}${level === "" ? "" : ` ${unit === "own" ? "in" : "at"} ${level}`}`;
}

/** Start of a run as a date. */
export function date(unix_us: number): string {
  return Math.abs(unix_us) < 8.64e18 ? new Date(unix_us / 1000).toISOString().slice(0, 10) : MISSING;
}

/** `envoy 1.39.3 → 1.40.0`; a digest of a file says nothing but that it is another one. */
export function versionWords({ axis, before, after }: VersionChange): string {
  if (before !== "" && after !== "" && (axis === "experiment" || axis.endsWith(" binary"))) return axis === "experiment" ? "experiment file" : axis;
  return `${axis === "tare" ? "Tare" : axis} ${before === "" ? MISSING : before} → ${after === "" ? MISSING : after}`;
}

/** Everything that changed at a run; an empty text: nothing. */
export function versionsWords(changed: readonly VersionChange[]): string {
  return changed.map(versionWords).join(", ");
}

/** `+12 % (1.02 ms → 1.14 ms)`. */
export function stepWords(change: SeriesChange, unit: Unit): string {
  return `${relative(change.change)} (${quantity(change.before, unit)} → ${quantity(change.after, unit)})`;
}

/** The runs of a series at which a version changed. */
export function versionSteps(points: readonly SeriesPoint[]): { index: number; changed: VersionChange[] }[] {
  return points.flatMap(({ changed }, index) => (changed.length === 0 ? [] : [{ index, changed }]));
}

/** Versions of a run, as far as they ever changed within the series: those that never did are not in it. */
export function versionsAt(steps: ReturnType<typeof versionSteps>, index: number): { axis: string; version: string }[] {
  const versions = new Map<string, string>();
  for (const step of steps) {
    for (const { axis, before, after } of step.changed) {
      if (step.index <= index) versions.set(axis, after);
      else if (!versions.has(axis)) versions.set(axis, before);
    }
  }
  return [...versions].filter(([, version]) => version !== "").map(([axis, version]) => ({ axis, version }));
}

/** The view of a run or a kept load, which is an experiment of its own in a history; a golden check of a suite has none. */
export function measuredAt(experiment: string): "runs" | "loads" | null {
  if (experiment.startsWith("perfcheck ")) return null;
  return experiment.startsWith("load: ") ? "loads" : "runs";
}

/** Fewest runs in which a change point can be found: three on each side of it. */
export const RUNS_MIN = 6;

export const TOO_FEW = `Too few runs: a change point is found in ${RUNS_MIN} runs or more of one series.`;
