// CPU and memory of each part.
import type { JSX } from "preact";
import { drawn, type Layout, type Panel } from "../layout";
import type { LegendEntry } from "../legend";
import { shades } from "../palette";
import { partsEnd, partsPicture, partsShown, type Resource } from "../plot/parts";
import type { View } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";
import { Tables } from "./Tables";

const HOW: Record<Resource, string> = {
  cpu: "How to read: the bar’s length is the CPU time of all parts, the generator’s own (grey) included; the figure at the right is the total. On one machine some of a part’s network cost is booked to its peer: the total cannot be shifted.",
  memory: "How to read: the bar’s length adds up the parts’ peaks; the figure at the right is the total. The generator’s own memory is left out.",
};

function Bars(props: { panel: Panel; resource: Resource; colors: Map<string, string>; end: number }): JSX.Element {
  const { panel, resource, colors, end } = props;
  const parts = partsShown(panel.series.flatMap((series) => series.cell.parts), resource);
  const keys = [...new Set(parts.map((part) => part.instance))].map((label): LegendEntry => ({ label, color: colors.get(label) ?? "var(--tare-0)", shape: "swatch" }));
  const title = resource === "cpu" ? "CPU per part" : "Peak memory per part";
  return (
    <Picture
      title={`${title}, ${panel.name}`}
      notes={panel.notes}
      how={HOW[resource]}
      keys={keys}
      file={`${resource}-${panel.name}`}
      draw={(width) => partsPicture(panel, resource, colors, end, width)}
    />
  );
}

function Resources({ layout, resource, colors }: { layout: Layout; resource: Resource; colors: Map<string, string> }): JSX.Element {
  const end = partsEnd(layout.panels, resource);
  if (end === 0) return <p class="none">{resource === "cpu" ? "CPU" : "Memory"} was not measured.</p>;
  return (
    <div class="grid">
      {drawn(layout).map((panel) => (
        <Bars key={panel.name} panel={panel} resource={resource} colors={colors} end={end} />
      ))}
    </div>
  );
}

/** The section of CPU and memory. */
export function Consumption({ view, layout }: { view: View; layout: Layout }): JSX.Element {
  const colors = shades(layout.panels.flatMap((panel) => panel.series.flatMap((series) => series.cell.parts)));
  return (
    <Section id="parts" title="CPU and memory per part">
      <Resources layout={layout} resource="cpu" colors={colors} />
      <Resources layout={layout} resource="memory" colors={colors} />
      <Tables view={view} section="CPU and memory per part" />
    </Section>
  );
}
