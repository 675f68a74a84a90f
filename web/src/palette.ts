// Colours and dashes: one for each thing compared, the same in every picture; distinct for colour-blind readers and in print.

/** How a thing is drawn. */
export interface Ink {
  color: string;
  dash: string;
  width: number;
}

const HUES = 7;
const DASHES = ["", "7 3", "2 2.5", "10 3 2 3", "5 2", "1 3", "12 4"];

/** Ink for each name in order; the baseline is neutral. */
export function inks(names: readonly string[], baseline: string | undefined): Map<string, Ink> {
  const out = new Map<string, Ink>();
  let next = 0;
  for (const name of names) {
    if (name === baseline) {
      out.set(name, { color: "var(--baseline)", dash: "", width: 2 });
      continue;
    }
    // After all hues are used they come again with another dash.
    const dash = DASHES[(next + Math.floor(next / HUES)) % DASHES.length] ?? "";
    out.set(name, { color: `var(--hue-${next % HUES})`, dash, width: 2 });
    next += 1;
  }
  return out;
}

const SHADES = 6;
const INSTRUMENT: ReadonlyMap<string, string> = new Map([
  ["agent", "var(--instrument-0)"], ["conductor", "var(--instrument-1)"], ["link", "var(--instrument-2)"],
]);

/** A part of the test bed, as far as its drawing goes. */
export interface PartKey {
  instance: string;
  role: string;
}

/** Whether a part belongs to the instrument (what makes the distance between sites does) and not to what is measured. */
export function isInstrument(role: string): boolean {
  return INSTRUMENT.has(role);
}

/** Colour for each part, in order of first appearance; the instrument's own are grey. */
export function shades(parts: readonly PartKey[]): Map<string, string> {
  const out = new Map<string, string>();
  let next = 0;
  for (const part of parts) {
    if (out.has(part.instance)) continue;
    if (isInstrument(part.role)) {
      out.set(part.instance, INSTRUMENT.get(part.role) ?? "var(--instrument-1)");
    } else {
      out.set(part.instance, `var(--shade-${next % SHADES})`);
      next += 1;
    }
  }
  return out;
}
