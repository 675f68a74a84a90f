// How often each latency came: a bar for each bucket, and the percentage of the answers up to there.
import * as Plot from "@observablehq/plot";
import type { LatencyBucket } from "../api";
import { count, scaleFor, significant, tick, time } from "../format";
import { linearTicks, logTicks } from "../scale";
import { drawLines, labelsRight, ticksWithin, tip, type Picture } from "./frame";

/** Bounds of the axis of latency; `null` without a bucket that can be drawn. A logarithmic axis has no 0: a bucket from there begins at half of its end. */
export function boundsOf(buckets: readonly LatencyBucket[], isLog: boolean): [number, number] | null {
  const drawn = buckets.filter(isDrawn);
  if (drawn.length === 0) return null;
  const low = drawn.reduce((least, one) => Math.min(least, startOf(one, isLog)), Infinity);
  return [isLog ? low : 0, drawn.reduce((most, one) => Math.max(most, one.end_ns), 0)];
}

function isDrawn(one: LatencyBucket): boolean {
  return one.end_ns > one.start_ns;
}

function startOf(one: LatencyBucket, isLog: boolean): number {
  return isLog && one.start_ns === 0 ? one.end_ns / 2 : one.start_ns;
}

/** Draws bars over latency within its bounds, and the line of the cumulative percentage; `what` is what the latencies are. */
export function histogramPicture(buckets: readonly LatencyBucket[], bounds: [number, number], what: string, isLog: boolean, width: number): Picture {
  const [marginLeft, marginRight] = [52, 50];
  const scale = scaleFor("nanoseconds", bounds[1]);
  const bars = buckets.filter(isDrawn).map((one) => ({ ...one, x1: startOf(one, isLog) / scale.per, x2: one.end_ns / scale.per }));
  const domain: [number, number] = [bounds[0] / scale.per, bounds[1] / scale.per];
  // Room above the highest bar.
  const most = bars.reduce((high, bar) => Math.max(high, bar.count), 1) * 1.05;
  const inner = width - marginLeft - marginRight;
  const height = (percent: number) => (percent / 100) * most;
  const line = [{ x: bars[0]?.x1 ?? domain[0], percent: 0 }, ...bars.map((bar) => ({ x: bar.x2, percent: bar.cumulative_percent }))];
  return drawLines({
    width,
    height: width >= 520 ? 330 : 290,
    marginLeft,
    marginRight,
    x: {
      type: isLog ? "log" : "linear",
      domain,
      ticks: isLog ? logTicks(domain[0], domain[1], Math.max(3, Math.floor(inner / 56))) : ticksWithin(domain, inner, 16, tick),
      name: `${what}, ${scale.label}${isLog ? " (logarithmic)" : ""}`,
    },
    y: { domain: [0, most], ticks: linearTicks(0, most, 5), name: "answers in each bucket; right: % up to there" },
    marks: [
      labelsRight([0, 25, 50, 75, 100], height, (percent) => `${percent} %`),
      Plot.rect(bars, { x1: "x1", x2: "x2", y1: 0, y2: "count", fill: "var(--hue-0)", fillOpacity: 0.6, insetLeft: 0.5 }),
      Plot.line(line, { x: "x", y: (point: { percent: number }) => height(point.percent), stroke: "var(--ink)", strokeWidth: 1.6 }),
      tip(bars, "x2", "count", (bar) => `${time(bar.start_ns)} to ${time(bar.end_ns)}: ${count(bar.count)}\nup to there: ${significant(bar.cumulative_percent, 4)} %`),
    ],
  });
}
