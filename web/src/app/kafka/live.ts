// A cluster as its stream of events tells it: the last of each kind, and rates over time.
import type { ClusterEvent, ClusterOverview, ClusterProblem, Figures, GroupList, GroupLive, MetricsLive, ReassignmentList, BrokerRow, TopicList, TopicLive } from "../../kafka-api";
import type { Lines } from "../live/state";

/** Points that charts show; older ones are dropped. */
const POINTS_MAX = 600;

/** Values over time. */
export class History {
  private readonly at: number[] = [];
  private readonly named = new Map<string, (number | null)[]>();

  /** Adds a point, unless it is as old as the last one. */
  add(atMs: number, values: Iterable<readonly [string, number | null | undefined]>): void {
    if (atMs <= (this.at.at(-1) ?? -1)) return;
    this.at.push(atMs);
    for (const [name, value] of values) {
      const line = this.named.get(name) ?? [];
      // A line that begins later has nothing before.
      while (line.length < this.at.length - 1) line.push(null);
      line.push(value ?? null);
      this.named.set(name, line);
    }
    for (const line of this.named.values()) if (line.length < this.at.length) line.push(null);
    if (this.at.length > POINTS_MAX) {
      this.at.shift();
      for (const line of this.named.values()) line.shift();
    }
  }

  /** Lines by their names, over seconds since the first point; names without a value are left out. */
  lines(names: readonly (readonly [key: string, label: string])[]): Lines {
    const [begin = 0] = this.at;
    return {
      x: this.at.map((ms) => (ms - begin) / 1000),
      lines: names.flatMap(([key, name]) => {
        const values = this.named.get(key);
        return values === undefined || values.every((value) => value === null) ? [] : [{ name, values: [...values] }];
      }),
    };
  }

  /** Names of all lines. */
  get names(): string[] {
    return [...this.named.keys()];
  }
}

/** What is known of a cluster from its stream. */
export interface LiveCluster {
  overview: ClusterOverview | null;
  topics: TopicList | null;
  topic: TopicLive | null;
  groups: GroupList | null;
  group: GroupLive | null;
  reassignments: ReassignmentList | null;
  metrics: MetricsLive | null;
  /** Why the last reading failed. */
  problem: ClusterProblem | null;
  rates: History;
  lags: History;
  brokers: History;
}

/** Nothing yet. */
export function unknownCluster(): LiveCluster {
  return {
    overview: null, topics: null, topic: null, groups: null, group: null, reassignments: null, metrics: null, problem: null,
    rates: new History(), lags: new History(), brokers: new History(),
  };
}

/** The figures of a broker that charts show. */
function chartsOf(at: string, figures: Figures): [string, number | null | undefined][] {
  const rates = (["messages_in", "bytes_in", "bytes_out", "replication_bytes_in", "replication_bytes_out", "failed_produce_requests", "isr_shrinks", "isr_expands", "log_flushes", "gc_pauses", "gc_ms"] as const)
    .map((name): [string, number | null | undefined] => [`${at} ${name}`, figures[name]?.per_s]);
  const requests = Object.entries(figures.requests).flatMap(([kind, one]): [string, number | null | undefined][] => [[`${at} rate ${kind}`, one.rate?.per_s], [`${at} ms ${kind}`, one.mean_ms["Total"]]]);
  return [...rates, ...requests, [`${at} log_flush_mean_ms`, figures.log_flush_mean_ms], [`${at} heap_bytes`, figures.heap_bytes]];
}

/** Takes an event in. */
export function take(cluster: LiveCluster, event: ClusterEvent): void {
  if ("problem" in event) {
    cluster.problem = event.problem;
    return;
  }
  Object.assign(cluster, event);
  if ("overview" in event) {
    const { at_ms, records_in_per_s, bytes_in_per_s, bytes_out_per_s } = event.overview;
    cluster.problem = null;
    cluster.rates.add(at_ms, [["records", records_in_per_s], ["bytes in", bytes_in_per_s], ["bytes out", bytes_out_per_s]]);
  }
  if ("group" in event) {
    const { at_ms, lag, partitions } = event.group;
    cluster.lags.add(at_ms, [["", lag], ...partitions.map((one) => [`${one.topic}-${one.partition}`, one.lag] as const)]);
  }
  if ("metrics" in event) cluster.brokers.add(event.metrics.at_ms, event.metrics.brokers.flatMap((one) => (one.metrics == null ? [] : chartsOf(one.at, one.metrics))));
}

/** The host of `HOST:PORT` or of a URL. */
function hostOf(address: string): string {
  return address.replace(/^[a-z]+:\/\//i, "").replace(/\/.*$/, "").replace(/:\d+$/, "").toLowerCase();
}

/** Where the metrics of a broker are: at the address with its host or, as hosts of metrics may have other names, the one at its place in the list. */
export function metricsAddress(broker: number, brokers: readonly BrokerRow[], addresses: readonly string[]): string | null {
  const own = brokers.find((one) => one.id === broker)?.address;
  const same = own == null ? [] : addresses.filter((address) => hostOf(address) === hostOf(own));
  if (same.length === 1) return same[0] ?? null;
  const place = brokers.map((one) => one.id).sort((a, b) => a - b).indexOf(broker);
  return addresses.length === brokers.length ? (addresses[place] ?? null) : null;
}
