// A picture on the page: title, key, drawing, how to read it, and the buttons that save it.
import { createContext, type JSX } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { SIGN_WIDTH, signOf, type LegendEntry } from "../legend";
import { savePng, saveSvg, type ExportedChart } from "../save";

/** Experiment, run and version, for saved pictures. */
export const Source = createContext("");

interface Props {
  title: string;
  notes?: readonly string[];
  /** One line: how to read it. */
  how: string;
  keys: readonly LegendEntry[];
  /** Name of a saved file, without extension. */
  file: string;
  draw: (width: number) => SVGSVGElement;
}

function LegendSymbol({ item }: { item: LegendEntry }): JSX.Element {
  const sign = signOf(item);
  return (
    <svg class="sign" width={SIGN_WIDTH} height={12} viewBox={`0 0 ${SIGN_WIDTH} 12`} aria-hidden="true">
      {sign.tag === "path" ? <path {...sign.attributes} /> : <rect {...sign.attributes} />}
    </svg>
  );
}

/** The key of a picture. */
export function Keys({ keys }: { keys: readonly LegendEntry[] }): JSX.Element | null {
  if (keys.length === 0) return null;
  return (
    <ul class="keys">
      {keys.map((item) => (
        <li key={item.label}>
          <LegendSymbol item={item} />
          <span>{item.label}</span>
        </li>
      ))}
    </ul>
  );
}

function fileName(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-").replaceAll(/^-+|-+$/g, "");
}

/** A picture, drawn with every rendering: its section renders when its data change, it itself when its room does. */
export function Picture({ title, notes = [], how, keys, file, draw }: Props): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [problem, setProblem] = useState("");
  const source = useContext(Source);

  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (holder.current === null || width === 0) return;
    const svg = draw(width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${title}. ${how}`);
    holder.current.replaceChildren(svg);
  });

  const save = (kind: "svg" | "png") => {
    const picture = holder.current?.querySelector("svg");
    if (picture == null) return;
    const sheet: ExportedChart = { title, how, source, keys, picture };
    setProblem("");
    if (kind === "svg") saveSvg(sheet, fileName(file));
    else savePng(sheet, fileName(file)).catch((error: unknown) => setProblem(String(error)));
  };

  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        <span class="save">
          <button type="button" onClick={() => save("svg")} aria-label={`Save as SVG: ${title}`}>SVG</button>
          <button type="button" onClick={() => save("png")} aria-label={`Save as PNG: ${title}`}>PNG</button>
        </span>
      </figcaption>
      {notes.map((note) => (
        <p class="caution" key={note}><b aria-hidden="true">▲</b> {note}</p>
      ))}
      <Keys keys={keys} />
      <div class="holder" ref={holder} />
      <p class="how">{how}</p>
      {problem !== "" && <p class="caution" role="alert">{problem}</p>}
    </figure>
  );
}
