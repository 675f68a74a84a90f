// Colours and dashes: one for each thing compared, the same in every picture; distinct for colour-blind readers and in print.

/** How a thing is drawn. */
export interface SeriesStyle {
  color: string;
  dash: string;
  width: number;
}

const HUES = 7;
const DASHES = ["", "7 3", "2 2.5", "10 3 2 3", "5 2", "1 3", "12 4"];

/** SeriesStyle for each name in order; the baseline is neutral. */
export function inks(names: readonly string[], baseline: string | undefined): Map<string, SeriesStyle> {
  const out = new Map<string, SeriesStyle>();
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
const TARE_COLOURS: ReadonlyMap<string, string> = new Map([
  ["agent", "var(--tare-0)"], ["conductor", "var(--tare-1)"], ["link", "var(--tare-2)"],
]);

/** A part of the test bed, as far as its drawing goes. */
export interface PartKey {
  instance: string;
  role: string;
}

/** Whether a part is one of Tare's own processes (agents, link emulation, conductor). */
export function isTareProcess(role: string): boolean {
  return TARE_COLOURS.has(role);
}

/** Colour for each part, in order of first appearance; Tare's own are grey. */
export function shades(parts: readonly PartKey[]): Map<string, string> {
  const out = new Map<string, string>();
  let next = 0;
  for (const part of parts) {
    if (out.has(part.instance)) continue;
    if (isTareProcess(part.role)) {
      out.set(part.instance, TARE_COLOURS.get(part.role) ?? "var(--tare-1)");
    } else {
      out.set(part.instance, `var(--shade-${next % SHADES})`);
      next += 1;
    }
  }
  return out;
}
