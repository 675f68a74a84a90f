// Target counters: a table per cell, a column per part.
import type { JSX } from "preact";
import type { Layout } from "../layout";
import type { TargetCountersView } from "../view";
import { Section, Table } from "./Section";

function Figures({ title, counters, open }: { title: string; counters: TargetCountersView; open: boolean }): JSX.Element {
  return (
    <details class="block" open={open}>
      <summary>{title} ({counters.rows.length})</summary>
      <Table label={`Target counters, ${title}`}>
        <thead>
          <tr><th scope="col">figure</th>{counters.instances.map((name) => <th scope="col" class="n" key={name}>{name}</th>)}</tr>
        </thead>
        <tbody>
          {counters.rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              {row.texts.map((text, place) => <td class="n" key={place}>{text}</td>)}
            </tr>
          ))}
        </tbody>
      </Table>
    </details>
  );
}

/** The section of target counters; nothing where there are none. */
export function TargetCounters({ layout }: { layout: Layout }): JSX.Element | null {
  const all = layout.panels.flatMap((panel) =>
    panel.series.flatMap(({ name, cell }) => (cell.target_counters && cell.target_counters.rows.length > 0 ? [{ title: `${panel.name}, ${name}`, counters: cell.target_counters }] : [])),
  );
  if (all.length === 0) return null;
  return (
    <Section
      id="target-counters"
      title="Target counters"
      lead="Medians over the trials, each from before the first request to after the last answer: warm-up and drain are in them. Where a figure has a mean, it is over as many as another one counts."
    >
      {all.map(({ title, counters }, index) => <Figures key={title} title={title} counters={counters} open={index === 0} />)}
    </Section>
  );
}
