// What is wrong with a cluster, on top of each of its pages.
import type { JSX } from "preact";
import { count } from "../../format";
import type { ClusterOverview, ClusterProblem, ProblemKind } from "../../kafka-api";
import { timeOfDay } from "./parts";
import { pageAt } from "./route";

const GRAVE: readonly ProblemKind[] = ["unreachable", "offline", "broker-down", "below-min-isr"];

/** Whether a problem loses or withholds records now. */
export function isGrave(kind: ProblemKind): boolean {
  return GRAVE.includes(kind);
}

const NAMES: Record<ProblemKind, string> = {
  unreachable: "Unreachable",
  offline: "Offline partitions",
  "broker-down": "Broker down",
  "below-min-isr": "Below min ISR",
  "under-replicated": "Under-replicated partitions",
  disk: "Disk",
  lag: "Lag",
  "commit-beyond-end": "Commits beyond the end",
  "leader-imbalance": "Leaders not preferred",
  throttle: "Throttle",
  unreadable: "Not known",
};

/** The page about an example of a problem. */
export function exampleAt(cluster: string, kind: ProblemKind, example: string): string | null {
  if (kind === "lag" || kind === "commit-beyond-end") return pageAt(cluster, "groups", example);
  const broker = /^broker (\d+)/.exec(example)?.[1];
  if (broker !== undefined) return pageAt(cluster, "brokers", broker);
  const topic = /^([A-Za-z0-9._-]+)-\d+$/.exec(example)?.[1];
  return topic === undefined ? null : pageAt(cluster, "topics", topic);
}

function Item({ cluster, problem }: { cluster: string; problem: ClusterProblem }): JSX.Element {
  const { kind, text, examples } = problem;
  return (
    <li class={isGrave(kind) ? "grave" : undefined}>
      <b><span aria-hidden="true">▲ </span>{NAMES[kind]}{problem.count > 0 && kind !== "unreachable" && ` (${count(problem.count)})`}: </b>{text}
      {examples.length > 0 && (
        <span class="quiet">
          {" "}
          {examples.slice(0, 3).map((example, index) => {
            const href = exampleAt(cluster, kind, example);
            return <span key={example}>{index > 0 && ", "}{href === null ? example : <a href={href}>{example}</a>}</span>;
          })}
          {problem.count > Math.min(3, examples.length) && " …"}
        </span>
      )}
    </li>
  );
}

/** The problems, or that there are none; and how old the figures are when they could not be read again. */
export function Strip({ cluster, overview, problem }: { cluster: string; overview: ClusterOverview | null; problem: ClusterProblem | null }): JSX.Element {
  const all = overview?.problems ?? [];
  return (
    <div class="strip" role="status" aria-label={`Problems of ${cluster}`}>
      {problem !== null && overview !== null && <p class="grave"><b><span aria-hidden="true">▲ </span>Cannot be read now: </b>{problem.text} Figures are of {timeOfDay(overview.at_ms)}.</p>}
      {all.length > 0 && <ul>{all.map((one) => <Item key={one.text} cluster={cluster} problem={one} />)}</ul>}
      {overview !== null && all.length === 0 && problem === null && <p class="quiet">● No problems</p>}
      {overview === null && <p class="quiet">Asking the brokers …</p>}
    </div>
  );
}
