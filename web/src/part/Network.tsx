// What passed through pods, and what the machine did meanwhile.
import type { JSX } from "preact";
import type { Layout } from "../layout";
import { Section, Table } from "./Section";

/** In the order of the view's texts. */
const PODS = ["packets in per 1000", "packets out per 1000", "bytes in per exchange", "bytes out per exchange", "connections in a window", "retransmits in a window"];
const MACHINE = ["softirq", "stolen", "other programs", "busiest core", "throttled"];

function heads(layout: Layout, names: readonly string[], figures: readonly string[]): JSX.Element {
  return (
    <thead>
      <tr>
        {[layout.panelWord, layout.seriesWord, ...names].map((name) => <th scope="col" key={name}>{name}</th>)}
        {figures.map((name) => <th scope="col" class="n" key={name}>{name}</th>)}
      </tr>
    </thead>
  );
}

/** The section of packets and of the machine; nothing where neither was observed. */
export function Network({ layout }: { layout: Layout }): JSX.Element | null {
  const cells = layout.panels.flatMap((panel) => panel.series.map((series) => ({ panel, series, cell: series.cell })));
  const pods = cells.flatMap((at) => (at.cell.pods ?? []).map((pod) => ({ ...at, pod })));
  const machines = cells.filter(({ cell }) => (cell.machine?.texts ?? []).some((text) => text !== "–"));
  if (pods.length === 0 && machines.length === 0) return null;
  return (
    <Section
      id="network"
      title="Packets and the machine"
      lead="Medians over the trials. A packet of the kernel may be larger than one of a wire, and calls within a pod do not leave it. Softirq is where packets are received: it runs in whoever is on the core."
    >
      {pods.length > 0 && (
        <details class="block" open={pods.length <= 12}>
          <summary>What passed through pods ({pods.length})</summary>
          <Table label="What passed through pods">
            {heads(layout, ["pod"], PODS)}
            <tbody>
              {pods.map(({ panel, series, pod }) => (
                <tr key={`${panel.name}/${series.name}/${pod.pod}`}>
                  <td>{panel.name}</td><td>{series.name}</td><td>{pod.pod}</td>
                  {pod.texts.map((text, index) => <td class="n" key={index}>{text}</td>)}
                </tr>
              ))}
            </tbody>
          </Table>
        </details>
      )}
      {machines.length > 0 && (
        <details class="block" open={machines.length <= 12}>
          <summary>What the machine did ({machines.length})</summary>
          <Table label="What the machine did">
            {heads(layout, [], MACHINE)}
            <tbody>
              {machines.map(({ panel, series, cell }) => (
                <tr key={`${panel.name}/${series.name}`}>
                  <td>{panel.name}</td><td>{series.name}</td>
                  {(cell.machine?.texts ?? []).map((text, index) => <td class="n" key={index}>{text}</td>)}
                </tr>
              ))}
            </tbody>
          </Table>
        </details>
      )}
    </Section>
  );
}
