// Assertions of the experiment and their outcomes.
import type { JSX } from "preact";
import type { View } from "../view";
import { Section, Table } from "./Section";

/** The section of assertions; nothing where there are none. */
export function Assertions({ view }: { view: View }): JSX.Element | null {
  const assertions = view.assertions ?? [];
  if (assertions.length === 0) return null;
  return (
    <Section id="assertions" title="Assertions" lead="Judged by the interval: passed or failed where the whole interval lies on one side of the limit, else undecided.">
      <Table label="Assertions">
        <thead>
          <tr><th scope="col">assertion</th><th scope="col">outcome</th><th scope="col">reason</th></tr>
        </thead>
        <tbody>
          {assertions.map((item) => (
            <tr key={item.text}>
              <td><code>{item.text}</code></td>
              <td>{item.outcome === "failed" ? <b>▲ failed</b> : item.outcome}</td>
              <td class="words">{item.reason}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}
