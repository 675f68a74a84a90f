// Figures of the application in words.
import { count, present, quantity, type Maybe } from "../format";

/** A size in bytes; whole bytes where it is small. */
export function size(bytes: Maybe): string {
  return present(bytes) && bytes < 1000 ? `${count(bytes)}\u202fB` : quantity(bytes, "bytes");
}

/** One thing or several. */
export function plural(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}
