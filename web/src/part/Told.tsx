// What parts say of themselves: a table for each cell, with a column for each part.
import type { JSX } from "preact";
import type { Layout } from "../layout";
import type { ToldView } from "../view";
import { Section, Table } from "./Section";

function Figures({ title, told, open }: { title: string; told: ToldView; open: boolean }): JSX.Element {
  return (
    <details class="block" open={open}>
      <summary>{title} ({told.rows.length})</summary>
      <Table label={`Target counters, ${title}`}>
        <thead>
          <tr><th scope="col">figure</th>{told.instances.map((name) => <th scope="col" class="n" key={name}>{name}</th>)}</tr>
        </thead>
        <tbody>
          {told.rows.map((row) => (
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

/** The section of what parts say of themselves; nothing where none says anything. */
export function Told({ layout }: { layout: Layout }): JSX.Element | null {
  const all = layout.panels.flatMap((panel) =>
    panel.series.flatMap(({ name, cell }) => (cell.told && cell.told.rows.length > 0 ? [{ title: `${panel.name}, ${name}`, told: cell.told }] : [])),
  );
  if (all.length === 0) return null;
  return (
    <Section
      id="told"
      title="Target counters"
      lead="Medians over the trials, each from before the first request to after the last answer: warm-up and drain are in them. Where a figure has a mean, it is over as many as another one counts."
    >
      {all.map(({ title, told }, index) => <Figures key={title} title={title} told={told} open={index === 0} />)}
    </Section>
  );
}
