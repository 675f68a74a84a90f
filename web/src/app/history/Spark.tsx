// A small chart of all runs of a series, with its last change point.
import type { JSX } from "preact";
import type { SeriesSummary } from "../../api";
import { quantity, range } from "../../format";
import { valueDomain } from "../../scale";

const [WIDTH, HEIGHT, EDGE] = [280, 56, 5];
/** The scale spans at least four times this share of the values: so noise stays small. */
const SHARE = 0.025;

/** The line through all runs, and the change point. Of several runs in a part of the chart, the lowest and the highest value are drawn. */
export function sparkOf({ overview, runs, last_change }: Pick<SeriesSummary, "overview" | "runs" | "last_change">): { dots: { x: number; y: number }[]; mark: number | null } {
  const parts = overview ?? [];
  const [low, high] = valueDomain(parts.flat(), SHARE);
  const place = (share: number) => EDGE + share * (WIDTH - 2 * EDGE);
  const dots = parts.flatMap((part, index) => {
    const x = parts.length === 1 ? WIDTH / 2 : place(index / (parts.length - 1));
    // Down and up in turn: so the line has no teeth that are none of the values.
    const values = part[0] === part[1] ? part.slice(0, 1) : index % 2 === 0 ? part : part.toReversed();
    return values.map((value) => ({ x, y: HEIGHT - EDGE - ((value - low) / (high - low)) * (HEIGHT - 2 * EDGE) }));
  });
  // Between the run and the one before it.
  return { dots, mark: last_change == null || runs < 2 ? null : place((last_change.index - 0.5) / (runs - 1)) };
}

/** The chart. */
export function Spark({ series }: { series: SeriesSummary }): JSX.Element {
  const { dots, mark } = sparkOf(series);
  const values = (series.overview ?? []).flat();
  const last = dots.at(-1);
  const color = series.last_change?.is_worse === true ? "var(--bad)" : "var(--hue-2)";
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`All runs: ${range(Math.min(...values), Math.max(...values), series.unit)}, now ${quantity(series.latest, series.unit)}`}>
      {mark !== null && <path d={`M${mark.toFixed(1)} 0V${HEIGHT}`} stroke={color} stroke-width="1.4" stroke-dasharray="4 3" />}
      <path d={`M${dots.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`} fill="none" stroke="var(--hue-0)" stroke-width="1.5" stroke-linejoin="round" />
      {last !== undefined && <circle cx={last.x} cy={last.y} r="3.2" fill="var(--hue-0)" />}
    </svg>
  );
}
