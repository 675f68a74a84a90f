// What the experiment claims of its result, and whether the intervals keep it.
import type { JSX } from "preact";
import type { View } from "../view";
import { Section, Table } from "./Section";

/** The section of assertions; nothing where there are none. */
export function Assertions({ view }: { view: View }): JSX.Element | null {
  const assertions = view.assertions ?? [];
  if (assertions.length === 0) return null;
  return (
    <Section id="assertions" title="Assertions" lead="Held against the interval: it holds or is broken where the whole interval lies on one side of the limit.">
      <Table label="Assertions">
        <thead>
          <tr><th scope="col">assertion</th><th scope="col">outcome</th><th scope="col">because</th></tr>
        </thead>
        <tbody>
          {assertions.map((item) => (
            <tr key={item.text}>
              <td><code>{item.text}</code></td>
              <td>{item.outcome === "broken" ? <b>▲ broken</b> : item.outcome}</td>
              <td class="words">{item.because}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}
