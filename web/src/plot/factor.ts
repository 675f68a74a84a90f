// A metric against the factor that is varied: one line per arm, with an interval at every point.
import * as Plot from "@observablehq/plot";
import { present, scaleFor } from "../format";
import { inks } from "../palette";
import { linearTicks, zeroDomain } from "../scale";
import type { FactorPoint, FactorView } from "../api";
import { drawLines, type Picture } from "./frame";

interface Dot {
  arm: string;
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  /** Whether the machine was saturated there. */
  saturated: boolean;
}

/** Where a published ratio would have our line. */
interface Theirs {
  x: number;
  y: number;
}

/** Every point has a place of its own: values of a factor are few, and often words. Lines of several arms stand side by side. */
const APART = 0.06;

function dotsOf(view: FactorView, per: number): Dot[] {
  const middle = (view.lines.length - 1) / 2;
  const dot = (arm: string, point: FactorPoint, place: number, line: number): Dot[] => {
    if (!present(point.value?.estimate)) return [];
    const end = (value: number | null | undefined) => (present(value) ? value / per : null);
    return [{
      arm,
      x: place + (line - middle) * Math.min(APART, 0.6 / view.lines.length),
      y: point.value.estimate / per,
      low: end(point.value.low),
      high: end(point.value.high),
      saturated: point.saturated ?? false,
    }];
  };
  return view.lines.flatMap((line, index) => line.points.flatMap((point, place) => dot(line.arm, point, place, index)));
}

function theirsOf(view: FactorView, per: number): Theirs[] {
  const points = view.lines[0]?.points ?? [];
  return points.flatMap((point, x) => (present(point.published) ? [{ x, y: point.published / per }] : []));
}

/** Whether a published ratio is drawn, and whether the machine was saturated anywhere. */
export function shownIn(view: FactorView): { published: boolean; saturated: boolean } {
  const points = view.lines.flatMap((line) => line.points);
  return { published: points.some((point) => present(point.published)), saturated: points.some((point) => point.saturated ?? false) };
}

/** Colours and dashes of the lines. */
export function factorInks(view: FactorView, baseline: string | undefined): ReturnType<typeof inks> {
  return inks(view.lines.map((line) => line.arm), baseline);
}

/** Draws one metric. */
export function factorPicture(view: FactorView, baseline: string | undefined, width: number): Picture {
  const ends = view.lines
    .flatMap((line) => line.points.flatMap(({ value, published }) => [value?.estimate, value?.low, value?.high, published]))
    .filter(present);
  const scale = scaleFor(view.unit, ends.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const dots = dotsOf(view, scale.per);
  const theirs = theirsOf(view, scale.per);
  const levels = view.lines[0]?.points.map((point) => point.level) ?? [];
  const y = zeroDomain([...dots.flatMap((dot) => [dot.y, dot.low ?? dot.y, dot.high ?? dot.y]), ...theirs.map((dot) => dot.y)]);
  const colors = factorInks(view, baseline);
  const color = (arm: string) => colors.get(arm)?.color ?? "var(--ink)";
  const marginLeft = 52;
  // Every so many labels as have room beside each other.
  const widest = levels.reduce((most, level) => Math.max(most, level.length), 1) * 7 + 10;
  const every = Math.max(1, Math.ceil((widest * levels.length) / (width - marginLeft - 16)));
  const shown = levels.map((level, place) => ({ level, place })).filter(({ place }) => place % every === 0);
  return drawLines({
    width,
    height: 260,
    marginLeft,
    // The values of the factor are labels without a grid.
    x: { domain: [-0.5, levels.length - 0.5], ticks: [], name: view.factor },
    y: { domain: y, ticks: linearTicks(y[0], y[1], 5), name: `${view.label}, ${scale.label}` },
    marks: [
      Plot.text(shown, { x: "place", text: "level", frameAnchor: "bottom", dy: 15, fill: "var(--ink)" }),
      ...view.lines.map((line) =>
        Plot.line(dots.filter((dot) => dot.arm === line.arm), {
          x: "x", y: "y", stroke: color(line.arm), strokeWidth: 1.6, strokeDasharray: colors.get(line.arm)?.dash || "none",
        }),
      ),
      Plot.ruleX(dots.filter((dot) => dot.low !== null && dot.high !== null), {
        x: "x", y1: "low", y2: "high", stroke: (dot: Dot) => color(dot.arm), strokeWidth: 2,
      }),
      Plot.dot(theirs, { x: "x", y: "y", r: 5, symbol: "diamond", fill: "none", stroke: "var(--quiet)", strokeWidth: 1.5 }),
      Plot.dot(dots, {
        x: "x", y: "y", r: 3.5, strokeWidth: 1.6,
        fill: (dot: Dot) => (dot.saturated ? "var(--paper)" : color(dot.arm)),
        stroke: (dot: Dot) => (dot.saturated ? color(dot.arm) : "var(--paper)"),
      }),
    ],
  });
}
