// Failures: comparisons in which exchanges failed, too many for a verdict or more on one side.
import type { JSX } from "preact";
import { MISSING } from "../format";
import type { FailedShare, View } from "../view";
import { Table } from "./Section";

const HEADS = ["Level", "Arm", "Compared with", "Failed", "Failed there", "Difference (95 %)", "No verdict on"];

function Share({ failed }: { failed: FailedShare }): JSX.Element {
  return (
    <td class="words">
      <span class="value">{failed.text}</span>
      {failed.classes !== "" && <span class="range words">{failed.classes}</span>}
    </td>
  );
}

/** The table of failures; nothing where none bears on a verdict. */
export function Failures({ view }: { view: View }): JSX.Element | null {
  const all = view.failures ?? [];
  if (all.length === 0) return null;
  const label = (metric: string) => view.metrics.find((head) => head.metric === metric)?.label ?? metric;
  return (
    <>
      <h3 class="sub">Failures: differences are of the {all[0]?.failed.what} that did not</h3>
      <Table label="What failed">
        <thead>
          <tr>{HEADS.map((head) => <th scope="col" key={head}>{head}</th>)}</tr>
        </thead>
        <tbody>
          {all.map((item) => (
            <tr key={`${item.level} ${item.arm}`}>
              <td>{item.level}</td>
              <td>{item.arm}</td>
              <td>{item.against_level === item.level ? item.against : item.against_level}</td>
              <Share failed={item.failed} />
              <Share failed={item.against_failed} />
              <td class="words">{item.difference_text}</td>
              <td class="words">{item.no_verdict.length === 0 ? MISSING : item.no_verdict.map(label).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}
