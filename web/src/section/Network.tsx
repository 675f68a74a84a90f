// What lies between sites, what passed through pods and between sites, and what the machine did meanwhile.
import type { JSX } from "preact";
import type { Layout } from "../layout";
import type { View } from "../view";
import { Section, Table } from "./Section";

/** In the order of the view's texts. */
const PODS = ["packets in per 1000", "packets out per 1000", "bytes in per exchange", "bytes out per exchange", "connections in a window", "retransmits in a window"];
const DIRECTIONS = ["packets per 1000", "bytes per exchange", "lost", "queue full in a window", "unintended drops", "late in a window"];
const RTTS = ["configured", "median", "p99", "answered"];
const MACHINE = ["softirq", "steal", "parts’ cores busy", "background, parts’ cores", "background, generator cores", "other arms, parts’ cores", "busiest core", "throttled"];

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
function LinkRtts({ view }: { view: View }): JSX.Element | null {
  const rtts = view.link_rtts ?? [];
  if (rtts.length === 0) return null;
  return (
    <>
      <h3 class="sub">Round trips between sites, before the first block</h3>
      <Table label="Round trips between sites">
        <thead>
          <tr>{RTTS.map((name, index) => <th scope="col" class={index === 0 ? "" : "n"} key={name}>{name}</th>)}</tr>
        </thead>
        <tbody>
          {rtts.map((rtt) => (
            <tr key={rtt.link}>
              {rtt.texts.map((text, index) => <td class={index === 0 ? "" : "n"} key={index}>{text}</td>)}
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
  return (view.link_rtts ?? []).length > 0 || cells.some((cell) => (cell.pods ?? []).length > 0 || (cell.directions ?? []).length > 0);
}

/** The section of packets and of the machine; nothing where neither was observed. */
export function Network({ view, layout }: { view: View; layout: Layout }): JSX.Element | null {
  const cells = layout.panels.flatMap((panel) => panel.series.map((series) => ({ panel, series, cell: series.cell })));
  const pods = cells.flatMap((at) => (at.cell.pods ?? []).map((pod) => ({ ...at, pod })));
  const directions = cells.flatMap((at) => (at.cell.directions ?? []).map((direction) => ({ ...at, direction })));
  const machines = cells.filter(({ cell }) => (cell.machine?.texts ?? []).some((text) => text !== "–"));
  if (!hasNetwork(view) && machines.length === 0) return null;
  return (
    <Section
      id="network"
      title="Network and host"
      lead="Medians over the trials. With segmentation offload a kernel packet may be larger than one on a wire. Calls within a pod are not counted. Softirq: receiving packets, charged to the interrupted process."
    >
      <LinkRtts view={view} />
      {directions.length > 0 && (
        <details class="block" open={directions.length <= 12}>
          <summary>Link traffic ({directions.length})</summary>
          <p class="how">Packets as they would be on a wire. Lost: the configured loss. Unintended drops (worst trial) and late packets (over 0.2 ms): the emulated link deviated from its configuration.</p>
          <Table label="Link traffic">
            {heads(layout, ["direction"], DIRECTIONS)}
            <tbody>
              {directions.map(({ panel, series, direction }) => (
                <tr key={`${panel.name}/${series.name}/${direction.from}/${direction.to}`}>
                  <td>{panel.name}</td><td>{series.name}</td><td>{direction.from} → {direction.to}</td>
                  {direction.texts.map((text, index) => <td class="n" key={index}>{text}</td>)}
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
