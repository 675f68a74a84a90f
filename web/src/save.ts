// Saving a picture as a file of its own: title, key and reading help go into it, and the page's colours are written out.
import { SIGN_WIDTH, signOf, type LegendEntry } from "./legend";

/** Everything that a saved picture carries. */
export interface ExportedChart {
  title: string;
  how: string;
  /** Where it comes from: experiment, run and version. */
  source: string;
  keys: readonly LegendEntry[];
  picture: SVGSVGElement;
}

const NS = "http://www.w3.org/2000/svg";
const MARGIN = 16;
const CARRIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "stroke-linecap",
  "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
];

function element(tag: string, attributes: Record<string, string>, text?: string): SVGElement {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Copies what the page's style makes of each element into the copy, and drops what only the page can use. */
function carryStyle(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of CARRIED) to.setAttribute(name, style.getPropertyValue(name));
  // What is left of these points at rules and variables that only the page has.
  to.removeAttribute("class");
  to.removeAttribute("style");
  const pairs = [...from.children].map((source, index) => ({ source, target: to.children[index] }));
  for (const { source, target } of pairs) {
    if (target !== undefined) carryStyle(source, target);
  }
}

function resolver(): (value: string) => string {
  const style = getComputedStyle(document.documentElement);
  return (value) => value.replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim());
}

function measureText(size: string): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return (text) => text.length * 7;
  context.font = `${size} ${getComputedStyle(document.body).fontFamily}`;
  return (text) => context.measureText(text).width;
}

function wrapped(text: string, width: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && measure(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The picture as one SVG that needs nothing of the page. */
export function asSvg(sheet: ExportedChart): SVGSVGElement {
  const resolve = resolver();
  const box = sheet.picture.getBoundingClientRect();
  const width = box.width + 2 * MARGIN;
  const font = resolve("var(--sans)");
  const parts: SVGElement[] = [];
  let y = MARGIN;
  const lines = (text: string, size: number, weight: string, color: string) => {
    for (const line of wrapped(text, box.width, measureText(`${weight} ${size}px`))) {
      y += size * 1.3;
      const attributes = { x: `${MARGIN}`, y: `${y}`, "font-family": font, "font-size": `${size}`, "font-weight": weight, fill: resolve(color) };
      parts.push(element("text", attributes, line));
    }
  };
  lines(sheet.title, 15, "600", "var(--ink)");
  y += 12;
  y = addKeys(sheet.keys, parts, y, box.width, resolve, font);
  const copy = sheet.picture.cloneNode(true) as SVGSVGElement;
  carryStyle(sheet.picture, copy);
  for (const cursor of copy.querySelectorAll("[data-cursor]")) cursor.remove();
  copy.setAttribute("x", `${MARGIN}`);
  copy.setAttribute("y", `${y}`);
  copy.setAttribute("width", `${box.width}`);
  copy.setAttribute("height", `${box.height}`);
  copy.setAttribute("overflow", "visible");
  parts.push(copy);
  y += box.height + 4;
  lines(sheet.how, 12, "400", "var(--quiet)");
  y += 4;
  lines(sheet.source, 11, "400", "var(--quiet)");
  const height = y + MARGIN;
  const out = element("svg", { xmlns: NS, viewBox: `0 0 ${width} ${height}`, width: `${width}`, height: `${height}` });
  out.append(element("rect", { width: "100%", height: "100%", fill: resolve("var(--paper)") }), ...parts);
  return out as SVGSVGElement;
}

function addKeys(
  keys: readonly LegendEntry[],
  parts: SVGElement[],
  top: number,
  room: number,
  resolve: (value: string) => string,
  font: string,
): number {
  if (keys.length === 0) return top;
  const measure = measureText("12px");
  let [x, y] = [MARGIN, top];
  for (const key of keys) {
    const wide = SIGN_WIDTH + 6 + measure(key.label) + 18;
    if (x > MARGIN && x + wide > MARGIN + room) [x, y] = [MARGIN, y + 18];
    const sign = signOf({ ...key, color: resolve(key.color) });
    const group = element("g", { transform: `translate(${x},${y})` });
    group.append(
      element(sign.tag, sign.attributes),
      element("text", { x: `${SIGN_WIDTH + 6}`, y: "10", "font-family": font, "font-size": "12", fill: resolve("var(--ink)") }, key.label),
    );
    parts.push(group);
    x += wide;
  }
  return y + 22;
}

/** Gives a file away. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download reads the blob after the click returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function svgBlob(sheet: ExportedChart): Blob {
  return new Blob([new XMLSerializer().serializeToString(asSvg(sheet))], { type: "image/svg+xml" });
}

/** Saves the picture as `name`.svg. */
export function saveSvg(sheet: ExportedChart, name: string): void {
  download(svgBlob(sheet), `${name}.svg`);
}

/** Saves the picture as `name`.png at twice its size on the page. */
export async function savePng(sheet: ExportedChart, name: string): Promise<void> {
  const url = URL.createObjectURL(svgBlob(sheet));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * 2;
    canvas.height = image.naturalHeight * 2;
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser draws no canvas; save as SVG instead");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (blob === null) throw new Error("this browser makes no PNG of that size; save as SVG instead");
    download(blob, `${name}.png`);
  } finally {
    URL.revokeObjectURL(url);
  }
}
