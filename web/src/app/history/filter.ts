// Which series of a history: addresses of the pages, paths below the API, and the choices that a reader has.
import type { Form, HistoryExperiment, HistoryList, Metric, MetricHead, SeriesKey, SeriesSummary } from "../../api";

/** Which series of an experiment; an empty text: all of them, and the primary metrics. */
export interface SeriesFilter {
  experiment: string;
  form: Form;
  metric: string;
  arm: string;
  level: string;
  machine: string;
}

/** Parts of a filter beside the experiment, in the order of addresses. */
const PARTS = ["form", "metric", "arm", "level", "machine"] as const;

/** Most runs of a series that the server sends. */
export const RUNS_MAX = 10_000;

/** The filter that an address has; `null` without an experiment. */
export function filterOf(query: URLSearchParams): SeriesFilter | null {
  const experiment = query.get("experiment");
  if (experiment === null || experiment === "") return null;
  const part = (name: string) => query.get(name) ?? "";
  return { experiment, form: part("form") === "quick" ? "quick" : "full", metric: part("metric"), arm: part("arm"), level: part("level"), machine: part("machine") };
}

/** An experiment, and which of its series. */
type Wanted = Pick<SeriesFilter, "experiment" | "form"> & Partial<SeriesFilter>;

function queryOf(filter: Wanted, names: readonly (typeof PARTS)[number][]): string {
  const query = new URLSearchParams({ experiment: filter.experiment });
  for (const name of names) {
    const value = filter[name] ?? "";
    if (value !== "") query.set(name, value);
  }
  return query.toString();
}

/** The address of an experiment's page. */
export function experimentAt(filter: Wanted): string {
  return `/history/experiment?${queryOf(filter, PARTS)}`;
}

/** The address of the page of one series: all parts are named, those without a name as well. */
export function seriesAt(key: SeriesKey): string {
  return `/history/series?${new URLSearchParams({ ...key }).toString()}`;
}

/** Where the server has the series of an experiment; the page chooses among arms, levels and machines. */
export function seriesPath(filter: SeriesFilter): string {
  return `history/series?${queryOf(filter, ["form", "metric"])}&changes=true`;
}

/** Where the server has one series with its runs. */
export function pointsPath(query: URLSearchParams): string {
  const wanted = new URLSearchParams([...query].filter(([name]) => name === "experiment" || (PARTS as readonly string[]).includes(name)));
  return `history/points?${wanted.toString()}&last=${RUNS_MAX}`;
}

/** The series that a filter names, of those of its experiment. */
export function chosen(series: readonly SeriesSummary[], filter: SeriesFilter): readonly SeriesSummary[] {
  const fits = (wanted: string, found: string) => wanted === "" || wanted === found;
  return series.filter(({ key }) => fits(filter.arm, key.arm) && fits(filter.level, key.level) && fits(filter.machine, key.machine));
}

/** Values of a part among the series, each once, in their order. */
export function valuesOf(series: readonly SeriesSummary[], part: "arm" | "level" | "machine"): string[] {
  return [...new Set(series.map(({ key }) => key[part]))];
}

/** The experiment of a filter in the list. */
export function experimentOf(list: HistoryList, filter: SeriesFilter): HistoryExperiment | undefined {
  return list.experiments.find((one) => one.experiment === filter.experiment && one.form === filter.form);
}

/** Name of a metric for people. */
export function labelOf(metrics: readonly MetricHead[], metric: Metric): string {
  return metrics.find((one) => one.metric === metric)?.label ?? metric;
}
