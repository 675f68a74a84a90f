// What each thing compared adds: pictures of the judged metrics.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Layout } from "../layout";
import type { LegendEntry } from "../legend";
import { MARKS, forestPicture, markOf, type Labelled, type Mark, type Side } from "../plot/forest";
import type { Family, MetricHead, Overhead, View } from "../api";
import { Picture } from "./Picture";
import { Choice, Section } from "./Section";
import { Tables } from "./Tables";

const MARK_KEYS: Record<Mark, LegendEntry["shape"]> = {
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
  const seen = new Set(rows.map((row) => markOf(row.overhead)));
  const marks = (Object.keys(MARKS) as Mark[]).filter((mark) => seen.has(mark));
  const keys: LegendEntry[] = marks.map((mark) => ({ label: MARKS[mark].label, color: "var(--ink)", shape: MARK_KEYS[mark] }));
  if (rows.some((row) => row.overhead.margin != null)) keys.push({ label: "margin", color: "var(--band)", shape: "swatch" });
  const direction = head.better === "lower" ? "Left of the line is better." : "Right of the line is better.";
  return <Picture title={props.title} how={`${HOW} ${direction}`} keys={keys} file={`overhead-${side}-${props.title}`} draw={(width) => forestPicture(rows, side, head.unit, width)} />;
}

function Forests({ view, layout, family, side }: { view: View; layout: Layout; family: Family; side: Side }): JSX.Element | null {
  const panels = view.metrics.flatMap((head) => {
    const rows = rowsOf(view, layout, head.metric, family);
    return rows.length === 0 ? [] : [{ head, rows, title: titleOf(head, rows, view, family) }];
  });
  if (panels.length === 0) return null;
  return (
    <div class="grid three">
      {panels.map((panel) => <Forest key={panel.title} {...panel} side={side} />)}
    </div>
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
      <Tables view={view} section="Overhead" />
    </Section>
  );
}
