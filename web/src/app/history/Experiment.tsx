// The series of an experiment: their latest change points, and a small chart of each.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { HistoryExperiment, HistoryList, SeriesList, SeriesSummary } from "../../api";
import { change as relative, count, quantity } from "../../format";
import { Section } from "../../section/Section";
import { Await, Growing, Heading } from "../pieces";
import { useResource } from "../resource";
import { keepQuery } from "../router";
import { plural } from "../words";
import { RUNS_MIN, TOO_FEW, date, seriesName, versionsWords } from "./changes";
import { chosen, experimentAt, experimentOf, labelOf, seriesAt, seriesPath, valuesOf, type SeriesFilter } from "./filter";
import { Spark } from "./Spark";

/** Change points that are listed at once. */
const CHANGES_SHOWN = 8;

interface Named {
  experiment: HistoryExperiment;
  /** Whether the series are of several machines, which then need a name. */
  hasMachines: boolean;
}

function nameOf({ key, unit }: SeriesSummary, { experiment, hasMachines }: Named): string {
  return `${seriesName(labelOf(experiment.metrics, key.metric), key, unit)}${hasMachines ? `, machine ${key.machine.slice(0, 6)}` : ""}`;
}

function Changes({ series, named }: { series: readonly SeriesSummary[]; named: Named }): JSX.Element {
  const all = series
    .flatMap((one) => (one.last_change == null ? [] : [{ one, change: one.last_change }]))
    .sort((a, b) => b.change.started_unix_us - a.change.started_unix_us || Math.abs(b.change.change) - Math.abs(a.change.change));
  const items = (some: typeof all) => (
    <ul class="changes">
      {some.map(({ one, change }) => (
        <li key={seriesAt(one.key)} class={change.is_worse ? "worse" : "better"}>
          <a href={seriesAt(one.key)}>{nameOf(one, named)}</a>: <b>{relative(change.change)}</b> {change.is_worse ? "(worse)" : "(better)"} since {date(change.started_unix_us)}
          {change.changed.length > 0 && `, ${versionsWords(change.changed)}`}{one.acknowledged != null && `; acknowledged: ${one.acknowledged}`}
        </li>
      ))}
    </ul>
  );
  if (series.every((one) => one.runs < RUNS_MIN)) return <p class="none">{TOO_FEW}</p>;
  if (all.length === 0) return <p class="none">No change point in {series.length === 1 ? "this series" : `these ${plural(series.length, "series", "series")}`}: no lasting change was found that is larger than the margin.</p>;
  return (
    <>
      {items(all.slice(0, CHANGES_SHOWN))}
      {all.length > CHANGES_SHOWN && <details class="block"><summary>{plural(all.length - CHANGES_SHOWN, "earlier one")}</summary>{items(all.slice(CHANGES_SHOWN))}</details>}
    </>
  );
}

function Card({ one, named }: { one: SeriesSummary; named: Named }): JSX.Element {
  const change = one.last_change;
  return (
    <li class="trend">
      <a href={seriesAt(one.key)}>{nameOf(one, named)}</a>
      <Spark series={one} />
      <p><b>{quantity(one.latest, one.unit)}</b> <span class="quiet">{one.latest_change == null ? "the only run" : `last run, ${relative(one.latest_change)}`}</span></p>
      <p class="quiet">{plural(one.runs, "run")}{change == null ? (one.runs < RUNS_MIN ? ", too few for a change point" : ", no change point") : <>, <span class={change.is_worse ? "bad" : "good"}>{relative(change.change)}</span> since {date(change.started_unix_us)}</>}</p>
    </li>
  );
}

function Select({ label, value, all, options, change }: { label: string; value: string; all: string; options: readonly { value: string; label: string }[]; change: (value: string) => void }): JSX.Element | null {
  // What cannot be chosen otherwise is no choice.
  if (options.length < 2 && value === "") return null;
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">{all}</option>
        {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
      </select>
    </label>
  );
}

/** The page of an experiment; `first` is the filter that its address has. */
export function Experiment({ list, first }: { list: HistoryList; first: SeriesFilter }): JSX.Element {
  const [filter, setFilter] = useState(first);
  const experiment = experimentOf(list, filter);
  const series = useResource<SeriesList>(experiment === undefined ? null : seriesPath(filter));
  const all = series.data?.series ?? [];
  const shown = useMemo(() => chosen(all, filter), [series.data, filter]);
  if (experiment === undefined) {
    return <><Heading title="Not found" name="Not found" /><p class="none">There is no complete {filter.form} run of {filter.experiment}: it was deleted, or the address is wrong. <a href="/history">All experiments</a></p></>;
  }
  const change = (part: Partial<SeriesFilter>) => {
    const next = { ...filter, ...part };
    setFilter(next);
    keepQuery(experimentAt(next));
  };
  const machines = valuesOf(all, "machine");
  const named = { experiment, hasMachines: machines.length > 1 && filter.machine === "" };
  const about = (machine: string) => experiment.machines.find((one) => one.machine === machine)?.about ?? machine;
  const plain = (value: string) => ({ value, label: value });
  return (
    <>
      <p class="crumb"><a href="/history">History</a> / {experiment.experiment}</p>
      <Heading
        title={<>{experiment.experiment}{experiment.form === "quick" && <span class="quiet"> quick</span>}</>}
        name={`History of ${experiment.experiment}`}
        lead={`${plural(experiment.runs, "run")} from ${date(experiment.first_unix_us)} to ${date(experiment.last_unix_us)} on ${experiment.machines.length === 1 ? (experiment.machines[0]?.about ?? "one machine") : plural(experiment.machines.length, "machine")}.`}
      />
      <search class="filters">
        <Select label="Metric" value={filter.metric} all="primary metrics" options={experiment.metrics.map(({ metric, label }) => ({ value: metric, label }))} change={(metric) => change({ metric })} />
        <Select label="Arm" value={filter.arm} all="all" options={valuesOf(all, "arm").map(plain)} change={(arm) => change({ arm })} />
        <Select label="Level" value={filter.level} all="all" options={valuesOf(all, "level").map(plain)} change={(level) => change({ level })} />
        <Select label="Machine" value={filter.machine} all="all" options={machines.map((machine) => ({ value: machine, label: `${machine.slice(0, 6)}: ${about(machine)}` }))} change={(machine) => change({ machine })} />
      </search>
      <Await of={series} what="series" back={<a href="/history">All experiments</a>}>
        {() => (
          <>
            <p class="found" role="status">{shown.length === all.length ? plural(all.length, "series", "series") : `${count(shown.length)} of ${plural(all.length, "series", "series")}`}</p>
            {shown.length === 0 ? <p class="none">No series is like that. <button type="button" onClick={() => change({ arm: "", level: "", machine: "" })}>Show all</button></p> : (
              <>
                <Section id="changes" title="Recent change points" lead="The last change point of each series, the latest first: from that run on, the values have another mean. A version that changed there need not be the cause."><Changes series={shown} named={named} />{(series.data?.unmatched ?? []).length > 0 && <ul class="notes">{series.data?.unmatched?.map((said) => <li key={said}>{said}</li>)}</ul>}</Section>
                <Section id="series" title="Series" lead="All runs of each, where there are many the lowest and the highest value of equally many; every chart has a scale of its own, which spans at least 10 %. The percentage is of the median of all runs before the last one. A dashed line is the last change point.">
                  <Growing all={shown} of={JSON.stringify(filter)} look="trends" row={(one) => <Card key={seriesAt(one.key)} one={one} named={named} />} />
                </Section>
              </>
            )}
          </>
        )}
      </Await>
    </>
  );
}
