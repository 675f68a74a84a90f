// Keys of pictures: what a line, a mark or a shade stands for; drawn the same on the page and in saved pictures.

import type { SeriesStyle } from "./palette";

/** One entry of a key. */
export interface LegendEntry {
  label: string;
  color: string;
  shape: "line" | "swatch" | "swatch-pale" | "diamond" | "diamond-open" | "circle" | "circle-open" | "square" | "square-open" | "times" | "zero";
  dash?: string;
}

/** The entry of a line. */
export function lineKey(label: string, ink: SeriesStyle | undefined): LegendEntry {
  return { label, color: ink?.color ?? "var(--ink)", dash: ink?.dash, shape: "line" };
}

/** Width of a key's sign in pixels; its height is 12. */
export const SIGN_WIDTH = 22;

/** An SVG element for a key's sign, as attributes that both JSX and the DOM take. */
export interface LegendSymbol {
  tag: "path" | "rect";
  attributes: Record<string, string>;
}

const DIAMOND = "M11 1.5L15.5 6L11 10.5L6.5 6Z";
const CIRCLE = "M15 6A4 4 0 1 1 7 6A4 4 0 1 1 15 6Z";
const SQUARE = "M7.5 2.5H14.5V9.5H7.5Z";

/** How a key's sign is drawn. */
export function signOf(key: LegendEntry): LegendSymbol {
  const path = (d: string, filled: boolean): LegendSymbol => ({
    tag: "path",
    attributes: { d, fill: filled ? key.color : "none", stroke: key.color, "stroke-width": "1.8" },
  });
  switch (key.shape) {
    case "line":
      return { tag: "path", attributes: { d: "M0 6H22", fill: "none", stroke: key.color, "stroke-width": "2.2", "stroke-dasharray": key.dash || "none" } };
    case "zero":
      return { tag: "path", attributes: { d: "M11 0V12", fill: "none", stroke: key.color, "stroke-width": "1.2" } };
    case "swatch":
      return { tag: "rect", attributes: { x: "4", y: "0.5", width: "14", height: "11", fill: key.color } };
    case "swatch-pale":
      return {
        tag: "rect",
        attributes: { x: "4.5", y: "1", width: "13", height: "10", fill: key.color, "fill-opacity": "0.2", stroke: key.color },
      };
    case "diamond":
      return path(DIAMOND, true);
    case "diamond-open":
      return path(DIAMOND, false);
    case "circle":
      return path(CIRCLE, true);
    case "circle-open":
      return path(CIRCLE, false);
    case "square":
      return path(SQUARE, true);
    case "square-open":
      return path(SQUARE, false);
    case "times":
      return path("M7 2L15 10M15 2L7 10", false);
  }
}
