// What lies between sites, what passed through pods and between sites, and what the machine did meanwhile.
import type { JSX } from "preact";
import type { Layout } from "../layout";
import type { View } from "../view";
import { Section, Table } from "./Section";

/** In the order of the view's texts. */
const PODS = ["packets in per 1000", "packets out per 1000", "bytes in per exchange", "bytes out per exchange", "connections in a window", "retransmits in a window"];
const WAYS = ["packets per 1000", "bytes per exchange", "lost", "queue full in a window", "dropped unasked", "late in a window"];
const DISTANCES = ["asked for", "median", "p99", "answered"];
const MACHINE = ["softirq", "stolen", "parts’ cores busy", "others on them", "others on the generator’s", "busiest core", "throttled"];

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

/** The round trips that were found before the first block; nothing where everything is at one site. */
function Distances({ view }: { view: View }): JSX.Element | null {
  const distances = view.distances ?? [];
  if (distances.length === 0) return null;
  return (
    <>
      <h3 class="sub">Round trips between sites, before the first block</h3>
      <Table label="Round trips between sites">
        <thead>
          <tr>{DISTANCES.map((name, index) => <th scope="col" class={index === 0 ? "" : "n"} key={name}>{name}</th>)}</tr>
        </thead>
        <tbody>
          {distances.map((distance) => (
            <tr key={distance.link}>
              {distance.texts.map((text, index) => <td class={index === 0 ? "" : "n"} key={index}>{text}</td>)}
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

/** Whether there is anything to be said of packets or links. */
export function hasNetwork(view: View): boolean {
  const cells = view.levels.flatMap((level) => level.cells);
  return (view.distances ?? []).length > 0 || cells.some((cell) => (cell.pods ?? []).length > 0 || (cell.ways ?? []).length > 0);
}

/** The section of packets and of the machine; nothing where neither was observed. */
export function Network({ view, layout }: { view: View; layout: Layout }): JSX.Element | null {
  const cells = layout.panels.flatMap((panel) => panel.series.map((series) => ({ panel, series, cell: series.cell })));
  const pods = cells.flatMap((at) => (at.cell.pods ?? []).map((pod) => ({ ...at, pod })));
  const ways = cells.flatMap((at) => (at.cell.ways ?? []).map((way) => ({ ...at, way })));
  const machines = cells.filter(({ cell }) => (cell.machine?.texts ?? []).some((text) => text !== "–"));
  if (!hasNetwork(view) && machines.length === 0) return null;
  return (
    <Section
      id="network"
      title="Packets and the machine"
      lead="Medians over the trials. A packet of the kernel may be larger than one of a wire, and calls within a pod do not leave it. Softirq is where packets are received: it runs in whoever is on the core."
    >
      <Distances view={view} />
      {ways.length > 0 && (
        <details class="block" open={ways.length <= 12}>
          <summary>Link traffic ({ways.length})</summary>
          <p class="how">Packets as they would be on a wire. Lost: as asked for. Dropped unasked (worst trial) and late (over 0.2 ms): the link was not as asked for.</p>
          <Table label="Link traffic">
            {heads(layout, ["way"], WAYS)}
            <tbody>
              {ways.map(({ panel, series, way }) => (
                <tr key={`${panel.name}/${series.name}/${way.from}/${way.to}`}>
                  <td>{panel.name}</td><td>{series.name}</td><td>{way.from} → {way.to}</td>
                  {way.texts.map((text, index) => <td class="n" key={index}>{text}</td>)}
                </tr>
              ))}
            </tbody>
          </Table>
        </details>
      )}
      {pods.length > 0 && (
        <details class="block" open={pods.length <= 12}>
          <summary>Pod network traffic ({pods.length})</summary>
          <Table label="Pod network traffic">
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
          <summary>Host ({machines.length})</summary>
          <Table label="Host">
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
