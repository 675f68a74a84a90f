// What is done a second against what the levels vary, one line per arm.
import * as Plot from "@observablehq/plot";
import { count, quantity, significant, tick } from "../format";
import type { SeriesStyle } from "../palette";
import { linearTicks, zeroDomain } from "../scale";
import { drawLines, ticksWithin, tip, type Picture } from "./frame";

/** One level of one arm. */
export interface Step {
  x: number;
  value: number;
  low: number;
  high: number;
}

/** One arm over all levels. */
export interface ThroughputSeries {
  name: string;
  ink: SeriesStyle;
  steps: Step[];
}

/** Draws the lines, each point with its lowest and highest block. */
export function throughputPicture(climbs: readonly ThroughputSeries[], varied: string, width: number): Picture {
  const marginLeft = 56;
  const steps = climbs.flatMap((climb) => climb.steps);
  const x = zeroDomain(steps.map((step) => step.x), 0.04);
  const y = zeroDomain(steps.map((step) => step.high), 0.08);
  const xTicks = ticksWithin(x, width - marginLeft - 16, 16, tick).filter((at) => at >= 0);
  return drawLines({
    width,
    height: 300,
    marginLeft,
    x: { domain: x, ticks: xTicks, name: varied },
    y: { domain: [0, y[1]], ticks: linearTicks(0, y[1], 5), name: "successful responses per second" },
    marks: [
      ...climbs.flatMap(({ ink, steps: own }) => [
        Plot.ruleX(own, { x: "x", y1: "low", y2: "high", stroke: ink.color, strokeWidth: 1.2 }),
        Plot.line(own, { x: "x", y: "value", stroke: ink.color, strokeWidth: ink.width, strokeDasharray: ink.dash || "none" }),
        Plot.dot(own, { x: "x", y: "value", r: 3, fill: ink.color }),
      ]),
      tip(
        climbs.flatMap((climb) => climb.steps.map((step) => ({ ...step, name: climb.name }))),
        "x",
        "value",
        (step) => `${step.name}\n${varied} ${count(step.x)}: ${quantity(step.value, "per-second")}\nblocks ${significant(step.low)}–${significant(step.high)}`,
      ),
    ],
  });
}
