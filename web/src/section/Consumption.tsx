// CPU and memory of each part.
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { percent, quantity, significant } from "../format";
import type { Layout, Panel } from "../layout";
import type { Key } from "../legend";
import { isTareProcess, shades } from "../palette";
import { partsEnd, partsPicture, partsShown, type Resource } from "../plot/parts";
import { Picture } from "./Picture";
import { Section, Table } from "./Section";

const HOW: Record<Resource, string> = {
  cpu: "How to read: the bar’s length is the CPU time of all parts, the generator’s own (grey) included; the figure at the right is the total. On one machine some of a part’s network cost is booked to its peer: the total cannot be shifted.",
  memory: "How to read: the bar’s length adds up the parts’ peaks; the figure at the right is the total. The generator’s own memory is left out.",
};

function Bars(props: { panel: Panel; resource: Resource; colors: Map<string, string>; end: number }): JSX.Element {
  const { panel, resource, colors, end } = props;
  const draw = useCallback(
    (width: number) => partsPicture(panel, resource, colors, end, width),
    [panel, resource, colors, end],
  );
  const keys = useMemo(() => {
    const seen = new Map<string, Key>();
    const parts = panel.series.flatMap((series) => partsShown(series.cell.parts, resource));
    for (const part of parts.sort((a, b) => Number(isTareProcess(a.role)) - Number(isTareProcess(b.role)))) {
      const color = colors.get(part.instance) ?? "var(--tare-0)";
      seen.set(part.instance, { label: part.instance, color, shape: "swatch" });
    }
    return [...seen.values()];
  }, [panel, resource, colors]);
  const title = resource === "cpu" ? "CPU per part" : "Peak memory per part";
  return <Picture title={`${title}, ${panel.name}`} notes={panel.notes} how={HOW[resource]} keys={keys} file={`${resource}-${panel.name}`} draw={draw} />;
}

function PartsTable({ layout }: { layout: Layout }): JSX.Element {
  const rows = layout.panels.flatMap((panel) =>
    panel.series.flatMap((series) => series.cell.parts.map((part) => ({ panel, series, part }))),
  );
  return (
    <details class="block">
      <summary>Every part as a table ({rows.length})</summary>
      <Table label="Every part">
        <thead>
          <tr>
            <th scope="col">{layout.panelWord}</th><th scope="col">{layout.seriesWord}</th><th scope="col">part</th><th scope="col">software</th>
            <th scope="col" class="n">CPU-s per 1000</th><th scope="col" class="n">cores</th><th scope="col" class="n">peak memory</th>
            <th scope="col" class="n">mean memory</th><th scope="col" class="n">waiting for a core</th><th scope="col" class="n">switches per 1000</th>
            <th scope="col" class="n">packets per 1000</th><th scope="col" class="n">packets per s</th><th scope="col" class="n">disk written</th><th scope="col" class="n">disk per s</th><th scope="col" class="n">throttled</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ panel, series, part }) => (
            <tr key={`${panel.name}/${series.name}/${part.instance}`}>
              <td>{panel.name}</td><td>{series.name}</td><td>{part.instance} <span class="quiet">{part.role}</span></td><td>{part.software}</td>
              <td class="n">{significant(part.cpu_s_per_1000)}</td><td class="n">{significant(part.cores, 2)}</td>
              <td class="n">{quantity(part.rss_peak_bytes, "bytes")}</td><td class="n">{quantity(part.rss_mean_bytes, "bytes")}</td>
              <td class="n">{percent(part.run_queue_wait_share)}</td><td class="n">{significant(part.switches_per_1000)}</td>
              <td class="n">{significant(part.packets_per_1000)}</td><td class="n">{quantity(part.packets_per_s, "per-second")}</td>
              <td class="n">{quantity(part.disk_write_bytes, "bytes")}</td><td class="n">{quantity(part.disk_write_per_s, "bytes-per-second")}</td>
              <td class="n">{percent(part.throttled_share)}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </details>
  );
}

function Resources({ layout, resource, colors }: { layout: Layout; resource: Resource; colors: Map<string, string> }): JSX.Element {
  const end = partsEnd(layout.panels, resource);
  if (end === 0) return <p class="none">{resource === "cpu" ? "CPU" : "Memory"} was not measured.</p>;
  return (
    <div class="grid">
      {layout.panels.filter((panel) => panel.series.length > 0).map((panel) => (
        <Bars key={panel.name} panel={panel} resource={resource} colors={colors} end={end} />
      ))}
    </div>
  );
}

/** The section of CPU and memory. */
export function Consumption({ layout }: { layout: Layout }): JSX.Element {
  const colors = useMemo(
    () => shades(layout.panels.flatMap((panel) => panel.series.flatMap((series) => series.cell.parts))),
    [layout],
  );
  return (
    <Section id="parts" title="CPU and memory per part">
      <Resources layout={layout} resource="cpu" colors={colors} />
      <Resources layout={layout} resource="memory" colors={colors} />
      <PartsTable layout={layout} />
    </Section>
  );
}
