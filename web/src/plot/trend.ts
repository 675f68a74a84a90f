// One series over the runs: its values with the range of their blocks, the means between change points, and a mark for each of those.
import * as Plot from "@observablehq/plot";
import type { SeriesDetail } from "../api";
import { scaleFor, tick } from "../format";
import { linearTicks, logDomain, logTicks, valueDomain } from "../scale";
import { drawLines, ticksWithin, type Picture } from "./frame";
import { reduced } from "./reduce";

/** Colours of a change for the worse and for the better; words say the same. */
export const INK = { line: "var(--hue-0)", range: "var(--shade-0)", mean: "var(--ink)", worse: "var(--bad)", better: "var(--hue-2)" } as const;

/** Space beside the frame, which what is placed below it must leave as well. */
export const BESIDE = { left: 56, right: 16 } as const;

/** Height of the picture, and of what is above and below its frame (below: as all pictures of lines). */
const [HEIGHT, ABOVE, BELOW] = [380, 44, 46];
/** Points up to which each has a dot. */
const DOTS_MAX = 400;
/** Width of a character of a label. */
const CHARACTER = 6.3;

/** A picture with a cursor. */
export interface TrendPicture {
  picture: Picture;
  /** Puts the cursor on a run. */
  show: (index: number) => void;
  /** The run at a place of the window. */
  indexAt: (clientX: number) => number;
}

/** A change point within what is shown. */
interface Mark {
  x: number;
  number: number;
  /** What it says, the longest first. */
  words: readonly string[];
  color: string;
}

/** Labels of marks: the longest words that there is room for, the number at least; none where not even that fits. */
export function markLabels(marks: readonly Mark[], pixel: (x: number) => number, right: number): { x: number; text: string; anchor: "start" | "end"; color: string }[] {
  const labels: ReturnType<typeof markLabels> = [];
  let limit = right;
  for (const [index, mark] of [...marks.entries()].reverse()) {
    const at = pixel(mark.x);
    const texts = [...mark.words.map((words) => `${mark.number}: ${words}`), `${mark.number}`];
    const before = index === 0 ? 0 : pixel((marks[index - 1] as Mark).x) + 3 * CHARACTER;
    const room = { start: limit - at, end: at - before - 6 };
    // Only the last one may stand on the left of its mark: there it takes the room of the one before.
    const isLeft = index === marks.length - 1 && room.start < (texts[0] ?? "").length * CHARACTER && room.end > room.start;
    const anchor = isLeft ? "end" : "start";
    const text = texts.find((one) => one.length * CHARACTER <= room[anchor]);
    if (text !== undefined) labels.push({ x: mark.x, text, anchor, color: mark.color });
    limit = at - (isLeft && text !== undefined ? text.length * CHARACTER : 0) - 8;
  }
  return labels.reverse();
}

function dateLabel(detail: SeriesDetail): (index: number) => string {
  const { points } = detail;
  const first = points[0]?.started_unix_us ?? 0;
  const days = ((points.at(-1)?.started_unix_us ?? first) - first) / 86_400e6;
  return (index) => {
    const at = points[index]?.started_unix_us;
    if (at === undefined || Math.abs(at) >= 8.64e18) return "";
    const text = new Date(at / 1000).toISOString();
    return days > 4 ? text.slice(0, 10) : `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  };
}

/** Draws the series; `words` are those of its change points, for each of them the longest first. */
export function trendPicture(detail: SeriesDetail, words: readonly (readonly string[])[], isLog: boolean, width: number): TrendPicture {
  const { points, changes, left_out } = detail;
  const inner = width - BESIDE.left - BESIDE.right;
  const drawn = reduced(points, inner);
  const all = drawn.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const scale = scaleFor(detail.unit, all.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const scaled = valueDomain(all.map((value) => value / scale.per), detail.margin);
  const domain = isLog ? (logDomain([...all.map((value) => value / scale.per), ...scaled], 1) ?? [1, 10]) : scaled;
  const last = points.length - 1;
  const x: [number, number] = last > 0 ? [0, last] : [-1, 1];
  const label = dateLabel(detail);
  const pixel = (index: number) => BESIDE.left + ((index - x[0]) / (x[1] - x[0])) * inner;
  // What is not known, and what has no place on a logarithmic axis, is a gap.
  const placed = (value: number | null) => (value === null || (isLog && value <= 0) ? Number.NaN : value / scale.per);
  const lines = drawn.map(({ index, value, low, high }) => ({ index, y: placed(value), low: placed(low), high: placed(high) }));
  const marks = changes.flatMap((change, number): Mark[] => {
    const at = change.index - left_out;
    return at < 0 || at > last ? [] : [{ x: at, number: number + 1, words: words[number] ?? [], color: change.is_worse ? INK.worse : INK.better }];
  });
  const means = changes.flatMap((change, number) => {
    const to = (changes[number + 1]?.index ?? left_out + points.length) - left_out - 1;
    const own = { from: change.index - left_out, to, y: change.after };
    return number === 0 ? [{ from: -left_out, to: own.from - 1, y: change.before }, own] : [own];
  }).filter(({ to }) => to >= 0).map(({ from, to, y }) => ({ from: Math.max(0, from), to, y: placed(y) }));
  // One for each pixel.
  const versions = new Map(points.flatMap(({ changed }, index) => (changed.length === 0 ? [] : [[Math.round(pixel(index)), index]])));
  const labels = markLabels(marks, pixel, width);
  const picture = drawLines({
    width,
    height: HEIGHT,
    marginLeft: BESIDE.left,
    marginRight: BESIDE.right,
    marginTop: ABOVE,
    x: { domain: x, ticks: ticksWithin(x, inner, 12, () => "2026-11-20 ").filter((index) => Number.isInteger(index) && index >= 0), label, name: "run" },
    y: {
      type: isLog ? "log" : "linear", domain: domain as [number, number], label: tick, name: `${detail.label}, ${detail.unit === "own" ? detail.key.level : scale.label}${isLog ? " (logarithmic)" : ""}`,
      ticks: isLog ? logTicks(domain[0], domain[1], 7) : linearTicks(domain[0], domain[1], 6),
    },
    marks: [
      Plot.areaY(lines, { x: "index", y1: "low", y2: "high", fill: INK.range, fillOpacity: 0.35 }),
      Plot.ruleX([...versions.values()], { insetTop: HEIGHT - ABOVE - BELOW - 7, stroke: "var(--quiet)", strokeWidth: 1.2 }),
      Plot.ruleX(marks, { x: "x", stroke: "color", strokeWidth: 1.4, strokeDasharray: "5 3" }),
      Plot.line(lines, { x: "index", y: "y", stroke: INK.line, strokeWidth: points.length > DOTS_MAX ? 1 : 1.3 }),
      points.length > DOTS_MAX ? null : Plot.dot(lines, { x: "index", y: "y", r: 2.6, fill: INK.line }),
      Plot.ruleY(means, { x1: "from", x2: "to", y: "y", stroke: INK.mean, strokeWidth: 2 }),
      ...(["start", "end"] as const).map((anchor) => Plot.text(labels.filter((one) => one.anchor === anchor), {
        x: "x", text: "text", frameAnchor: "top", dy: -8, dx: anchor === "start" ? 0 : 3, textAnchor: anchor, fill: "color",
      })),
    ],
  });
  return { picture, ...cursorOf(detail, picture, isLog, { pixel, scale: scale.per, domain: domain as [number, number], x, inner }) };
}

interface Axes {
  pixel: (index: number) => number;
  scale: number;
  domain: [number, number];
  x: [number, number];
  inner: number;
}

function cursorOf({ points }: SeriesDetail, picture: Picture, isLog: boolean, axes: Axes): Pick<TrendPicture, "show" | "indexAt"> {
  const [top, bottom] = [ABOVE, HEIGHT - BELOW];
  const node = (tag: string, attributes: Record<string, string>) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const group = node("g", { "data-cursor": "" });
  const rule = node("path", { d: `M0 ${top}V${bottom}`, stroke: "var(--quiet)", "stroke-width": "1" });
  const dot = node("circle", { r: "5", fill: "var(--paper)", stroke: INK.line, "stroke-width": "2.2" });
  group.append(rule, dot);
  picture.append(group);
  const place = (value: number) => (isLog ? Math.log(value) : value);
  return {
    show: (index) => {
      const point = points[index];
      const y = place((point?.value ?? Number.NaN) / axes.scale);
      const share = (y - place(axes.domain[0])) / (place(axes.domain[1]) - place(axes.domain[0]));
      group.setAttribute("visibility", Number.isFinite(share) ? "visible" : "hidden");
      if (point === undefined || !Number.isFinite(share)) return;
      group.setAttribute("transform", `translate(${axes.pixel(index)},0)`);
      dot.setAttribute("cy", `${bottom - share * (bottom - top)}`);
    },
    indexAt: (clientX) => {
      const box = picture.getBoundingClientRect();
      const at = ((clientX - box.left) * picture.viewBox.baseVal.width) / box.width - BESIDE.left;
      return Math.max(0, Math.min(points.length - 1, Math.round(axes.x[0] + (at / axes.inner) * (axes.x[1] - axes.x[0]))));
    },
  };
}
