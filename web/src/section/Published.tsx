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
            <th scope="colgroup" colSpan={all.measured.length}>here</th>
            <th scope="colgroup" colSpan={all.published.length} class="source">published</th>
          </tr>
          <tr>
            <th scope="col">Level</th>
            <th scope="col">Metric</th>
            {all.measured.map((arm) => <th scope="col" class="n" key={arm}>{arm}</th>)}
            {all.published.map((source) => <th scope="col" class="n source" key={source}>{source}</th>)}
          </tr>
        </thead>
        <tbody>
          {all.rows.map((row, index) => (
            <tr key={`${row.level} ${row.metric}`}>
              <td>{all.rows[index - 1]?.level !== row.level && row.level}</td>
              <th scope="row">{labels.get(row.metric) ?? row.metric}</th>
              {row.measured.map((text, place) => <td class="n" key={place}>{text}</td>)}
              {row.published.map((text, place) => <td class="n source" key={place}>{text}</td>)}
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

/** Published figures beside the measured ones. */
export function Published({ view }: { view: View }): JSX.Element | null {
  if (view.published.length === 0) return null;
  const labels = labelsOf(view);
  const columns = view.published_columns ?? null;
  const each = (
    <Table label="Published and measured figures">
      <thead>
        <tr><th scope="col">What</th><th scope="col">Published</th><th scope="col">Measured</th><th scope="col">Caveats</th><th scope="col">Source</th></tr>
      </thead>
      <tbody>
        {view.published.map((item, index) => (
          <tr key={index}>
            <td class="words">{item.arm}{item.against === item.arm ? "" : ` against ${item.against}`}, {labels.get(item.metric) ?? item.metric}{item.level == null ? "" : `, ${item.level}`}</td>
            <td class="words">{item.published}</td>
            <td class="words">{item.measured}</td>
            <td class="words">{item.caveat ?? "–"}</td>
            <td class="words source">{item.source}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
  return (
    <Section id="published" title="Published and measured figures" lead="Measured on other machines and with other versions: shown beside each other, not compared.">
      {columns === null ? each : (
        <>
          <Columns all={columns} labels={labels} />
          <details class="block">
            <summary>Each figure with its caveats ({view.published.length})</summary>
            {each}
          </details>
        </>
      )}
    </Section>
  );
}

/** Mean ± standard deviation by the rule of a published study, beside our mean over all blocks. */
export function StudySummary({ view }: { view: View }): JSX.Element | null {
  const all = view.study_summary;
  if (all == null) return null;
  const labels = labelsOf(view);
  const starts = (index: number): boolean => {
    const [before, row] = [all.rows[index - 1], all.rows[index]];
    return before?.level !== row?.level || before?.arm !== row?.arm;
  };
  return (
    <Section id="study-summary" title="Statistics of the published study" lead={`The rule: ${all.rule}. ${all.dropped_text ?? ""}`}>
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
              <td class="n">{row.measured_text}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}
