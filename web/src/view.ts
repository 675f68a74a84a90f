// The view model of a report. Generated from view.schema.json by `npm run types`; do not edit.

/**
 * State of the statistics of a run.
 */
export type ViewState = "provisional" | "partial" | "complete";
/**
 * Progress of a run.
 */
export type RunProgress = "running" | "complete" | "interrupted" | "failed";
/**
 * Full or quick form of an experiment.
 */
export type Form = "full" | "quick";
/**
 * Kind of a sentence.
 */
export type SentenceKind = "finding" | "warning" | "note";
/**
 * Outcome of an assertion.
 */
export type AssertionOutcome = "passed" | "undecided" | "failed";
/**
 * What is compared.
 */
export type Compare = "arms" | "levels";
/**
 * A metric of a trial. Latencies are over successful exchanges and over unfinished ones at their age, unless stated otherwise.
 */
export type Metric =
  | "mean"
  | "median"
  | "p90"
  | "p99"
  | "p999"
  | "max"
  | "response-median"
  | "response-p99"
  | "service-median"
  | "service-p99"
  | "throughput"
  | "records-produced"
  | "bytes-produced"
  | "records-consumed"
  | "bytes-consumed"
  | "cpu"
  | "cpu-total"
  | "memory"
  | "mesh-cpu"
  | "proxy-cpu"
  | "proxy-memory"
  | "control-plane-cpu"
  | "control-plane-memory";
/**
 * Unit of a metric's value.
 */
export type Unit = "nanoseconds" | "per-second" | "bytes-per-second" | "cpu-seconds-per1000" | "bytes" | "cores";
/**
 * Family of simultaneous intervals.
 */
export type Family = "primary" | "step" | "descriptive";
/**
 * Which direction of a metric is better.
 */
export type Better = "lower" | "higher";
/**
 * Source of an error.
 */
export type ErrorSource = "none" | "target" | "peer" | "client" | "environment";
/**
 * Outcome of a comparison.
 */
export type Outcome =
  | {
      outcome: "differs";
      /**
       * Whether it is smaller than the margin.
       */
      within_margin: boolean;
    }
  | {
      outcome: "same";
    }
  | {
      outcome: "undecided";
      /**
       * Further blocks that would probably decide, if the number is reasonable.
       */
      more_blocks?: number | null;
    }
  | {
      outcome: "descriptive";
    }
  | {
      outcome: "none";
      /**
       * Reason.
       */
      reason: string;
    };
/**
 * Grammatical number of a subject.
 */
export type GrammaticalNumber = "singular" | "plural";
/**
 * An output of a report that shows tables.
 */
export type Output = "terminal" | "markdown" | "page";
/**
 * Kind of the cells of a column.
 */
export type ColumnKind = "group" | "name" | "figure" | "words";
/**
 * Grade of a check.
 */
export type Grade = "ok" | "warning" | "error";

/**
 * Everything that a report shows. Renderers compute no statistics.
 */
export interface View {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  run: RunHead;
  /**
   * Sentences that answer the question, the most important first.
   */
  verdict: Sentence[];
  /**
   * Assertions of the experiment, with their outcomes.
   */
  assertions?: AssertionView[];
  compare: Compare;
  /**
   * Metrics with their labels, in the order of tables.
   */
  metrics: MetricHead[];
  /**
   * Arms in the order of the experiment.
   */
  arms: ArmHead[];
  /**
   * Levels in the order of the experiment.
   */
  levels: LevelView[];
  /**
   * Overheads with their intervals, all levels.
   */
  overheads: Overhead[];
  /**
   * Comparisons affected by failed exchanges: too many for a verdict, or more on one side.
   */
  failures?: FailureView[];
  /**
   * Injected faults and their effects, one entry per cell.
   */
  faults?: FaultView[];
  /**
   * Waterfalls: what each arm of a sequence adds, by level and metric.
   */
  waterfalls?: WaterfallView[];
  /**
   * Metrics by value of the factor, if exactly one factor is varied.
   */
  factors?: FactorView[];
  /**
   * Published figures beside the measured ones.
   */
  published: PublishedView[];
  /**
   * A/A check: the baseline's two measurements compared.
   */
  baseline_check?: BaselineCheck | null;
  /**
   * Noise: scatter between blocks by level and metric, and the smallest difference that can be found.
   */
  noise: Noise[];
  /**
   * Every trial.
   */
  trials: TrialRow[];
  /**
   * Tables, in the order of text outputs.
   */
  tables: Table[];
  /**
   * Files of the run that could not be read, each with a reason.
   */
  unreadable_files: string[];
  /**
   * Machine, versions and settings, in groups.
   */
  facts: FactGroup[];
  /**
   * Checks of the machine.
   */
  checks: Check[];
  /**
   * The plan as YAML.
   */
  plan_text: string;
}
/**
 * Identity and state of a run.
 */
export interface RunHead {
  /**
   * Name of the run folder.
   */
  id: string;
  /**
   * Name of the experiment.
   */
  experiment: string;
  /**
   * Question of the experiment.
   */
  question: string;
  /**
   * Start, RFC 3339.
   */
  started: string;
  /**
   * Duration.
   */
  took_ns: number;
  /**
   * Share of the duration inside windows.
   */
  measuring_share: number;
  state: ViewState;
  progress: RunProgress;
  /**
   * Why it ended, if not as planned.
   */
  end_reason?: string | null;
  form: Form;
  /**
   * Complete blocks.
   */
  blocks_complete: number;
  /**
   * Blocks planned.
   */
  blocks_planned: number;
  /**
   * Command that repeats the run.
   */
  command: string;
  /**
   * Version of Tare.
   */
  tare: string;
}
/**
 * A sentence of the verdict.
 */
export interface Sentence {
  kind: SentenceKind;
  /**
   * Text of the sentence.
   */
  text: string;
}
/**
 * An assertion and its outcome.
 */
export interface AssertionView {
  /**
   * The assertion, as written.
   */
  text: string;
  outcome: AssertionOutcome;
  /**
   * The cell that decided, and its value with the interval.
   */
  reason: string;
}
/**
 * A metric with its label and unit.
 */
export interface MetricHead {
  metric: Metric;
  /**
   * Short name for people.
   */
  label: string;
  unit: Unit;
  family: Family;
  better: Better;
}
/**
 * An arm.
 */
export interface ArmHead {
  /**
   * Name.
   */
  name: string;
  /**
   * Description.
   */
  about: string;
  /**
   * Whether it is the baseline.
   */
  baseline: boolean;
  /**
   * Why it was not run, if so.
   */
  not_run?: string | null;
}
/**
 * One level.
 */
export interface LevelView {
  /**
   * Name.
   */
  name: string;
  /**
   * Key and value of each factor, as texts.
   */
  values: [string, string][];
  /**
   * Why it is beyond the knee of this machine, if so.
   */
  beyond_knee?: string | null;
  /**
   * Cells, one per arm, in the order of arms.
   */
  cells: CellView[];
  /**
   * Why figures of this level are missing, as sentences.
   */
  missing?: string[];
}
/**
 * A cell: one arm at one level, over all its fit trials.
 */
export interface CellView {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Fit trials, the baseline's second measurement excluded.
   */
  trials_fit: number;
  /**
   * Trials measured.
   */
  trials_made: number;
  /**
   * Offered rate; `None`: no fixed rate.
   */
  offered_per_s?: number | null;
  /**
   * Whether every trial reached the offered rate.
   */
  rate_reached: boolean;
  /**
   * Successful exchanges, all trials.
   */
  ok: number;
  /**
   * Failed exchanges, all trials.
   */
  errors: number;
  /**
   * Unfinished exchanges, all trials.
   */
  unfinished: number;
  failed?: FailedShare;
  /**
   * Fit trials flagged as saturated.
   */
  trials_saturated: number;
  /**
   * Share of the planned trials that did not count at first (and were repeated), or are missing.
   */
  repeated_share?: number | null;
  /**
   * Outcomes other than success, all fit trials.
   */
  outcomes: OutcomeCount[];
  /**
   * Metrics of the cell, in the order of `Metric::ALL`.
   */
  figures: Figure[];
  /**
   * Percentiles of `latency`: successful exchanges, and unfinished ones at their age; trials merged.
   */
  latency: CurvePoint[];
  /**
   * Percentiles of `response`, the response time: from the intended start.
   */
  response: CurvePoint[];
  /**
   * Percentiles of `service`, the service time: from sending.
   */
  service: CurvePoint[];
  /**
   * Latency over the time of a trial, per second of intended start, median over blocks.
   */
  over_time: TimePoint[];
  /**
   * Resource usage of each instance.
   */
  parts: PartView[];
  machine?: MachineView;
  generator: GeneratorView;
}
/**
 * Failed exchanges of a cell, over all its fit trials, the baseline's second measurement included.
 */
export interface FailedShare {
  /**
   * Share that failed, was unfinished, or was dropped because the queue was full; `None`: nothing was measured.
   */
  share?: number | null;
  /**
   * The share as text: `3.2 %`, `–`.
   */
  text: string;
  /**
   * Largest error classes and sources: `2.9 % status 503 by the target, 0.3 % reset by the peer`; empty without failures.
   */
  classes: string;
  /**
   * Word for an exchange: `requests`, or `records` where each is one.
   */
  what: string;
  /**
   * Metrics without a verdict because too many exchanges failed.
   */
  no_verdict: Metric[];
}
/**
 * Exchanges of one request with one outcome.
 */
export interface OutcomeCount {
  /**
   * Name of the request.
   */
  request: string;
  /**
   * `ok`, or the error class (`status-503`, `wrong-body`, `timeout`, `reset`, …).
   */
  class: string;
  error_source: ErrorSource;
  /**
   * Number of exchanges.
   */
  count: number;
  /**
   * An example, as a text for people.
   */
  example?: string | null;
}
/**
 * A metric of a cell.
 */
export interface Figure {
  metric: Metric;
  unit: Unit;
  /**
   * Median over blocks; `None`: too few observations.
   */
  value?: number | null;
  /**
   * Whether `value` is a lower bound, because unfinished exchanges enter into it.
   */
  is_lower_bound: boolean;
  /**
   * Lowest value of a block.
   */
  low?: number | null;
  /**
   * Highest value of a block.
   */
  high?: number | null;
  /**
   * Value per block, in order of blocks.
   */
  by_block: (number | null)[];
  /**
   * The value as text, with unit: `0.31 ms`, `> 12 ms`, `–`.
   */
  text: string;
}
/**
 * One point of a percentile curve.
 */
export interface CurvePoint {
  /**
   * Percentile, 0 to 100.
   */
  percentile: number;
  /**
   * Value.
   */
  value_ns: number;
  /**
   * Whether the value is a lower bound, because unfinished exchanges enter into it.
   */
  is_lower_bound: boolean;
}
/**
 * One point of a latency-over-time chart.
 */
export interface TimePoint {
  /**
   * Time since the start of the window.
   */
  offset_ns: number;
  /**
   * Median.
   */
  p50_ns?: number | null;
  /**
   * 99th percentile.
   */
  p99_ns?: number | null;
  /**
   * Maximum.
   */
  max_ns?: number | null;
}
/**
 * Resource usage of an instance, medians over blocks.
 */
export interface PartView {
  /**
   * Instance.
   */
  instance: string;
  /**
   * Role: `app`, `agent`, `sidecar`, `gateway`, …, `link`, `conductor`.
   */
  role: string;
  /**
   * Software and version.
   */
  software: string;
  /**
   * CPU-seconds per 1000 completed exchanges.
   */
  cpu_s_per_1000?: number | null;
  /**
   * Cores used, on average.
   */
  cores?: number | null;
  /**
   * Peak resident memory.
   */
  rss_peak_bytes?: number | null;
  /**
   * Mean resident memory.
   */
  rss_mean_bytes?: number | null;
  /**
   * Run-queue wait: time runnable but not running, per second.
   */
  run_queue_wait_share?: number | null;
  /**
   * Context switches per 1000 exchanges.
   */
  switches_per_1000?: number | null;
  /**
   * Packets per 1000 exchanges.
   */
  packets_per_1000?: number | null;
  /**
   * Packets in and out per second.
   */
  packets_per_s?: number | null;
  /**
   * Bytes written to disk per second.
   */
  disk_write_per_s?: number | null;
  /**
   * Bytes written to disk within the window.
   */
  disk_write_bytes?: number | null;
  /**
   * Share of the window throttled by a CPU limit.
   */
  throttled_share?: number | null;
}
/**
 * Resource usage of the machine within the windows.
 */
export interface MachineView {
  /**
   * Share of all cores' time in softirq (receiving packets).
   */
  softirq_share?: number | null;
  /**
   * Share of all cores' time stolen by the hypervisor.
   */
  steal_share?: number | null;
  /**
   * Busy share of the parts' cores, background load and other arms included.
   */
  target_cores_busy?: number | null;
  /**
   * Share of the parts' cores used by background load; of all cores where agents have none of their own.
   */
  background_target_share?: number | null;
  /**
   * Share of the agents' cores used by background load.
   */
  background_agent_share?: number | null;
  /**
   * Share of the parts' cores used by instances of other arms; of all cores where agents have none of their own.
   */
  other_arms_share?: number | null;
  /**
   * Busy share of the busiest core.
   */
  busiest_core?: number | null;
  /**
   * Share of the window in which a part was throttled by a CPU limit, worst part.
   */
  throttled_share?: number | null;
}
/**
 * Measurement error of the generator in a cell.
 */
export interface GeneratorView {
  /**
   * Median lateness, median over blocks.
   */
  lateness_p50_ns?: number | null;
  /**
   * 99th percentile of lateness, worst block.
   */
  lateness_p99_ns?: number | null;
  /**
   * Share of bunched starts, all trials.
   */
  bunched_share?: number | null;
  /**
   * 99th percentile of receive lag, worst block.
   */
  receive_lag_p99_ns?: number | null;
  /**
   * Lateness by percentile, trials merged.
   */
  lateness: CurvePoint[];
  /**
   * Busy share of the agents' cores, spinning excluded.
   */
  agent_cpu_share?: number | null;
  counts: GeneratorCounts;
}
/**
 * Counters of the generator, of exchanges intended in the window.
 */
export interface GeneratorCounts {
  /**
   * Responses with a kernel timestamp.
   */
  kernel_timestamps: number;
  /**
   * Responses with a timestamp of the agent's clock, because the kernel gave none.
   */
  user_timestamps: number;
  /**
   * Kernel timestamps taken with other exchanges in flight on the connection: upper bounds.
   */
  timestamp_upper_bounds: number;
  /**
   * Responses with a timestamp before their request was sent: the clocks disagree, and their service time counts as 0.
   */
  timestamps_before_send: number;
  /**
   * Values outside of the histograms' range.
   */
  out_of_range: number;
}
/**
 * Overhead: the difference between a cell and the one it is compared with.
 */
export interface Overhead {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Arm that it is compared with.
   */
  against: string;
  /**
   * Level that it is compared with; differs only when levels are compared.
   */
  against_level: string;
  metric: Metric;
  unit: Unit;
  family: Family;
  /**
   * Value of the baseline.
   */
  base?: number | null;
  /**
   * Difference in the metric's unit.
   */
  added?: Interval | null;
  /**
   * Ratio to the baseline.
   */
  ratio?: Interval | null;
  outcome: Outcome;
  /**
   * Number of complete pairs (blocks).
   */
  pairs: number;
  /**
   * Margin relative to this baseline: the larger of the relative and the absolute margin.
   */
  margin?: number | null;
  /**
   * The margin as it was declared: `5 %`, `20 µs`.
   */
  margin_text: string;
  /**
   * A sentence if one of the two was repeated far more often than the other.
   */
  repeats?: string | null;
  /**
   * Difference with interval as text: `+0.31 ms (0.28–0.34)`, `–`.
   */
  added_text: string;
  /**
   * Relative difference with interval as text: `+48 % (43–53)`, `–`.
   */
  ratio_text: string;
  /**
   * Outcome as text: `differs`, `changes by less than 5 %`, `undecided; about 4 more blocks would tell`.
   */
  outcome_text: string;
}
/**
 * An estimate with its interval; there is no interval below three blocks.
 */
export interface Interval {
  /**
   * Estimate.
   */
  estimate: number;
  /**
   * Lower end.
   */
  low?: number | null;
  /**
   * Upper end.
   */
  high?: number | null;
}
/**
 * A comparison in which one cell failed too often for a verdict, or more often than the other.
 */
export interface FailureView {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Arm that it is compared with.
   */
  against: string;
  /**
   * Level that it is compared with; differs only when levels are compared.
   */
  against_level: string;
  failed: FailedShare;
  against_failed: FailedShare;
  /**
   * Difference of the two shares within blocks, with its unadjusted 95 % interval.
   */
  difference?: Interval | null;
  /**
   * The difference as text, where its interval excludes 0: `3.2 percentage points (3.0–3.4) more`; else `–`.
   */
  difference_text: string;
  /**
   * Metrics with verdicts or waterfalls that have no verdict because of failures.
   */
  no_verdict: Metric[];
}
/**
 * A cell with faults.
 */
export interface FaultView {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Faults and their effects, as sentences.
   */
  sentences: string[];
  /**
   * Faults, with median times.
   */
  faults: FaultMark[];
  /**
   * Throughput and latency over time, since the start of the window.
   */
  series: FaultSample[];
  /**
   * Every trial, in order.
   */
  trials: FaultTrial[];
}
/**
 * A fault.
 */
export interface FaultMark {
  /**
   * Label: `kill broker`.
   */
  label: string;
  /**
   * Start of the action since the start of the window, median over trials.
   */
  began_ns: number;
  /**
   * End of the action since the start of the window, median over the trials in which it ended.
   */
  done_ns?: number | null;
}
/**
 * A sample, medians over trials unless a field says otherwise.
 */
export interface FaultSample {
  /**
   * End of the sample, since the start of the window.
   */
  offset_ns: number;
  /**
   * Length of the sample.
   */
  length_ns: number;
  /**
   * Successful responses per second that arrived in it.
   */
  ok_per_s: number;
  /**
   * Errors that arrived in it, all trials.
   */
  errors: number;
  /**
   * Highest latency of a response that arrived in it.
   */
  slowest_ns?: number | null;
}
/**
 * A trial with faults.
 */
export interface FaultTrial {
  /**
   * Number.
   */
  trial: number;
  /**
   * Faults with subject and time: `kill broker-2 at 5.00 s`.
   */
  done: string;
  /**
   * Longest outage: time without a successful response, from the first fault on, at the resolution of samples.
   */
  outage_ns?: number | null;
  /**
   * Highest latency of the window.
   */
  slowest_ns?: number | null;
  /**
   * Requests retried.
   */
  retried?: number | null;
  /**
   * Failed and unfinished exchanges of the window.
   */
  errors: number;
  /**
   * Result of reading records back, if that was done.
   */
  read_back?: ReadBackView | null;
}
/**
 * Result of reading records back.
 */
export interface ReadBackView {
  /**
   * Records acknowledged.
   */
  acknowledged: number;
  /**
   * Records read back.
   */
  read: number;
  /**
   * Records acknowledged, but not stored.
   */
  lost: number;
  /**
   * Copies of a record beyond the first.
   */
  duplicated: number;
}
/**
 * Waterfall of one metric at one level. Only metrics that add up: means and amounts, not quantiles.
 */
export interface WaterfallView {
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  /**
   * Short name of the metric.
   */
  label: string;
  unit: Unit;
  /**
   * Sequences; the first is the main one, the others check it.
   */
  sequences: WaterfallSequence[];
  /**
   * Components that more than one sequence adds as a single step.
   */
  parts: WaterfallPart[];
  /**
   * Comparison of the other sequences with the first, as sentences.
   */
  checks: string[];
}
/**
 * A sequence of arms.
 */
export interface WaterfallSequence {
  /**
   * Name of the sequence.
   */
  name: string;
  /**
   * The arms as text: `direct → client-sidecar → both-sidecars`.
   */
  order: string;
  /**
   * Number of blocks in which every arm of the sequence was measured; all figures are of these.
   */
  blocks: number;
  /**
   * Why nothing can be shown, if so.
   */
  missing?: string | null;
  /**
   * First arm.
   */
  first: string;
  /**
   * Mean of the first arm.
   */
  start?: number | null;
  /**
   * That mean as text.
   */
  start_text: string;
  /**
   * Mean of the last arm.
   */
  end?: number | null;
  /**
   * That mean as text.
   */
  end_text: string;
  /**
   * Steps; their differences add up to `total`.
   */
  steps: WaterfallStep[];
  /**
   * Last arm minus first, with its unadjusted 95 % interval.
   */
  total?: Interval | null;
  /**
   * The total as text.
   */
  total_text: string;
}
/**
 * A step from one arm to the next.
 */
export interface WaterfallStep {
  /**
   * Arm of the step.
   */
  arm: string;
  /**
   * Arm before it.
   */
  against: string;
  /**
   * What the arm adds, as text.
   */
  what: string;
  number: GrammaticalNumber;
  /**
   * Mean of the arm before: start of the bar.
   */
  from?: number | null;
  /**
   * Mean of the arm: end of the bar.
   */
  to?: number | null;
  /**
   * Difference with its unadjusted 95 % interval.
   */
  added?: Interval | null;
  /**
   * The difference as text.
   */
  added_text: string;
  /**
   * Share of the total, as text.
   */
  share_text: string;
}
/**
 * A component that several sequences add as a single step.
 */
export interface WaterfallPart {
  /**
   * Name of the component.
   */
  what: string;
  /**
   * What it adds in each sequence, in their order; `–` where it is not a step.
   */
  added_texts: string[];
}
/**
 * A metric by value of the only factor with several values.
 */
export interface FactorView {
  /**
   * Key of the factor: `load.rate`, `workload.replicas`.
   */
  factor: string;
  metric: Metric;
  /**
   * Short name of the metric.
   */
  label: string;
  unit: Unit;
  /**
   * A line per measured arm.
   */
  lines: FactorLine[];
}
/**
 * An arm over the values of the factor.
 */
export interface FactorLine {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Points, in the order of levels.
   */
  points: FactorPoint[];
}
/**
 * An arm at one value of the factor.
 */
export interface FactorPoint {
  /**
   * Level.
   */
  level: string;
  /**
   * Value of the factor, if it is a number.
   */
  at?: number | null;
  /**
   * Mean over blocks with its unadjusted 95 % interval; `None`: not measured, or only a lower bound is known.
   */
  value?: Interval | null;
  /**
   * The mean and interval as text.
   */
  text: string;
  /**
   * Whether the cores of the parts or of the agents were saturated in most trials: effects cannot show there.
   */
  saturated?: boolean;
  /**
   * A published ratio to the first level, applied to the measured first level.
   */
  published?: number | null;
}
/**
 * A published figure beside the measured one.
 */
export interface PublishedView {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Arm that it is relative to.
   */
  against: string;
  /**
   * Level.
   */
  level?: string | null;
  metric: Metric;
  /**
   * Published figure as text, with unit.
   */
  published: string;
  /**
   * Measured figure as text, with unit and interval.
   */
  measured: string;
  /**
   * Source.
   */
  source: string;
  /**
   * Differences between the two setups.
   */
  caveat?: string | null;
}
/**
 * Result of the A/A check, with intervals that are simultaneous over all comparisons.
 */
export interface BaselineCheck {
  /**
   * Comparisons with an interval: levels × primary metrics.
   */
  comparisons: number;
  /**
   * Comparisons that show a difference.
   */
  differences: BaselineDifference[];
}
/**
 * A difference between the baseline's two measurements.
 */
export interface BaselineDifference {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  ratio: Interval;
  /**
   * The ratio as text: `+12 % (8–16)`.
   */
  ratio_text: string;
  /**
   * Whether it exceeds the margin, which puts verdicts of that size in doubt.
   */
  passes_margin: boolean;
}
/**
 * Noise of one metric: scatter between blocks.
 */
export interface Noise {
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  /**
   * Residual standard deviation of the log-ratios.
   */
  residual?: number | null;
  /**
   * Smallest relative difference that this design would find (minimum detectable difference).
   */
  minimum_detectable?: number | null;
}
/**
 * A trial in the list of trials.
 */
export interface TrialRow {
  /**
   * Number of the trial.
   */
  trial: number;
  /**
   * Block.
   */
  block: number;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Level.
   */
  level: string;
  /**
   * 0, or 1 for the second measurement of the baseline.
   */
  aa_copy: number;
  /**
   * 0, or 1 for a repetition.
   */
  attempt: number;
  /**
   * Status: `fit`, `unfit`, `invalid`, `failed`, `superseded`.
   */
  status: string;
  /**
   * Reasons, if not fit.
   */
  reasons: string[];
  /**
   * Start, since the start of the run.
   */
  offset_ns: number;
  /**
   * Duration from its start to its record.
   */
  took_ns: number;
  /**
   * Whether it is flagged as saturated.
   */
  saturated: boolean;
  /**
   * Median of `latency`.
   */
  p50_ns?: number | null;
  /**
   * 99th percentile of `latency`.
   */
  p99_ns?: number | null;
  /**
   * Successful exchanges per second.
   */
  throughput_per_s?: number | null;
  /**
   * 99th percentile of lateness.
   */
  lateness_p99_ns?: number | null;
  /**
   * Path checks passed.
   */
  proofs_held: number;
  /**
   * Path checks made.
   */
  proofs_made: number;
}
/**
 * A table. Every output shows the same texts; CSV has the values behind them.
 */
export interface Table {
  /**
   * Identifier: `pods`. Tables that differ only in level, arm or layout share it.
   */
  id: string;
  /**
   * Heading of its section on the page: `Network and host`.
   */
  section: string;
  /**
   * Title; in text outputs it follows the level and a colon, unless it is empty or begins with a space.
   */
  title: string;
  /**
   * Level, if each level has a table of its own.
   */
  level?: string | null;
  /**
   * Layout: 0 is the widest. A terminal shows the first that fits, other outputs the widest.
   */
  layout?: number;
  /**
   * How to read it; on the page only.
   */
  note?: string | null;
  /**
   * Outputs that show it.
   */
  outputs: Output[];
  /**
   * Columns.
   */
  columns: TableColumn[];
  /**
   * Rows; each has a cell per column.
   */
  rows: TableRow[];
  /**
   * Sentences below it.
   */
  footnotes?: string[];
}
/**
 * A column.
 */
export interface TableColumn {
  /**
   * Head.
   */
  label: string;
  kind: ColumnKind;
  /**
   * Step at which a narrow terminal omits it; 0: never.
   */
  omit?: number;
  /**
   * Outputs that show it, if not all that show the table.
   */
  outputs?: Output[];
  /**
   * Name of its values in CSV, with `{}` for the subject of the row; `None`: they are not in CSV.
   */
  metric?: string | null;
  /**
   * Unit of its values in CSV.
   */
  unit?: string | null;
}
/**
 * A row.
 */
export interface TableRow {
  /**
   * Arm in CSV.
   */
  arm?: string | null;
  /**
   * What its values are of, in CSV: `pod server`.
   */
  subject?: string | null;
  /**
   * Unit of its values in CSV, if not that of the column.
   */
  unit?: string | null;
  /**
   * Cells.
   */
  cells: TableCell[];
}
/**
 * A cell.
 */
export interface TableCell {
  /**
   * Text; `–` where the value is unknown.
   */
  text: string;
  /**
   * Value behind the text.
   */
  value?: number | null;
  /**
   * Less important text: small on the page, in brackets elsewhere.
   */
  detail?: string;
  /**
   * Whether the page marks it: a failed assertion, a trial that does not count.
   */
  marked?: boolean;
}
/**
 * A titled list of facts.
 */
export interface FactGroup {
  /**
   * Title.
   */
  title: string;
  /**
   * Name and value.
   */
  facts: [string, string][];
}
/**
 * A check of the machine.
 */
export interface Check {
  /**
   * Name of the check: `timer`, `governor`, `descriptors`.
   */
  name: string;
  /**
   * Finding, with its unit.
   */
  found: string;
  /**
   * Value of the finding, if it is a number.
   */
  value?: number | null;
  /**
   * Unit of the value.
   */
  unit?: string | null;
  grade: Grade;
  /**
   * What it means for measurements and how to mend it, unless the grade is ok.
   */
  advice?: string | null;
}
