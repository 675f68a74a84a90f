// The table of figures: each arm at each level, medians over blocks with their range.
import type { JSX } from "preact";
import { MISSING, count, present, range } from "../format";
import type { CellView, LevelView, View } from "../view";
import { Section, Table } from "./Section";

function Value({ cell, metric }: { cell: CellView | undefined; metric: string }): JSX.Element {
  const figure = cell?.figures.find((item) => item.metric === metric);
  if (figure === undefined) return <td class="figure">{MISSING}</td>;
  const known = present(figure.low) && present(figure.high);
  return (
    <td class="figure">
      <span class="value">{figure.text}</span>
      {known && <span class="range">{range(figure.low, figure.high, figure.unit)}</span>}
    </td>
  );
}

function outcomesOf(cell: CellView): string {
  const wrong = cell.outcomes.filter((item) => item.class !== "right");
  return wrong.map((item) => `${count(item.count)} × ${item.class}${item.fault === "none" ? "" : ` (${item.fault})`}`).join(", ");
}

function offered(cell: CellView): JSX.Element {
  if (!present(cell.offered_per_s)) return <>as fast as possible</>;
  return cell.rate_reached || cell.trials_fit === 0 ? <>{count(cell.offered_per_s)}/s</> : <><b>▲ not reached:</b> {count(cell.offered_per_s)}/s</>;
}

interface CountRow {
  title: string;
  show: (cell: CellView, copies: number) => JSX.Element | string;
}

const COUNTS: readonly CountRow[] = [
  { title: "rate asked for", show: offered },
  { title: "right answers", show: (cell) => count(cell.right) },
  {
    title: "errors",
    show: (cell) => (
      <>
        <span class="value">{count(cell.errors)}</span>
        {outcomesOf(cell) !== "" && <span class="range words">{outcomesOf(cell)}</span>}
      </>
    ),
  },
  { title: "unfinished", show: (cell) => count(cell.unfinished) },
  {
    title: "trials counted of made",
    show: (cell, copies) => (
      <>
        <span class="value">{cell.trials_fit} of {cell.trials_made}</span>
        {copies > 0 && <span class="range">{copies} for the noise floor</span>}
        {cell.trials_saturated > 0 && <span class="range">▲ {cell.trials_saturated} saturated</span>}
        {cell.no_verdict != null && <span class="range words">no verdict: {cell.no_verdict}</span>}
      </>
    ),
  },
];

function LevelTable({ view, level }: { view: View; level: LevelView }): JSX.Element {
  const copiesOf = (arm: string) =>
    view.trials.filter((trial) => trial.arm === arm && trial.level === level.name && trial.copy > 0).length;
  const cells = view.arms.map((arm) => level.cells.find((cell) => cell.arm === arm.name));
  return (
    <div class="level">
      <h3>
        {level.name}
        {level.values.length > 0 && <span class="quiet"> {level.values.map(([key, value]) => `${key} ${value}`).join(", ")}</span>}
      </h3>
      {level.beyond_knee != null && <p class="caution"><b aria-hidden="true">▲</b> Beyond the knee of this machine: {level.beyond_knee}</p>}
      <Table label={`Figures, ${level.name}`} class="figures">
        <thead>
          <tr>
            <td />
            {view.arms.map((arm) => (
              <th scope="col" key={arm.name}>
                {arm.name}
                {arm.baseline && <span class="tag">baseline</span>}
                {arm.not_run != null && <span class="tag">not run</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {view.metrics.map((head) => (
            <tr key={head.metric}>
              <th scope="row">{head.label}</th>
              {cells.map((cell, index) => <Value key={index} cell={cell} metric={head.metric} />)}
            </tr>
          ))}
        </tbody>
        <tbody class="counts">
          {COUNTS.map((row) => (
            <tr key={row.title}>
              <th scope="row">{row.title}</th>
              {cells.map((cell, index) => (
                <td class="figure" key={index}>{cell === undefined || cell.trials_made === 0 ? MISSING : row.show(cell, copiesOf(cell.arm))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
      {(level.missing ?? []).map((why) => <p class="how" key={why}>“–”: {why}.</p>)}
    </div>
  );
}

/** The section of figures. */
export function Figures({ view }: { view: View }): JSX.Element {
  return (
    <Section
      id="figures"
      title="Figures"
      lead="Median over blocks; below it, small, the lowest and the highest block. “–”: too few observations, or not measured. “>”: unanswered requests reach into it. CPU is in CPU-seconds per 1000 exchanges."
    >
      <div class="levels">
        {view.levels.map((level) => <LevelTable key={level.name} view={view} level={level} />)}
      </div>
      <details class="block">
        <summary>What the arms are</summary>
        <dl class="rows">
          {view.arms.map((arm) => (
            <div key={arm.name}><dt>{arm.name}</dt><dd>{arm.about}</dd></div>
          ))}
        </dl>
      </details>
    </Section>
  );
}
