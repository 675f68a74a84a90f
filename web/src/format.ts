// Numbers as people read them: a unit, sensible digits, and "–" where there is no number.
import type { Unit } from "./api";

/** What is printed where a value is missing; never 0. */
export const MISSING = "–";

/** A number that may be missing from the view. */
export type Maybe = number | null | undefined;

const NARROW_SPACE = "\u202f";
const MINUS = "\u2212";

/** Whether there is a number. */
export function present(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** `digits` significant digits without an exponent; a true minus sign; thousands apart. */
export function significant(value: Maybe, digits = 3): string {
  if (!present(value)) return MISSING;
  if (value === 0) return "0";
  // Rounded first: 99.96 has three digits before the point and none after it.
  const size = Math.floor(Math.log10(Number(Math.abs(value).toPrecision(digits))));
  const text = Math.abs(value).toFixed(Math.min(9, Math.max(0, digits - 1 - size)));
  return (value < 0 ? MINUS : "") + grouped(text);
}

/** A tick's label: no more digits than the tick has. */
export function tick(value: number): string {
  return (value < 0 ? MINUS : "") + grouped(String(Number(Math.abs(value).toPrecision(6))));
}

function grouped(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const spaced = whole.length > 4 ? whole.replaceAll(/\B(?=(\d{3})+$)/g, ",") : whole;
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

/** A count. */
export function count(value: Maybe): string {
  return present(value) ? grouped(String(Math.round(value))) : MISSING;
}

/** A unit to print values in: `value / per` is in `label`. */
export interface Scale {
  label: string;
  per: number;
}

/** The unit in which a value reads best; it changes where the texts of the view change it. */
function reading(unit: Unit, value: number): Scale {
  const size = Math.abs(value);
  if (unit === "nanoseconds" && size < 1e3) return { label: "ns", per: 1 };
  if (unit === "nanoseconds" && size < 99_950) return { label: "µs", per: 1e3 };
  if (unit === "nanoseconds") return size < 999_500_000 ? { label: "ms", per: 1e6 } : { label: "s", per: 1e9 };
  if (unit === "bytes" && size < 999_500) return { label: "kB", per: 1e3 };
  if (unit === "bytes") return size < 999_500_000 ? { label: "MB", per: 1e6 } : { label: "GB", per: 1e9 };
  if (unit === "bytes-per-second") return { label: "MB/s", per: 1e6 };
  if (unit === "own") return { label: "", per: 1 };
  return { label: unit === "per-second" ? "/s" : unit === "cores" ? "cores" : "s", per: 1 };
}

/** The unit of an axis that ends at `largest`, in the base unit of `unit`; an axis begins far below its end. */
export function scaleFor(unit: Unit, largest: Maybe): Scale {
  const size = Math.abs(largest ?? 0);
  switch (unit) {
    case "nanoseconds":
      if (size >= 1e10) return { label: "s", per: 1e9 };
      if (size >= 1e5) return { label: "ms", per: 1e6 };
      return { label: "µs", per: 1e3 };
    case "bytes":
      if (size >= 1e10) return { label: "GB", per: 1e9 };
      if (size >= 1e5) return { label: "MB", per: 1e6 };
      return { label: "kB", per: 1e3 };
    case "per-second":
      return { label: "/s", per: 1 };
    case "bytes-per-second":
      return { label: "MB/s", per: 1e6 };
    case "cpu-seconds-per1000":
      return { label: "CPU-s per 1000", per: 1 };
    case "cores":
      return { label: "cores", per: 1 };
    case "own":
      return { label: "", per: 1 };
  }
}

/** A length of time in nanoseconds with its unit. */
export function time(ns: Maybe, digits = 3): string {
  if (!present(ns)) return MISSING;
  const scale = reading("nanoseconds", ns);
  return `${significant(ns / scale.per, digits)}${NARROW_SPACE}${scale.label}`;
}

/** A length of time as minutes and seconds, for runs and trials. */
export function clock(ns: Maybe): string {
  if (!present(ns)) return MISSING;
  const seconds = Math.round(ns / 1e9);
  if (seconds < 60) return `${significant(ns / 1e9, 2)}${NARROW_SPACE}s`;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours > 0
    ? `${hours}${NARROW_SPACE}h ${minutes}${NARROW_SPACE}min`
    : `${minutes}${NARROW_SPACE}min ${seconds % 60}${NARROW_SPACE}s`;
}

/** What stands between a number and its unit. */
function gapOf(unit: Unit): string {
  return unit === "per-second" || unit === "own" ? "" : NARROW_SPACE;
}

/** A value in the base unit of `unit`, with the unit that reads best. */
export function quantity(value: Maybe, unit: Unit): string {
  if (!present(value)) return MISSING;
  const scale = reading(unit, value);
  const gap = gapOf(unit);
  return `${significant(value / scale.per)}${gap}${scale.label}`;
}

/** Lowest to highest in one unit: `0.29–0.33 ms`; once if they read alike; a dash alone if either is missing. */
export function range(low: Maybe, high: Maybe, unit: Unit): string {
  if (!present(low) || !present(high)) return MISSING;
  const scale = reading(unit, Math.max(Math.abs(low), Math.abs(high)));
  const gap = gapOf(unit);
  const [from, to] = [significant(low / scale.per), significant(high / scale.per)];
  return `${from === to ? from : `${from}–${to}`}${gap}${scale.label}`;
}

/** A share (0 to 1) in per cent. */
export function percent(share: Maybe, digits = 2): string {
  if (!present(share)) return MISSING;
  const small = share !== 0 && Math.abs(share) < 1e-4;
  return `${small ? "< 0.01" : significant(share * 100, digits)}${NARROW_SPACE}%`;
}

/** A relative change (0.1 = 10 % more) with its sign; one that is far too small to matter is 0. */
export function change(share: Maybe, digits = 2): string {
  const isNone = present(share) && Math.abs(share) < 5e-4;
  return `${present(share) && share > 0 && !isNone ? "+" : ""}${percent(isNone ? 0 : share, digits)}`;
}

/** An RFC 3339 instant as date, time and zone without seconds' fractions; as it stands if it cannot be read. */
export function instant(rfc3339: string): string {
  const parts = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?/.exec(rfc3339);
  if (parts === null) return rfc3339;
  const zone = parts[3] === undefined ? "" : parts[3] === "Z" || parts[3] === "+00:00" ? " UTC" : ` ${parts[3]}`;
  return `${parts[1]} ${parts[2]}${zone}`;
}
