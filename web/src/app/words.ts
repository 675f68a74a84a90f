// Words of the application: figures in words, and searches by words.
import { MISSING, count, instant, present, quantity, type Maybe } from "../format";

/** A size in bytes; whole bytes where it is small. */
export function size(bytes: Maybe): string {
  return present(bytes) && bytes < 1000 ? `${count(bytes)}\u202fB` : quantity(bytes, "bytes");
}

/** Milliseconds since 1970 as date and time. */
export function moment(ms: Maybe): string {
  return present(ms) && Math.abs(ms) < 8.64e15 ? instant(new Date(ms).toISOString()) : MISSING;
}

/** One thing or several. */
export function plural(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** A message as a sentence of its own. */
export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

/** The rows in which every word of a search occurs. */
export function searched<T>(rows: readonly T[], search: string, of: (row: T) => string): readonly T[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = of(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
