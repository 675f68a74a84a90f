// Flame graphs of profiled instances, and the functions that take most CPU time.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { FlameGraphView, View } from "../api";
import { Section } from "./Section";
import { Tables } from "./Tables";

/** The picture as a part of the page, so that its functions have their names when they are pointed at. */
function Graph({ graph }: { graph: FlameGraphView }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const read = new DOMParser().parseFromString(graph.svg, "image/svg+xml").documentElement;
    if (read.tagName === "svg") holder.current?.replaceChildren(document.importNode(read, true));
  }, [graph]);
  return <div class="scroll flame" role="img" aria-label={labelOf(graph)} tabIndex={0} ref={holder} />;
}

function labelOf(graph: FlameGraphView): string {
  const difference = graph.against == null ? "" : ` against ${graph.against}`;
  return `Flame graph of ${graph.instance} in ${graph.arm} at ${graph.level}${difference}`;
}

/** The section of profiles; nothing where no part was profiled. */
export function Profiles({ view }: { view: View }): JSX.Element | null {
  const graphs = view.flame_graphs ?? [];
  const [chosen, choose] = useState("0");
  const graph = graphs[Number(chosen)];
  if (graph === undefined) return null;
  const levels = new Set(graphs.map((one) => one.level)).size > 1;
  const instances = new Set(graphs.map((one) => one.instance)).size > 1;
  const name = (one: FlameGraphView): string => {
    const words = [one.against == null ? one.arm : `${one.arm} against ${one.against}`];
    if (instances) words.push(one.instance);
    if (levels) words.push(one.level);
    return words.join(", ");
  };
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(graph.svg)}`;
  return (
    <Section
      id="profiles"
      title="Profiles"
      lead="Stacks that were sampled in one more trial of each arm, which is not judged. Point at a function for its name and share."
      tools={<a class="save" href={address} download={`${labelOf(graph).toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-")}.svg`}>Save SVG</a>}
    >
      <label class="pick">
        Flame graph of{" "}
        <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          {graphs.map((one, index) => <option key={name(one)} value={String(index)}>{name(one)}</option>)}
        </select>
      </label>
      <Graph graph={graph} />
      <Tables view={view} section="Profiles" />
    </Section>
  );
}
