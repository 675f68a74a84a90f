// What others published, beside ours: a column for each source, a row for each figure, and as a study prints its own.
import type { JSX } from "preact";
import type { PublishedColumns, View } from "../view";
import { Section, Table } from "./Section";

function labelsOf(view: View): Map<string, string> {
  return new Map(view.metrics.map((head) => [head.metric, head.label]));
}

/** A column for each source, headed with its product and version: no product's figure is read as another's. */
function Columns({ all, labels }: { all: PublishedColumns; labels: Map<string, string> }): JSX.Element {
  return (
    <>
      <p class="how">Of the baseline its value, of every other arm what it adds to it.</p>
      <Table label="Published figures by source">
        <thead>
          <tr>
            <td colSpan={2} />
            <th scope="colgroup" colSpan={all.ours.length}>here</th>
            <th scope="colgroup" colSpan={all.theirs.length} class="source">published</th>
          </tr>
          <tr>
            <th scope="col">Level</th>
            <th scope="col">Metric</th>
            {all.ours.map((arm) => <th scope="col" class="n" key={arm}>{arm}</th>)}
            {all.theirs.map((source) => <th scope="col" class="n source" key={source}>{source}</th>)}
          </tr>
        </thead>
        <tbody>
          {all.rows.map((row, index) => (
            <tr key={`${row.level} ${row.metric}`}>
              <td>{all.rows[index - 1]?.level !== row.level && row.level}</td>
              <th scope="row">{labels.get(row.metric) ?? row.metric}</th>
              {row.ours.map((text, place) => <td class="n" key={place}>{text}</td>)}
              {row.theirs.map((text, place) => <td class="n source" key={place}>{text}</td>)}
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

/** What others published, beside ours. */
export function Published({ view }: { view: View }): JSX.Element | null {
  if (view.published.length === 0) return null;
  const labels = labelsOf(view);
  const columns = view.published_columns ?? null;
  const each = (
    <Table label="Published figures beside ours">
      <thead>
        <tr><th scope="col">What</th><th scope="col">Theirs</th><th scope="col">Ours</th><th scope="col">What is not alike</th><th scope="col">Source</th></tr>
      </thead>
      <tbody>
        {view.published.map((item, index) => (
          <tr key={index}>
            <td class="words">{item.arm}{item.against === item.arm ? "" : ` against ${item.against}`}, {labels.get(item.metric) ?? item.metric}{item.level == null ? "" : `, ${item.level}`}</td>
            <td class="words">{item.theirs}</td>
            <td class="words">{item.ours}</td>
            <td class="words">{item.caveat ?? "–"}</td>
            <td class="words source">{item.source}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
  return (
    <Section id="published" title="Published figures beside ours" lead="Other machines, other versions: beside each other, not against each other.">
      {columns === null ? each : (
        <>
          <Columns all={columns} labels={labels} />
          <details class="block">
            <summary>Each figure with what is not alike ({view.published.length})</summary>
            {each}
          </details>
        </>
      )}
    </Section>
  );
}

/** Mean ± standard deviation by the rule of a published study, beside our mean over all blocks. */
export function AsPublished({ view }: { view: View }): JSX.Element | null {
  const all = view.as_published;
  if (all == null) return null;
  const labels = labelsOf(view);
  const starts = (index: number): boolean => {
    const [before, row] = [all.rows[index - 1], all.rows[index]];
    return before?.level !== row?.level || before?.arm !== row?.arm;
  };
  return (
    <Section id="as-published" title="As the published study prints it" lead={`The rule: ${all.rule}. ${all.dropped_text ?? ""}`}>
      <Table label="Mean and standard deviation by the rule of the published study">
        <thead>
          <tr><th scope="col">Level</th><th scope="col">Arm</th><th scope="col">Metric</th><th scope="col" class="n">Mean ± sd</th><th scope="col" class="n">Blocks</th><th scope="col" class="n">Mean of all blocks (95 %)</th></tr>
        </thead>
        <tbody>
          {all.rows.map((row, index) => (
            <tr key={index}>
              <td>{starts(index) && row.level}</td>
              <td>{starts(index) && row.arm}</td>
              <td>{labels.get(row.metric) ?? row.metric}</td>
              <td class="n">{row.text}</td>
              <td class="n">{row.blocks} of {row.blocks_all}</td>
              <td class="n">{row.ours_text}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}
