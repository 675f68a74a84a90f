// Latency over the time of a trial, one line per thing compared.
import * as Plot from "@observablehq/plot";
import { scaleFor, significant, tick, time, type Scale } from "../format";
import type { Panel } from "../layout";
import { logDomain, logTicks } from "../scale";
import type { TimePoint } from "../api";
import { drawLines, ticksWithin, tip, type Picture } from "./frame";

/** Which statistic of each second is drawn. */
export type Statistic = "p50_ns" | "p99_ns" | "max_ns";

/** What people call it. */
export const STATISTICS: Record<Statistic, string> = { p50_ns: "median", p99_ns: "p99", max_ns: "maximum" };

/** Axes shared by all panels. */
export interface TimeAxes {
  scale: Scale;
  y: [number, number];
  end: number;
}

function valueOf(point: TimePoint, statistic: Statistic): number | null {
  return point[statistic] ?? null;
}

/** Axes that hold every line of the panels; `null` when there is none. */
export function timeAxes(panels: readonly Panel[], statistic: Statistic): TimeAxes | null {
  const points = panels.flatMap((panel) => panel.series.flatMap((series) => series.cell.over_time));
  const domain = logDomain(points.flatMap((point) => valueOf(point, statistic) ?? []), 1.25);
  if (domain === null) return null;
  const scale = scaleFor("nanoseconds", domain[1]);
  const end = points.reduce((most, point) => Math.max(most, point.offset_ns / 1e9), 0);
  return { scale, y: [domain[0] / scale.per, domain[1] / scale.per], end: Math.max(end, 1) };
}

/** Draws one panel. */
export function timePicture(panel: Panel, statistic: Statistic, axes: TimeAxes, width: number): Picture {
  const marginLeft = 46;
  const lines = panel.series.map((series) => ({
    series,
    points: series.cell.over_time.map((point) => ({
      x: point.offset_ns / 1e9,
      y: (valueOf(point, statistic) ?? Number.NaN) / axes.scale.per,
      name: series.name,
    })),
  }));
  return drawLines({
    width,
    height: 240,
    marginLeft,
    x: { domain: [0, axes.end], ticks: ticksWithin([0, axes.end], width - marginLeft - 16, 16, tick), name: "seconds since the window began" },
    y: { type: "log", domain: axes.y, ticks: logTicks(axes.y[0], axes.y[1], 7), name: `${STATISTICS[statistic]} of latency, ${axes.scale.label} (logarithmic)` },
    marks: [
      ...lines.flatMap(({ series, points }) => [
        Plot.line(points, {
          x: "x",
          y: "y",
          stroke: series.ink.color,
          strokeWidth: 1.6,
          strokeDasharray: series.ink.dash || "none",
        }),
        // A second between two gaps would leave no line at all.
        Plot.dot(
          points.filter((point) => Number.isFinite(point.y)),
          { x: "x", y: "y", r: 1.6, fill: series.ink.color },
        ),
      ]),
      tip(
        lines.flatMap((line) => line.points).filter((point) => Number.isFinite(point.y)),
        "x",
        "y",
        (point) => `${point.name}\nsecond ${significant(point.x)}: ${time(point.y * axes.scale.per)}`,
      ),
    ],
  });
}
