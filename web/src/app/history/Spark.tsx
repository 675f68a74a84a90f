// A small chart of the last runs of a series, with its last change point.
import type { JSX } from "preact";
import type { SeriesSummary } from "../../api";
import { quantity, range } from "../../format";
import { valueDomain } from "../../scale";

const [WIDTH, HEIGHT, EDGE] = [280, 56, 5];
/** The scale spans at least four times this share of the values: so noise stays small. */
const SHARE = 0.025;

/** Where the values lie, and the change point if it is among them. */
export function sparkOf({ recent, runs, last_change }: Pick<SeriesSummary, "recent" | "runs" | "last_change">): { dots: { x: number; y: number }[]; mark: number | null } {
  const [low, high] = valueDomain(recent, SHARE);
  const step = (WIDTH - 2 * EDGE) / Math.max(1, recent.length - 1);
  const dots = recent.map((value, index) => ({
    x: recent.length === 1 ? WIDTH / 2 : EDGE + index * step,
    y: HEIGHT - EDGE - ((value - low) / (high - low)) * (HEIGHT - 2 * EDGE),
  }));
  const place = last_change == null ? -1 : last_change.index - (runs - recent.length);
  // Between the run and the one before it, which may be out of sight.
  return { dots, mark: dots[place] === undefined ? null : dots[place].x - (place === 0 ? 0 : step / 2) };
}

/** The chart. */
export function Spark({ series }: { series: SeriesSummary }): JSX.Element {
  const { dots, mark } = sparkOf(series);
  const { recent, unit } = series;
  const last = dots.at(-1);
  const color = series.last_change?.is_worse === true ? "var(--bad)" : "var(--hue-2)";
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Last runs: ${range(Math.min(...recent), Math.max(...recent), unit)}, now ${quantity(series.latest, unit)}`}>
      {mark !== null && <path d={`M${mark} 0V${HEIGHT}`} stroke={color} stroke-width="1.4" stroke-dasharray="4 3" />}
      <path d={`M${dots.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`} fill="none" stroke="var(--hue-0)" stroke-width="1.5" stroke-linejoin="round" />
      {last !== undefined && <circle cx={last.x} cy={last.y} r="3.2" fill="var(--hue-0)" />}
    </svg>
  );
}
