// The form that resets offsets: what was written into it, as what the server is asked for, and what a reset would change.
import type { PartitionLag, Reset, ResetTarget } from "../../kafka-api";

/** What stands in the form's fields. */
export interface ResetForm {
  /** A topic; empty: all of which the group has offsets. */
  topic: string;
  to: ResetTarget["kind"];
  /** Of an input for date and time, in the reader's zone. */
  time: string;
  offset: string;
  shift: string;
}

/** The form at first. */
export const FIRST: ResetForm = { topic: "", to: "earliest", time: "", offset: "0", shift: "-100" };

/** Where the form resets to, or what is wrong with it. */
export function targetOf(form: ResetForm): ResetTarget | string {
  switch (form.to) {
    case "time": {
      const time = new Date(form.time).getTime();
      return Number.isFinite(time) ? { kind: "time", time_ms: time } : "Time: a date and a time of day";
    }
    case "offset": {
      const offset = form.offset.trim() === "" ? Number.NaN : Number(form.offset);
      return Number.isSafeInteger(offset) && offset >= 0 ? { kind: "offset", offset } : `Offset: a whole number of 0 or more, not “${form.offset}”`;
    }
    case "shift": {
      const records = form.shift.trim() === "" ? Number.NaN : Number(form.shift.replace("\u2212", "-"));
      return Number.isSafeInteger(records) && records !== 0 ? { kind: "shift", records } : `Shift: a whole number other than 0, −100 is back, not “${form.shift}”`;
    }
    default:
      return { kind: form.to };
  }
}

/** A partition before and after a reset. */
export interface Change {
  reset: Reset;
  /** Records between the committed offset and the new one. */
  by: number | null;
  /** Lag afterwards. */
  lag: number | null;
}

/** What resets change, by what is known of the partitions. */
export function changesOf(resets: readonly Reset[], partitions: readonly PartitionLag[]): Change[] {
  const ends = new Map(partitions.map((one) => [`${one.topic} ${one.partition}`, one.end]));
  return resets.map((reset) => {
    const end = ends.get(`${reset.topic} ${reset.partition}`);
    return { reset, by: reset.from == null ? null : reset.to - reset.from, lag: end == null ? null : Math.max(0, end - reset.to) };
  });
}
