// Cells of several runs brought together, and names that tell them apart.
import type { LoadFigures, RunCell, RunOverlay } from "../api";
import { count } from "../format";
import type { Measured } from "../section/Overlay";
import { at } from "./router";

/** One arm at one level, in each run; `null` where a run does not have it. */
export interface Gathered {
  level: string;
  arm: string;
  of: (RunCell | null)[];
}

/** Arms at levels that any of the runs has, in the order of the first run that has them. */
export function gather(overlay: Pick<RunOverlay, "runs">): Gathered[] {
  const all = new Map<string, Gathered>();
  overlay.runs.forEach((run, index) => {
    for (const cell of run.cells) {
      const key = JSON.stringify([cell.level, cell.arm]);
      const gathered = all.get(key) ?? { level: cell.level, arm: cell.arm, of: overlay.runs.map(() => null) };
      gathered.of[index] = cell;
      all.set(key, gathered);
    }
  });
  return [...all.values()];
}

/** A name for each: its own, with its place where two are alike. */
export function labels(all: readonly { id: string; started: string }[]): string[] {
  return all.map((one, index) => (all.some((other, at) => at !== index && other.id === one.id) ? `${one.id} (${index + 1})` : one.id));
}

/** A load beside others. */
export function measuredLoad(id: string, figures: LoadFigures): Measured {
  const { curve, histogram, min_ns, mean_ns, percentiles, max_ns, achieved_per_s, errors, labels: name } = figures;
  return {
    name: name === "" ? id : name, href: at("loads", id), curve, histogram, min_ns, mean_ns, percentiles, max_ns, throughput: achieved_per_s ?? null, throughputUnit: "per-second", errors: count(errors),
  };
}
