// What each thing compared adds: pictures of the judged metrics, and a table of every comparison.
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { MISSING, percent } from "../format";
import type { Layout } from "../layout";
import type { Key } from "../legend";
import { MARKS, forestPicture, markOf, type Labelled, type Mark, type Side } from "../plot/forest";
import type { Family, MetricHead, Overhead, View } from "../view";
import { Failures } from "./Failures";
import { Picture } from "./Picture";
import { Choice, Section, Table } from "./Section";

const MARK_KEYS: Record<Mark, Key["shape"]> = {
  differs: "diamond",
  "differs-little": "diamond-open",
  same: "circle-open",
  undecided: "times",
  plain: "square",
};

const HOW = "How to read: mark: estimate; bar: 95 % interval; upright line: no difference; grey band: too small to matter (the margin).";

/** Names, groups and colours of the comparisons of one family and metric. */
function rowsOf(view: View, layout: Layout, metric: string, family: Family): Labelled[] {
  const chosen = view.overheads.filter((item) => item.metric === metric && item.family === family);
  const groupOf = (item: Overhead) => (view.compare === "levels" ? item.arm : item.level);
  const nameOf = (item: Overhead) => (view.compare === "levels" ? item.level : item.arm);
  const againstOf = (item: Overhead) => (view.compare === "levels" ? item.against_level : item.against);
  const groups = [...new Set(chosen.map(groupOf))];
  return groups.flatMap((group) =>
    chosen
      .filter((item) => groupOf(item) === group)
      .map((overhead, index) => ({
        overhead,
        group: index === 0 ? group : null,
        name: family === "step" ? `${nameOf(overhead)} over ${againstOf(overhead)}` : nameOf(overhead),
        color: layout.inks.get(nameOf(overhead))?.color ?? "var(--ink)",
      })),
  );
}

function titleOf(head: MetricHead, rows: readonly Labelled[], view: View, family: Family): string {
  // "p99" stays as it is.
  const name = /^p\d/.test(head.label) ? head.label : head.label.charAt(0).toUpperCase() + head.label.slice(1);
  if (family === "step") return `${name}: incremental overhead`;
  const first = rows[0]?.overhead;
  const against = first === undefined ? "the baseline" : view.compare === "levels" ? first.against_level : first.against;
  return `${name}: difference from ${against}`;
}

function Forest(props: { head: MetricHead; rows: Labelled[]; side: Side; title: string }): JSX.Element {
  const { head, rows, side } = props;
  const draw = useCallback((width: number) => forestPicture(rows, side, head.unit, width), [rows, side, head.unit]);
  const seen = new Set(rows.map((row) => markOf(row.overhead)));
  const marks = (Object.keys(MARKS) as Mark[]).filter((mark) => seen.has(mark));
  const keys: Key[] = marks.map((mark) => ({ label: MARKS[mark].label, color: "var(--ink)", shape: MARK_KEYS[mark] }));
  if (rows.some((row) => row.overhead.margin != null)) keys.push({ label: "margin", color: "var(--band)", shape: "swatch" });
  const direction = head.better === "lower" ? "Left of the line is better." : "Right of the line is better.";
  return <Picture title={props.title} how={`${HOW} ${direction}`} keys={keys} file={`overhead-${side}-${props.title}`} draw={draw} />;
}

function Forests({ view, layout, family, side }: { view: View; layout: Layout; family: Family; side: Side }): JSX.Element | null {
  const panels = useMemo(
    () =>
      view.metrics.flatMap((head) => {
        const rows = rowsOf(view, layout, head.metric, family);
        return rows.length === 0 ? [] : [{ head, rows, title: titleOf(head, rows, view, family) }];
      }),
    [view, layout, family],
  );
  if (panels.length === 0) return null;
  return (
    <div class="grid three">
      {panels.map((panel) => <Forest key={panel.title} {...panel} side={side} />)}
    </div>
  );
}

function AllDifferences({ view }: { view: View }): JSX.Element {
  const labels = new Map(view.metrics.map((head) => [head.metric, head.label]));
  return (
    <details class="block">
      <summary>Every comparison as a table ({view.overheads.length})</summary>
      <Table label="Every comparison">
        <thead>
          <tr>
            <th scope="col">Level</th><th scope="col">Arm</th><th scope="col">Compared with</th><th scope="col">Metric</th>
            <th scope="col">Difference (95 %)</th><th scope="col">Relative (95 %)</th><th scope="col">Margin</th>
            <th scope="col" class="n">Pairs</th><th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {view.overheads.map((item, index) => (
            <tr key={index}>
              <td>{item.level}</td>
              <td>{item.arm}</td>
              <td>{item.against_level === item.level ? item.against : `${item.against}, ${item.against_level}`}</td>
              <td>{labels.get(item.metric) ?? item.metric}</td>
              <td class="figure">{item.added_text}</td>
              <td class="figure">{item.ratio_text}</td>
              <td class="figure">{item.margin == null ? MISSING : `± ${percent(item.margin)}`}</td>
              <td class="n">{item.pairs}</td>
              <td class="words">{item.outcome_text}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </details>
  );
}

/** The section of differences. */
export function Overheads({ view, layout }: { view: View; layout: Layout }): JSX.Element {
  const [side, setSide] = useState<Side>(view.compare === "levels" ? "ratio" : "added");
  const tools = (
    <Choice
      legend="Shown as"
      name="side"
      options={[{ value: "added", label: "difference" }, { value: "ratio", label: "per cent" }]}
      value={side}
      choose={setSide}
    />
  );
  const has = (family: Family) => view.overheads.some((item) => item.family === family);
  return (
    <Section
      id="overhead"
      title={view.compare === "levels" ? "Against the first level" : "Overhead"}
      lead="Differences within the same block, with simultaneous 95 % intervals for the judged metrics."
      tools={tools}
    >
      {!has("primary") && <p class="none">No comparison can be made yet.</p>}
      <Failures view={view} />
      <Forests view={view} layout={layout} family="primary" side={side} />
      {has("step") && (
        <>
          <h3 class="sub">Incremental overhead: each arm against the one that it extends</h3>
          <Forests view={view} layout={layout} family="step" side={side} />
        </>
      )}
      {has("descriptive") && (
        <details class="block">
          <summary>Other metrics, described but not judged</summary>
          <Forests view={view} layout={layout} family="descriptive" side={side} />
        </details>
      )}
      {view.overheads.length > 0 && <AllDifferences view={view} />}
    </Section>
  );
}
