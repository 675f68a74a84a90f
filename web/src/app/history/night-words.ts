// A night in words: how it ended, its entries, its changes.
import type { NightCounts, NightSummary } from "../../api";
import { count } from "../../format";

/** What became of a night, and whether that is bad. */
export function endOf({ state, result, problem }: NightSummary): { words: string; isBad: boolean } {
  if (state === "running") return { words: "running", isBad: false };
  if (result == null) return { words: problem ?? "killed: no result", isBad: true };
  switch (result.exit_code) {
    case 0:
      return { words: result.left > 0 ? "budget ended" : "done", isBad: false };
    case 1:
      return { words: result.worse > 0 ? "worse" : "a check fails", isBad: true };
    case 130:
    case 143:
      return { words: "interrupted", isBad: false };
    default:
      return { words: "failed", isBad: true };
  }
}

function listed(...words: (string | false)[]): string {
  return words.filter((word) => word !== false).join(", ");
}

/** `3 done, 1 failed, 2 left`. */
export function entriesOf({ done, failed, left }: NightCounts): string {
  return listed(`${count(done)} done`, failed > 0 && `${count(failed)} failed`, left > 0 && `${count(left)} left`);
}

/** `2 worse, 1 better or acknowledged, 1 new`. */
export function changesOf({ changes, worse, new: fresh, confirmed }: NightCounts): string {
  if (changes === 0) return "none";
  return listed(worse > 0 && `${count(worse)} worse`, changes > worse && `${count(changes - worse)} better or acknowledged`, fresh > 0 && `${count(fresh)} new`, confirmed > 0 && `${count(confirmed)} confirmed`);
}
