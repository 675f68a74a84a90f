// Throughput and maximum latency over time, with a mark for each fault.
import * as Plot from "@observablehq/plot";
import { scaleFor, significant, tick, time } from "../format";
import { linearTicks, logDomain, logTicks } from "../scale";
import type { FaultView, FaultSample } from "../api";
import { drawLines, ticksWithin, tip, type Picture } from "./frame";

/** What a picture shows of each moment. */
export type Shown = "answers" | "slowest";

/** What people call it. */
export const SHOWN: Record<Shown, string> = { answers: "answers per second", slowest: "slowest answer" };

/** Colours of the line and of the marks. */
export const INK = { line: "var(--ink)", fault: "#c0392b" } as const;

interface Axis {
  domain: [number, number];
  ticks: number[];
  name: string;
  type: "linear" | "log";
  of: (point: FaultSample) => number;
  text: (value: number) => string;
}

function axisOf(view: FaultView, shown: Shown): Axis | null {
  if (shown === "answers") {
    const most = Math.max(1, ...view.series.map((point) => point.ok_per_s));
    const domain: [number, number] = [0, most * 1.08];
    return {
      domain,
      ticks: linearTicks(0, domain[1], 6),
      name: "successful responses per second",
      type: "linear",
      of: (point) => point.ok_per_s,
      text: (value) => `${significant(value)}/s`,
    };
  }
  const domain = logDomain(view.series.flatMap((point) => point.slowest_ns ?? []), 1.25);
  if (domain === null) return null;
  const scale = scaleFor("nanoseconds", domain[1]);
  const shownDomain: [number, number] = [domain[0] / scale.per, domain[1] / scale.per];
  return {
    domain: shownDomain,
    ticks: logTicks(shownDomain[0], shownDomain[1], 7),
    name: `slowest answer, ${scale.label} (logarithmic)`,
    type: "log",
    of: (point) => (point.slowest_ns ?? Number.NaN) / scale.per,
    text: (value) => time(value * scale.per),
  };
}

/** Whether there is anything to draw. */
export function canDraw(view: FaultView, shown: Shown): boolean {
  return view.series.length > 0 && axisOf(view, shown) !== null;
}

/** Draws one cell. */
export function faultPicture(view: FaultView, shown: Shown, width: number): Picture {
  const axis = axisOf(view, shown);
  const marginLeft = 52;
  const end = Math.max(1, ...view.series.map((point) => point.offset_ns / 1e9));
  const points = axis === null ? [] : view.series.map((point) => ({ x: (point.offset_ns - point.length_ns / 2) / 1e9, y: axis.of(point) }));
  const faults = view.faults.map((fault) => ({ x: fault.began_ns / 1e9, label: fault.label }));
  return drawLines({
    width,
    height: 260,
    marginLeft,
    marginTop: 40,
    x: { domain: [0, end], ticks: ticksWithin([0, end], width - marginLeft - 16, 16, tick), name: "seconds since the window began" },
    y: axis ?? { domain: [0, 1], ticks: [], name: "" },
    marks: [
      Plot.ruleX(faults, { x: "x", stroke: INK.fault, strokeWidth: 1.4, strokeDasharray: "4 3" }),
      Plot.text(faults, {
        x: "x",
        text: (fault: { label: string }) => fault.label.split(" ")[0] ?? "",
        frameAnchor: "top",
        dy: -6,
        fill: INK.fault,
      }),
      Plot.line(points, { x: "x", y: "y", stroke: INK.line, strokeWidth: 1.6 }),
      tip(points.filter((point) => Number.isFinite(point.y)), "x", "y", (point) => `at ${significant(point.x)} s: ${axis?.text(point.y) ?? ""}`),
    ],
  });
}
