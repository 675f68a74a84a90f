// The table of figures: each arm at each level, medians over blocks with their range.
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { MISSING, count, percent, present, range } from "../format";
import type { CellView, LevelView, View } from "../api";
import { Section, Table } from "./Section";
import { TrialAddress } from "./links";

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
  return cell.outcomes.map((item) => `${count(item.count)} × ${item.class}${item.error_source === "none" ? "" : ` (${item.error_source})`}`).join(", ");
}

function offered(cell: CellView): JSX.Element {
  if (!present(cell.offered_per_s)) return <>max rate</>;
  return cell.rate_reached || cell.trials_fit === 0 ? <>{count(cell.offered_per_s)}/s</> : <><b>▲ not reached:</b> {count(cell.offered_per_s)}/s</>;
}

/** The trials behind the figures of a cell. */
function Trials({ view, cell }: { view: View; cell: CellView | undefined }): JSX.Element {
  const trialAt = useContext(TrialAddress);
  const level = view.levels.find((one) => cell !== undefined && one.cells.includes(cell))?.name;
  const trials = view.trials.filter((trial) => trial.arm === cell?.arm && trial.level === level);
  return (
    <td class="figure">
      {trials.length === 0 ? MISSING : trials.map((trial, index) => (
        <span key={trial.trial}>{index > 0 && ", "}<a href={trialAt?.(trial.trial)} aria-label={`Trial ${trial.trial}`}>{trial.trial}</a></span>
      ))}
    </td>
  );
}

interface CountRow {
  title: string;
  show: (cell: CellView, copies: number) => JSX.Element | string;
}

const COUNTS: readonly CountRow[] = [
  { title: "offered rate", show: offered },
  { title: "successful responses", show: (cell) => count(cell.ok) },
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
  { title: "never sent", show: (cell) => count(cell.never_sent ?? 0) },
  { title: "failed", show: (cell) => cell.failed?.text ?? MISSING },
  {
    title: "trials counted of made",
    show: (cell, copies) => (
      <>
        <span class="value">{cell.trials_fit} of {cell.trials_made}</span>
        {copies > 0 && <span class="range">{copies} for the A/A check</span>}
        {cell.trials_saturated > 0 && <span class="range">▲ {cell.trials_saturated} saturated</span>}
      </>
    ),
  },
  { title: "trials repeated", show: (cell) => percent(cell.repeated_share) },
];

/** A column of a table: an arm at a level. */
interface Column {
  key: string;
  head: JSX.Element;
  cell: CellView | undefined;
  /** Trials of its second copy. */
  copies: number;
}

/** Metrics of which something is known in one of these cells. */
function known(view: View, cells: readonly (CellView | undefined)[]): View["metrics"] {
  const has = (metric: string) => cells.some((cell) => cell?.figures.some((item) => item.metric === metric && present(item.value)));
  const optional = new Set(["records-produced", "bytes-produced", "records-consumed", "bytes-consumed"]);
  return view.metrics.filter(({ metric }) => !optional.has(metric) || has(metric));
}

function FiguresTable({ view, label, columns }: { view: View; label: string; columns: Column[] }): JSX.Element {
  const isLinked = useContext(TrialAddress) !== null;
  return (
    <Table label={label} class="figures">
      <thead>
        <tr>
          <td />
          {columns.map(({ key, head }) => <th scope="col" key={key}>{head}</th>)}
        </tr>
      </thead>
      <tbody>
        {known(view, columns.map(({ cell }) => cell)).map((head) => (
          <tr key={head.metric}>
            <th scope="row">{head.label}</th>
            {columns.map(({ key, cell }) => <Value key={key} cell={cell} metric={head.metric} />)}
          </tr>
        ))}
      </tbody>
      <tbody class="counts">
        {COUNTS.map((row) => (
          <tr key={row.title}>
            <th scope="row">{row.title}</th>
            {columns.map(({ key, cell, copies }) => (
              <td class="figure" key={key}>{cell === undefined || cell.trials_made === 0 ? MISSING : row.show(cell, copies)}</td>
            ))}
          </tr>
        ))}
        {isLinked && (
          <tr>
            <th scope="row">trials</th>
            {columns.map(({ key, cell }) => <Trials key={key} view={view} cell={cell} />)}
          </tr>
        )}
      </tbody>
    </Table>
  );
}

function copiesOf(view: View, arm: string, level: string): number {
  return view.trials.filter((trial) => trial.arm === arm && trial.level === level && trial.aa_copy > 0).length;
}

function Head({ view, name }: { view: View; name: string }): JSX.Element {
  const arm = view.arms.find((item) => item.name === name);
  return (
    <>
      {name}
      {arm?.baseline === true && <span class="tag">baseline</span>}
      {arm?.not_run != null && <span class="tag">not run</span>}
    </>
  );
}

function LevelTable({ view, level }: { view: View; level: LevelView }): JSX.Element {
  const columns = view.arms.map(({ name }) => ({
    key: name,
    head: <Head view={view} name={name} />,
    cell: level.cells.find((cell) => cell.arm === name),
    copies: copiesOf(view, name, level.name),
  }));
  return (
    <div class="level">
      <h3>
        {level.name}
        {level.values.length > 0 && <span class="quiet"> {level.values.map(([key, value]) => `${key} ${value}`).join(", ")}</span>}
      </h3>
      {level.beyond_knee != null && <p class="caution"><b aria-hidden="true">▲</b> Beyond the knee of this machine: {level.beyond_knee}</p>}
      <FiguresTable view={view} label={`Figures, ${level.name}`} columns={columns} />
      {(level.missing ?? []).map((why) => <p class="how" key={why}>“–”: {why}.</p>)}
    </div>
  );
}

/** An arm with its levels beside each other. */
function ArmTable({ view, arm }: { view: View; arm: string }): JSX.Element {
  const columns = view.levels.map((level) => ({
    key: level.name,
    head: <>{level.name}</>,
    cell: level.cells.find((cell) => cell.arm === arm),
    copies: copiesOf(view, arm, level.name),
  }));
  return (
    <div class="level">
      <h3><Head view={view} name={arm} /></h3>
      <FiguresTable view={view} label={`Figures, ${arm}`} columns={columns} />
      {view.levels.map((level) => (level.missing ?? []).map((why) => <p class="how" key={`${level.name} ${why}`}>“–” at {level.name}: {why}.</p>))}
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
        {view.compare === "levels"
          ? view.arms.map(({ name }) => <ArmTable key={name} view={view} arm={name} />)
          : view.levels.map((level) => <LevelTable key={level.name} view={view} level={level} />)}
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
