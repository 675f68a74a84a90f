// The view model of a report. Generated from view.schema.json by `npm run types`; do not edit.

/**
 * How much of a run stands behind a view.
 */
export type ViewState = "provisional" | "partial" | "complete";
/**
 * State of a run.
 */
export type RunProgress = "running" | "complete" | "interrupted" | "broken";
/**
 * Full or quick form of an experiment.
 */
export type Form = "full" | "quick";
/**
 * Kind of a sentence.
 */
export type SentenceKind = "finding" | "warning" | "note";
/**
 * What an interval says of an assertion.
 */
export type AssertionOutcome = "holds" | "undecided" | "broken";
/**
 * What differs between the things compared.
 */
export type Compare = "arms" | "levels";
/**
 * One quantity of a trial. Latencies are `latency` over right answers, and
 * over unfinished ones at their age, unless the name says otherwise.
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
  | "records-written"
  | "bytes-written"
  | "records-read"
  | "bytes-read"
  | "cpu"
  | "cpu-total"
  | "memory"
  | "mesh-cpu"
  | "proxy-cpu"
  | "proxy-memory";
/**
 * Unit of a metric's value.
 */
export type Unit = "nanoseconds" | "per-second" | "bytes-per-second" | "cpu-seconds-per1000" | "bytes";
/**
 * Which family an interval belongs to.
 */
export type Family = "primary" | "step" | "descriptive";
/**
 * Which direction of a metric is good.
 */
export type Better = "lower" | "higher";
/**
 * Whose fault an outcome is.
 */
export type Fault = "none" | "target" | "peer" | "client" | "environment";
/**
 * What is said of the latency of a request.
 */
export type RequestColumn = "mean" | "median" | "p90" | "p95" | "p99";
/**
 * Outcome of a comparison.
 */
export type Outcome =
  | {
      outcome: "differs";
      /**
       * … but smaller than what matters.
       */
      within_margin: boolean;
    }
  | {
      outcome: "same";
    }
  | {
      outcome: "undecided";
      /**
       * Blocks that would tell, if a sensible number would.
       */
      more_blocks?: number | null;
    }
  | {
      outcome: "described";
    }
  | {
      outcome: "none";
      /**
       * Why.
       */
      why: string;
    };
/**
 * Whether a subject takes "adds" or "add".
 */
export type GrammaticalNumber = "singular" | "plural";
/**
 * Judgement of a check.
 */
export type Grade = "good" | "limits" | "prevents";

/**
 * Everything that a report shows. No renderer computes a statistic.
 */
export interface View {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  run: RunHead;
  /**
   * The answer, first things first.
   */
  verdict: Sentence[];
  /**
   * What the experiment claims of its result, and whether it holds.
   */
  assertions?: AssertionView[];
  compare: Compare;
  /**
   * Metrics with their names, in the order of tables.
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
   * Level whose requests are shown one by one, if the experiment names one.
   */
  requests_at?: string | null;
  /**
   * Overheads with their intervals, all levels.
   */
  overheads: Overhead[];
  /**
   * Comparisons in which exchanges failed: too many for a verdict, or more on one side.
   */
  failures?: FailureView[];
  /**
   * What was done to test beds during trials, and what came of it; a cell each.
   */
  disturbances?: DisturbanceView[];
  /**
   * What each thing adds to the sum, per level and metric.
   */
  waterfalls?: WaterfallView[];
  /**
   * Metrics against the factor, where exactly one is varied.
   */
  factors?: FactorView[];
  /**
   * What others published.
   */
  published: PublishedView[];
  /**
   * The same with a column for each source, where there are several.
   */
  published_columns?: PublishedColumns | null;
  /**
   * Mean ± standard deviation by a published study's rule, if the experiment asks for it.
   */
  as_published?: AsPublished | null;
  /**
   * The baseline's two copies compared, where it runs twice.
   */
  baseline_check?: BaselineCheck | null;
  /**
   * Scatter from block to block per level and metric, and what can be found in it.
   */
  noise: Noise[];
  /**
   * Every trial.
   */
  trials: TrialRow[];
  /**
   * What lies between every two sites, if there are several.
   */
  distances?: DistanceView[];
  /**
   * Files of the run that could not be read, each with the reason.
   */
  skipped: string[];
  /**
   * Machine, versions and settings.
   */
  facts: FactGroup[];
  /**
   * Checks of the machine.
   */
  checks: Check[];
  /**
   * The plan as YAML, for reading.
   */
  plan_text: string;
}
/**
 * Head of a run.
 */
export interface RunHead {
  /**
   * Folder name.
   */
  id: string;
  /**
   * Experiment.
   */
  experiment: string;
  /**
   * Its question.
   */
  question: string;
  /**
   * Start, RFC 3339.
   */
  started: string;
  /**
   * Length.
   */
  took_ns: number;
  /**
   * Share of that time inside measuring windows.
   */
  measuring_share: number;
  state: ViewState;
  progress: RunProgress;
  /**
   * Why it ended so, in words, if it did not end as planned.
   */
  ended_why?: string | null;
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
   * Command that repeats it.
   */
  command: string;
  /**
   * Version of Tare.
   */
  tare: string;
}
/**
 * One sentence of the verdict.
 */
export interface Sentence {
  kind: SentenceKind;
  /**
   * Its text.
   */
  text: string;
}
/**
 * An assertion and what the run says of it.
 */
export interface AssertionView {
  /**
   * As it was written.
   */
  text: string;
  outcome: AssertionOutcome;
  /**
   * The cell that decided, and its figure with the interval.
   */
  because: string;
}
/**
 * A metric as people see it.
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
   * What it is.
   */
  about: string;
  /**
   * Whether others are compared with it.
   */
  baseline: boolean;
  /**
   * Why it was not run, if it was not.
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
   * Factor key and value, in words.
   */
  values: [string, string][];
  /**
   * Why it lies beyond the knee of this machine, if it does.
   */
  beyond_knee?: string | null;
  /**
   * One cell per arm, in the order of arms.
   */
  cells: CellView[];
  /**
   * Why figures of this level are missing, in sentences.
   */
  missing?: string[];
}
/**
 * One arm at one level, over all its fit trials.
 */
export interface CellView {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Trials that count (the A/A copy not included).
   */
  trials_fit: number;
  /**
   * Trials made.
   */
  trials_made: number;
  /**
   * Rate asked for.
   */
  offered_per_s?: number | null;
  /**
   * Whether that rate was reached in every trial.
   */
  rate_reached: boolean;
  /**
   * Right answers, all trials.
   */
  right: number;
  /**
   * Errors, all trials.
   */
  errors: number;
  /**
   * Unfinished, all trials.
   */
  unfinished: number;
  failed?: FailedShare;
  /**
   * Fit trials in which the parts' cores were busier than the plan's limit.
   */
  trials_saturated: number;
  /**
   * Share of the planned trials that did not count the first time and were repeated, or are missing.
   */
  repeated_share?: number | null;
  /**
   * Every outcome but right answers, all fit trials.
   */
  outcomes: OutcomeCount[];
  /**
   * Each kind of request by itself, where there are several.
   */
  requests?: RequestView[];
  /**
   * Figures, in the order of `Metric::ALL`.
   */
  figures: Figure[];
  /**
   * Latency (`latency`, right answers and unfinished ones at their age, trials merged) by percentile.
   */
  latency: CurvePoint[];
  /**
   * The same for `response`: from the intended start, as this client saw it.
   */
  response: CurvePoint[];
  /**
   * The same for `service`.
   */
  service: CurvePoint[];
  /**
   * Latency over the time of a trial, per second of intended time, median over blocks.
   */
  over_time: TimePoint[];
  /**
   * What each instance consumed.
   */
  parts: PartView[];
  /**
   * What passed through the network of each pod that has one of its own.
   */
  pods?: PodView[];
  /**
   * What crossed each way of each link between sites.
   */
  ways?: WayView[];
  told?: ToldView;
  machine?: MachineView;
  instrument: InstrumentView;
}
/**
 * How many exchanges of a cell failed, over all its fit trials, a second copy of the baseline included.
 */
export interface FailedShare {
  /**
   * Share that ended in an error, was unanswered at the end or found the queue full; `None`: nothing was measured.
   */
  share?: number | null;
  /**
   * The same as people read it: `3.2 %`, `–`.
   */
  text: string;
  /**
   * Its largest classes and whose fault they were: `2.9 % status 503 by the target, 0.3 % reset by the peer`; empty where nothing failed.
   */
  classes: string;
  /**
   * What an exchange is called: `requests`, or `records` where each is one.
   */
  what: string;
  /**
   * Metrics of which the exchanges that are left tell too little for a verdict.
   */
  unjudged: Metric[];
}
/**
 * How many exchanges of one request ended in one way.
 */
export interface OutcomeCount {
  /**
   * Name of the request.
   */
  request: string;
  /**
   * `right`, or the error class (`status-503`, `wrong-body`, `timeout`, `reset`, …).
   */
  class: string;
  fault: Fault;
  /**
   * How many.
   */
  count: number;
  /**
   * One example in words, for people.
   */
  example?: string | null;
}
/**
 * A request, over all fit trials of a cell.
 */
export interface RequestView {
  /**
   * Its name.
   */
  request: string;
  /**
   * It is a whole session, from its start to its end with all pauses.
   */
  whole_session: boolean;
  /**
   * Right answers.
   */
  right: number;
  /**
   * Wrong answers, and none.
   */
  errors: number;
  /**
   * Unanswered when a trial ended.
   */
  unfinished: number;
  /**
   * Latency, in the order of `RequestColumn::ALL`.
   */
  figures: RequestFigure[];
}
/**
 * A figure of a request.
 */
export interface RequestFigure {
  column: RequestColumn;
  /**
   * Median over blocks; `None`: too few observations.
   */
  value_ns?: number | null;
  /**
   * Whether the true value lies above it.
   */
  at_least: boolean;
  /**
   * As people read it.
   */
  text: string;
}
/**
 * One figure of a cell.
 */
export interface Figure {
  metric: Metric;
  unit: Unit;
  /**
   * Median over blocks; `None`: too few observations.
   */
  value?: number | null;
  /**
   * Whether the true value lies above `value` (unanswered exchanges reach into it).
   */
  at_least: boolean;
  /**
   * Lowest block.
   */
  low?: number | null;
  /**
   * Highest block.
   */
  high?: number | null;
  /**
   * Value per block, in order of blocks.
   */
  by_block: (number | null)[];
  /**
   * The value as people read it, with unit: `0.31 ms`, `> 12 ms`, `–`.
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
   * Whether the true value lies above it (unanswered exchanges reach into it).
   */
  at_least: boolean;
}
/**
 * One point of a latency-over-time chart.
 */
export interface TimePoint {
  /**
   * Offset from the start of the window.
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
 * What an instance consumed, medians over blocks.
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
   * Time runnable but not running, per second.
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
   * Bytes written to disk within a window.
   */
  disk_write_bytes?: number | null;
  /**
   * Share of the window throttled by a limit.
   */
  throttled_share?: number | null;
}
/**
 * What passed through the network of a pod, from or to other pods.
 */
export interface PodView {
  /**
   * Pod.
   */
  pod: string;
  /**
   * Packets that came in per 1000 exchanges.
   */
  packets_in_per_1000?: number | null;
  /**
   * Packets that went out per 1000 exchanges.
   */
  packets_out_per_1000?: number | null;
  /**
   * Bytes that came in per exchange, headers included.
   */
  bytes_in_per_exchange?: number | null;
  /**
   * Bytes that went out per exchange, headers included.
   */
  bytes_out_per_exchange?: number | null;
  /**
   * TCP connections opened and accepted in a window.
   */
  tcp_connections?: number | null;
  /**
   * TCP segments sent again in a window.
   */
  tcp_retransmits?: number | null;
  /**
   * The figures as people read them, in this order; `–` where they are not known.
   */
  texts: string[];
}
/**
 * What crossed one way of a link between two sites.
 */
export interface WayView {
  /**
   * Site that sent.
   */
  from: string;
  /**
   * Site that was sent to.
   */
  to: string;
  /**
   * Packets handed over at the other end per 1000 exchanges, as they would be on a wire.
   */
  packets_per_1000?: number | null;
  /**
   * Bytes of them per exchange, IP headers included.
   */
  bytes_per_exchange?: number | null;
  /**
   * Share of the packets that entered which were lost as asked for.
   */
  lost_share?: number | null;
  /**
   * Packets that found the queue before the rate asked for full, in a window.
   */
  queue_full_packets?: number | null;
  /**
   * Packets dropped for want of a buffer or by the kernel, which nobody asked for: of the worst trial.
   */
  unasked_packets?: number | null;
  /**
   * Writes over 200 µs late in a window: the distance was longer than asked for.
   */
  late_pieces?: number | null;
  /**
   * The figures as people read them, in this order; `–` where they are not known.
   */
  texts: string[];
}
/**
 * Figures that parts of one kind give of themselves, from before the first request to after the last answer: warm-up and drain are
 * in them.
 */
export interface ToldView {
  /**
   * The parts.
   */
  instances: string[];
  /**
   * Their figures, in the order in which the target's folder lists them.
   */
  rows: ToldRow[];
}
/**
 * One figure of each part.
 */
export interface ToldRow {
  /**
   * Its name, with what it is of.
   */
  name: string;
  /**
   * Value of each part, in their order.
   */
  values: (number | null)[];
  /**
   * The same as people read them; `–` where a part says nothing.
   */
  texts: string[];
}
/**
 * What the machine as a whole did within the windows.
 */
export interface MachineView {
  /**
   * Share of all cores' time that went into receiving packets (softirq).
   */
  softirq_share?: number | null;
  /**
   * Share of all cores' time that the hypervisor took.
   */
  steal_share?: number | null;
  /**
   * Busy share of the parts' cores, other programs included.
   */
  part_cores_busy?: number | null;
  /**
   * Share of the parts' cores that other programs used; of all cores where the agents have none of their own.
   */
  foreign_part_share?: number | null;
  /**
   * Share of the agents' cores that other programs used.
   */
  foreign_agent_share?: number | null;
  /**
   * Busy share of the busiest core.
   */
  busiest_core?: number | null;
  /**
   * Share of the window in which a limit held a part back, the worst part's.
   */
  throttled_share?: number | null;
  /**
   * The figures as people read them, in this order; `–` where they are not known.
   */
  texts: string[];
}
/**
 * Our own error in a cell.
 */
export interface InstrumentView {
  /**
   * Lateness, median of blocks' medians.
   */
  lateness_p50_ns?: number | null;
  /**
   * Lateness, worst block's p99.
   */
  lateness_p99_ns?: number | null;
  /**
   * Share of arrivals that were released late enough to leave in a burst, all trials.
   */
  bunched_share?: number | null;
  /**
   * Lag, worst block's p99.
   */
  lag_p99_ns?: number | null;
  /**
   * Lateness by percentile, trials merged.
   */
  lateness: CurvePoint[];
  /**
   * Busy share of the agents' cores, spinning apart.
   */
  agent_busy?: number | null;
  /**
   * Share of answers stamped by the kernel.
   */
  stamped_share?: number | null;
  /**
   * Share of kernel stamps that are upper bounds.
   */
  upper_bound_share?: number | null;
}
/**
 * The difference between a cell and the one it is compared with.
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
   * Arm it is compared with.
   */
  against: string;
  /**
   * Level it is compared with; another one only when levels are compared.
   */
  against_level: string;
  metric: Metric;
  unit: Unit;
  family: Family;
  /**
   * Baseline's value.
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
   * Complete pairs behind it.
   */
  pairs: number;
  /**
   * Relative difference that counts as none: the declared share, or the declared amount as a share of this baseline.
   */
  margin?: number | null;
  /**
   * The margin as it was declared: `5 %`, `20 µs`.
   */
  margin_text: string;
  /**
   * Where one of the two was repeated far more often than the other: that it was, in a sentence.
   */
  repeats?: string | null;
  /**
   * Difference with interval as people read it: `+0.31 ms (0.28–0.34)`, `–`.
   */
  added_text: string;
  /**
   * Relative difference with interval as people read it: `+48 % (43–53)`, `–`.
   */
  ratio_text: string;
  /**
   * Outcome in words: `differs`, `changes by less than 5 %`, `undecided; about 4 more blocks would tell`.
   */
  outcome_text: string;
}
/**
 * An estimate with its interval; no interval below three blocks.
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
 * Two cells that are compared, where one failed so often that a metric has no verdict, or more often than the other.
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
   * Arm it is compared with.
   */
  against: string;
  /**
   * Level it is compared with; another one only when levels are compared.
   */
  against_level: string;
  failed: FailedShare;
  against_failed: FailedShare;
  /**
   * Difference of the two shares within blocks, with its plain 95 % interval.
   */
  difference?: Interval | null;
  /**
   * The difference as people read it, where its interval excludes 0: `3.2 percentage points (3.0–3.4) more`; else `–`.
   */
  difference_text: string;
  /**
   * Judged metrics, and those that are taken apart, without a verdict for it.
   */
  no_verdict: Metric[];
}
/**
 * One cell that was disturbed.
 */
export interface DisturbanceView {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  /**
   * What happened and what came of it, in sentences.
   */
  sentences: string[];
  /**
   * What was done, with median times.
   */
  events: EventMark[];
  /**
   * Answers and their latency around it, from the start of the window.
   */
  series: MomentPoint[];
  /**
   * Every trial, in order.
   */
  trials: DisturbedTrial[];
}
/**
 * Something that was done.
 */
export interface EventMark {
  /**
   * `kill broker`.
   */
  label: string;
  /**
   * From the start of the window to its beginning, median over trials.
   */
  began_ns: number;
  /**
   * Until it was done, median over the trials in which it was.
   */
  done_ns?: number | null;
}
/**
 * A moment of the trials, medians over them unless a field says otherwise.
 */
export interface MomentPoint {
  /**
   * Its end, from the start of the window.
   */
  offset_ns: number;
  /**
   * Its length.
   */
  length_ns: number;
  /**
   * Right answers per second that came in it.
   */
  right_per_s: number;
  /**
   * Errors that came in it, all trials.
   */
  errors: number;
  /**
   * Slowest answer that came in it.
   */
  slowest_ns?: number | null;
}
/**
 * One trial that was disturbed.
 */
export interface DisturbedTrial {
  /**
   * Number.
   */
  trial: number;
  /**
   * What was done to whom, and when: `kill broker-2 at 5.00 s`.
   */
  done: string;
  /**
   * Longest time without a right answer, from the first event on; as fine as the samples.
   */
  silent_ns?: number | null;
  /**
   * Slowest answer of the window.
   */
  slowest_ns?: number | null;
  /**
   * Requests sent again.
   */
  sent_again?: number | null;
  /**
   * Errors and unfinished exchanges of the window.
   */
  errors: number;
  /**
   * What was read back, if anything was.
   */
  read_back?: ReadBackView | null;
  /**
   * The same as people read it, in the order of the table's heads.
   */
  texts: string[];
}
/**
 * What was read back after a trial.
 */
export interface ReadBackView {
  /**
   * Records that were acknowledged.
   */
  acknowledged: number;
  /**
   * Records that were read back.
   */
  read: number;
  /**
   * Acknowledged, and not there.
   */
  lost: number;
  /**
   * Copies beyond the first.
   */
  duplicated: number;
}
/**
 * One metric at one level, taken apart. Only metrics that add up: means and amounts, no quantiles.
 */
export interface WaterfallView {
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  /**
   * Its short name for people.
   */
  label: string;
  unit: Unit;
  /**
   * The orders, the one to be read first; the others check it.
   */
  sequences: WaterfallSequence[];
  /**
   * Things that more than one order adds alone, with their part in each.
   */
  parts: WaterfallPart[];
  /**
   * What the other orders say of the first one, in sentences.
   */
  checks: string[];
}
/**
 * One order of arms.
 */
export interface WaterfallSequence {
  /**
   * Its name.
   */
  name: string;
  /**
   * The arms in words: `direct → client-sidecar → both-sidecars`.
   */
  order: string;
  /**
   * Blocks in which every arm of it was measured; all figures are of these.
   */
  blocks: number;
  /**
   * Why there is nothing to show, if there is nothing.
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
   * The same as people read it.
   */
  start_text: string;
  /**
   * Mean of the last arm.
   */
  end?: number | null;
  /**
   * The same as people read it.
   */
  end_text: string;
  /**
   * The steps; their differences add up to `total`.
   */
  steps: WaterfallStep[];
  /**
   * Last arm minus first, with its plain 95 % interval.
   */
  total?: Interval | null;
  /**
   * The same as people read it.
   */
  total_text: string;
}
/**
 * From one arm to the next.
 */
export interface WaterfallStep {
  /**
   * The larger arm.
   */
  arm: string;
  /**
   * The arm before it.
   */
  against: string;
  /**
   * What it has more, in words.
   */
  what: string;
  number: GrammaticalNumber;
  /**
   * Mean of the arm before it: where the bar begins.
   */
  from?: number | null;
  /**
   * Mean of the arm: where the bar ends.
   */
  to?: number | null;
  /**
   * Difference with its plain 95 % interval; none of it is corrected for the number of steps.
   */
  added?: Interval | null;
  /**
   * The same as people read it.
   */
  added_text: string;
  /**
   * Its part of the total, as people read it.
   */
  share_text: string;
}
/**
 * A thing that several orders add alone.
 */
export interface WaterfallPart {
  /**
   * What it is.
   */
  what: string;
  /**
   * What it adds, one per sequence in their order; `–` where it is not added alone.
   */
  added_texts: string[];
}
/**
 * One metric against the one factor that has several values.
 */
export interface FactorView {
  /**
   * Key of the factor: `load.rate`, `workload.replicas`.
   */
  factor: string;
  metric: Metric;
  /**
   * Its short name for people.
   */
  label: string;
  unit: Unit;
  /**
   * A line per arm that was measured.
   */
  lines: FactorLine[];
}
/**
 * An arm over all values of the factor.
 */
export interface FactorLine {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Its points in the order of the levels.
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
   * Value of the factor, where it is a number.
   */
  at?: number | null;
  /**
   * Mean over blocks with its plain 95 % interval; `None`: not measured, or only a lower bound is known.
   */
  value?: Interval | null;
  /**
   * The same as people read it.
   */
  text: string;
  /**
   * Whether the cores of the parts, or that of the agents, were full in most trials: more of anything cannot show there.
   */
  full?: boolean;
  /**
   * What a published ratio to the first level makes of our first level.
   */
  published?: number | null;
}
/**
 * A published figure beside ours.
 */
export interface PublishedView {
  /**
   * Arm.
   */
  arm: string;
  /**
   * Compared with.
   */
  against: string;
  /**
   * Level of ours it stands beside.
   */
  level?: string | null;
  metric: Metric;
  /**
   * Theirs, in words with unit.
   */
  theirs: string;
  /**
   * Ours, in words with unit and interval.
   */
  ours: string;
  /**
   * Source.
   */
  source: string;
  /**
   * What is not alike.
   */
  caveat?: string | null;
}
/**
 * Published figures in columns: ours by arm, and one for each source, headed with its product and version.
 */
export interface PublishedColumns {
  /**
   * Heads of ours: the arms that were run.
   */
  ours: string[];
  /**
   * Heads of theirs: the sources.
   */
  theirs: string[];
  /**
   * Every level and metric that anything was published for.
   */
  rows: PublishedRow[];
}
/**
 * One level and metric.
 */
export interface PublishedRow {
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  /**
   * What each arm has here: the baseline its value, the others what they add; `–` where there is none.
   */
  ours: string[];
  /**
   * What each source has; `–` where it says nothing.
   */
  theirs: string[];
}
/**
 * Figures as a published study prints them, beside ours of the same blocks.
 */
export interface AsPublished {
  /**
   * The rule, in words.
   */
  rule: string;
  /**
   * Blocks left out, by level.
   */
  dropped: [string, string][];
  /**
   * The same in words: `Left out: blocks 3 and 5 at 200/s.`
   */
  dropped_text?: string;
  /**
   * Figures, by level, arm and metric.
   */
  rows: AsPublishedRow[];
}
/**
 * One such figure.
 */
export interface AsPublishedRow {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  metric: Metric;
  /**
   * Blocks kept.
   */
  blocks: number;
  /**
   * Mean over them.
   */
  mean?: number | null;
  /**
   * Standard deviation (n − 1).
   */
  deviation?: number | null;
  /**
   * The two as people read them: `0.312 ± 0.004 ms`, `–`.
   */
  text: string;
  /**
   * All blocks.
   */
  blocks_all: number;
  /**
   * Mean over all blocks with its 95 % interval.
   */
  ours?: Interval | null;
  /**
   * The same as people read it: `0.314 ms (0.310–0.318)`, `–`.
   */
  ours_text: string;
}
/**
 * The check of the baseline's two copies, with intervals that hold together over all its comparisons.
 */
export interface BaselineCheck {
  /**
   * Comparisons that had an interval: levels × primary metrics.
   */
  comparisons: number;
  /**
   * Those in which a difference was shown.
   */
  differences: BaselineDifference[];
}
/**
 * A difference of the baseline from itself.
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
   * The same as people read it: `+12 % (8–16)`.
   */
  ratio_text: string;
  /**
   * Whether it passes the margin, so that verdicts of that size are in doubt.
   */
  passes_margin: boolean;
}
/**
 * Scatter of one metric from block to block.
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
   * Smallest relative difference that this design would find.
   */
  detectable?: number | null;
}
/**
 * One trial in the list of trials.
 */
export interface TrialRow {
  /**
   * Number.
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
   * Copy of the baseline.
   */
  copy: number;
  /**
   * Attempt.
   */
  attempt: number;
  /**
   * `fit`, `unfit`, `invalid`, `failed`, `superseded`.
   */
  status: string;
  /**
   * Why, when not fit.
   */
  why: string[];
  /**
   * Start since the start of the run.
   */
  offset_ns: number;
  /**
   * From its start to its record.
   */
  took_ns: number;
  /**
   * Saturated.
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
   * Right answers per second.
   */
  throughput_per_s?: number | null;
  /**
   * Lateness p99.
   */
  lateness_p99_ns?: number | null;
  /**
   * Proofs that held / all.
   */
  proofs_held: number;
  /**
   * All proofs.
   */
  proofs_made: number;
}
/**
 * The distance between two sites, as it was asked for and as it was found before the first block.
 */
export interface DistanceView {
  /**
   * `east-west`.
   */
  link: string;
  /**
   * What was asked for, in words.
   */
  asked: string;
  /**
   * Round trip asked for, without jitter.
   */
  asked_ns: number;
  /**
   * Half of the round trips were shorter.
   */
  p50_ns?: number | null;
  /**
   * One in a hundred was longer.
   */
  p99_ns?: number | null;
  /**
   * What was asked for and what was found as people read it: asked, median, p99, answered; `–` where it is not known.
   */
  texts: string[];
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
 * One check of the machine.
 */
export interface Check {
  /**
   * Short name: `timer`, `governor`, `descriptors`.
   */
  name: string;
  /**
   * What was found, with its unit.
   */
  found: string;
  /**
   * Machine-readable figure, where there is one.
   */
  value?: number | null;
  /**
   * Unit of the figure.
   */
  unit?: string | null;
  grade: Grade;
  /**
   * What it means for a measurement and what to do, when it is not good.
   */
  advice?: string | null;
}
