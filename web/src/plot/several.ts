// Several runs or loads beside each other: one line for each statistic, from one to the next.
import * as Plot from "@observablehq/plot";
import type { Unit } from "../api";
import { quantity, scaleFor, tick } from "../format";
import type { SeriesStyle } from "../palette";
import { linearTicks, logDomain, logTicks, shorten, zeroDomain } from "../scale";
import { charactersIn, drawLines, tip, type Picture } from "./frame";

/** A statistic with its value in each run; `null` where it is missing. */
export interface SeveralLine {
  name: string;
  ink: SeriesStyle;
  values: readonly (number | null)[];
}

/** Draws the lines over the names of the runs. */
export function severalPicture(names: readonly string[], lines: readonly SeveralLine[], unit: Unit, isLog: boolean, width: number): Picture {
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const scale = scaleFor(unit, all.reduce((most, value) => Math.max(most, value), 0));
  const scaled = all.map((value) => value / scale.per);
  const domain = isLog ? (logDomain(scaled, 1.25) ?? [1, 10]) : zeroDomain(scaled);
  const marginLeft = 46;
  const last = Math.max(names.length - 1, 1);
  const room = charactersIn((width - marginLeft) / Math.max(names.length, 1));
  const points = lines.flatMap((line) =>
    line.values.flatMap((value, x) => (value === null || (isLog && value <= 0) ? [] : [{ x, y: value / scale.per, name: line.name, run: names[x] ?? "", color: line.ink.color }])),
  );
  return drawLines({
    width,
    height: 320,
    marginLeft,
    marginRight: 24,
    x: { domain: [-0.3, last + 0.3], ticks: names.map((_, index) => index), label: (index) => shorten(names[index] ?? "", Math.max(room, 4)), name: "run" },
    y: {
      type: isLog ? "log" : "linear",
      domain: domain as [number, number],
      ticks: isLog ? logTicks(domain[0], domain[1]) : linearTicks(domain[0], domain[1], 6),
      label: tick,
      name: `${scale.label}${isLog ? " (logarithmic)" : ""}`,
    },
    marks: [
      ...lines.map((line) =>
        Plot.line(points.filter((point) => point.name === line.name), { x: "x", y: "y", stroke: line.ink.color, strokeWidth: line.ink.width, strokeDasharray: line.ink.dash || "none" }),
      ),
      Plot.dot(points, { x: "x", y: "y", fill: "color", r: 3 }),
      tip(points, "x", "y", (point) => `${point.run}\n${point.name}: ${quantity(point.y * scale.per, unit)}`),
    ],
  });
}
