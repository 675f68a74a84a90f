// What all pictures share: type, colours from the page's variables, and marks used by several.
import * as Plot from "@observablehq/plot";
import { tick } from "../format";
import { linearTicks } from "../scale";

/** A picture: SVG made for a width in CSS pixels. */
export type Picture = SVGSVGElement;

/** Style of every picture. */
export const STYLE = {
  background: "transparent",
  color: "var(--ink)",
  fontFamily: "var(--sans)",
  fontSize: "12px",
  overflow: "visible",
} as const;

/** Makes a picture without the wrapper that a legend would need, and without Plot's own style: the application's policy forbids it. */
export function draw(options: Plot.PlotOptions): Picture {
  const picture = Plot.plot({ style: STYLE, ...options }) as unknown as Picture;
  picture.querySelector("style")?.remove();
  // The picture has one label; those of its groups are words of Plot's, where none is allowed.
  for (const group of picture.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
  return picture;
}

/** Hairlines at given x positions. */
export function rulesX(at: readonly number[]): Plot.Markish {
  return Plot.ruleX(at, { stroke: "var(--grid)", strokeWidth: 1 });
}

/** Hairlines at given y positions. */
function rulesY(at: readonly number[]): Plot.Markish {
  return Plot.ruleY(at, { stroke: "var(--grid)", strokeWidth: 1 });
}

/** Labels of the x axis. Plot's own axis leaves out some labels of logarithmic scales. */
export function labelsX(at: readonly number[], label: (value: number) => string): Plot.Markish {
  return Plot.text(at, { x: (value: number) => value, text: label, frameAnchor: "bottom", dy: 15, fill: "var(--ink)" });
}

/** Labels of the y axis. */
function labelsY(at: readonly number[], label: (value: number) => string): Plot.Markish {
  return Plot.text(at, { y: (value: number) => value, text: label, frameAnchor: "left", dx: -7, textAnchor: "end", fill: "var(--ink)" });
}

/** Labels of a second y axis on the right: `place` is where a value lies on the first. */
export function labelsRight(at: readonly number[], place: (value: number) => number, label: (value: number) => string): Plot.Markish {
  return Plot.text(at, { y: place, text: label, frameAnchor: "right", dx: 7, textAnchor: "start", fill: "var(--ink)" });
}

/** Ticks whose labels fit between the sides of a frame that is `inner` pixels wide and has `room` beside it. */
export function ticksWithin(
  domain: readonly [number, number],
  inner: number,
  room: number,
  label: (value: number) => string,
): number[] {
  const pixel = (value: number) => ((value - domain[0]) / (domain[1] - domain[0])) * inner;
  const half = (value: number) => label(value).length * 3.4;
  return linearTicks(domain[0], domain[1], Math.max(2, Math.min(8, Math.floor(inner / 72)))).filter(
    (value) => pixel(value) - half(value) >= -room && pixel(value) + half(value) <= inner + room,
  );
}

/** The name of an axis, with its unit, above its upper left corner. */
function axisName(text: string, marginLeft: number, marginTop: number): Plot.Markish {
  return Plot.text([text], {
    frameAnchor: "top-left",
    dx: -marginLeft + 2,
    dy: 7 - marginTop,
    fill: "var(--quiet)",
    textAnchor: "start",
  });
}

/** The name of the x axis, below its right end. */
export function axisNameBelow(text: string): Plot.Markish {
  return Plot.text([text], {
    frameAnchor: "bottom-right",
    dy: 36,
    fill: "var(--quiet)",
    textAnchor: "end",
  });
}

/** What is shown where the reader points. */
export function tip<T extends object>(points: readonly T[], x: string, y: string, title: (point: T) => string): Plot.Markish {
  return Plot.tip(points, Plot.pointer({ x, y, title, fill: "var(--paper)", stroke: "var(--rule)" }));
}

/** One axis of lines: its ticks and their labels, and its name. */
interface LineAxis {
  domain: [number, number];
  type?: "linear" | "log";
  ticks: readonly number[];
  label?: (value: number) => string;
  name: string;
}

/** What a picture of lines over two axes is made from. */
export interface Lines {
  width: number;
  height: number;
  marginLeft: number;
  marginRight?: number;
  marginTop?: number;
  x: LineAxis;
  y: LineAxis;
  marks: Plot.Markish[];
}

/** Draws lines over two axes with their grid. */
export function drawLines({ width, height, marginLeft, marginRight = 16, marginTop = 24, x, y, marks }: Lines): Picture {
  return draw({
    width,
    height,
    marginLeft,
    marginRight,
    marginTop,
    marginBottom: 46,
    x: { type: x.type ?? "linear", domain: x.domain, axis: null },
    y: { type: y.type ?? "linear", domain: y.domain, axis: null },
    marks: [
      rulesY(y.ticks),
      rulesX(x.ticks),
      labelsX(x.ticks, x.label ?? tick),
      labelsY(y.ticks, y.label ?? tick),
      axisName(y.name, marginLeft, marginTop),
      axisNameBelow(`${x.name} →`),
      ...marks,
    ],
  });
}

/** Widest text, in characters, that fits a width at the size of pictures. */
export function charactersIn(width: number): number {
  return Math.floor(width / 6.3);
}
