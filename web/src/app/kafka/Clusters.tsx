// The clusters that this server knows, each with its state.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { MISSING } from "../../format";
import type { ClusterEntry, ClusterList, ClusterOrigin, ClusterOverview } from "../../kafka-api";
import { get, reason, remove } from "../client";
import { Await, Confirm, Heading, mayChange, useAction } from "../pieces";
import { useInterval, useResource } from "../resource";
import { plural } from "../words";
import { EditCluster } from "./ClusterForm";
import { isGrave } from "./Strip";
import { bytesPerSecond, perSecond } from "./parts";
import { apiOf, pageAt } from "./route";

const REFRESH_MS = 10_000;

const ORIGINS: Record<ClusterOrigin, string> = { server: "added here", "command-line": "tare kafka clusters", "test-bed": "test bed that is up" };

/** The state of a cluster, asked for apart from the others. */
function useOverview(name: string): { overview: ClusterOverview | null; problem: string | null } {
  const [state, set] = useState<{ overview: ClusterOverview | null; problem: string | null }>({ overview: null, problem: null });
  const [asked, ask] = useState(0);
  useInterval(() => ask(asked + 1), REFRESH_MS);
  useEffect(() => {
    const stop = new AbortController();
    get<ClusterOverview>(apiOf(name, "overview"), stop.signal).then(
      (overview) => set({ overview, problem: null }),
      (error: unknown) => !stop.signal.aborted && set({ overview: null, problem: reason(error) }),
    );
    return () => stop.abort();
  }, [name, asked]);
  return state;
}

function State({ overview, problem }: { overview: ClusterOverview | null; problem: string | null }): JSX.Element {
  if (problem !== null) return <p><span class="run-state failed">not readable</span> <span class="range">{problem}</span></p>;
  if (overview === null) return <p class="quiet">asking the brokers …</p>;
  const { problems } = overview;
  return (
    <>
      {problems.length === 0 ? <p class="run-state">no problems</p> : <ul>{problems.slice(0, 3).map((one) => <li key={one.kind} class={`clamp ${isGrave(one.kind) ? "bad" : "warn"}`} title={one.text}><span aria-hidden="true">▲ </span>{one.text}</li>)}</ul>}
      {problems.length > 3 && <p class="range">and {plural(problems.length - 3, "more kind", "more kinds")} of problems</p>}
    </>
  );
}

function securityOf({ cluster }: ClusterEntry): string {
  const connection = cluster.tls == null ? "plaintext" : cluster.tls.cert == null ? "TLS" : "mTLS";
  return cluster.sasl == null ? connection : `${connection}, SASL ${cluster.sasl.mechanism.toUpperCase()} as ${cluster.sasl.user}`;
}

function Row({ entry, edit, erase }: { entry: ClusterEntry; edit: () => void; erase: () => void }): JSX.Element {
  const { overview, problem } = useOverview(entry.name);
  const isOwn = entry.origin === "server";
  return (
    <li class="run-row cluster-row">
      <div class="run-name">
        <a href={pageAt(entry.name)}>{entry.name}</a>
        <span class="range">{ORIGINS[entry.origin]}{entry.read_only && ", read-only"}</span>
        <span class="range">{entry.cluster.bootstrap.join(", ")}</span>
        <span class="range">{securityOf(entry)}</span>
      </div>
      <div class="run-words"><State overview={overview} problem={problem} /></div>
      <div class="run-facts">
        {overview !== null && (
          <>
            <span>{plural(overview.brokers.filter((one) => one.address != null).length, "broker")}, {plural(overview.topics, "topic")}, {plural(overview.partitions, "partition")}</span>
            <span class="range">{perSecond(overview.records_in_per_s)} records in, {bytesPerSecond(overview.bytes_in_per_s)} in, {bytesPerSecond(overview.bytes_out_per_s)} out</span>
            <span class="range">{overview.release == null ? `metadata version ${overview.metadata_version ?? MISSING}` : `Kafka ${overview.release}`}</span>
          </>
        )}
      </div>
      {mayChange() && isOwn && (
        <div class="tools">
          <button type="button" class="plain" onClick={edit} aria-label={`Edit ${entry.name}`}>Edit …</button>
          <button type="button" class="plain" onClick={erase} aria-label={`Remove ${entry.name}`}>Remove …</button>
        </div>
      )}
    </li>
  );
}

/** The page of all clusters. */
export function Clusters(): JSX.Element {
  const clusters = useResource<ClusterList>("kafka/clusters");
  const [editing, setEditing] = useState<ClusterEntry | "new" | null>(null);
  const [removing, setRemoving] = useState<ClusterEntry | null>(null);
  const action = useAction();
  // A test bed comes and goes.
  useInterval(clusters.reload, REFRESH_MS);
  const done = () => {
    setEditing(null);
    setRemoving(null);
    clusters.reload();
  };
  const erase = async () => {
    if (removing !== null) await remove(apiOf(removing.name));
    done();
  };
  return (
    <>
      <Heading title="Kafka" name="Kafka" lead="Clusters that can be looked at and administered here." tools={mayChange() && <button type="button" class="strong" onClick={() => setEditing("new")}>Add a cluster …</button>} />
      <Await of={clusters} what="list of clusters">
        {(list) => (
          <>
            {list.clusters.length === 0 ? (
              <div class="none">
                <p>No cluster is known. Clusters of running experiments and of “tare lab” appear by themselves, and those of “tare kafka clusters add”.</p>
                <p>{mayChange() ? "Add one with its bootstrap brokers." : "This server is read-only: add one in a terminal with “tare kafka clusters add”."}</p>
              </div>
            ) : (
              <>
                <p class="found" role="status">{plural(list.clusters.length, "cluster")}</p>
                <ul class="run-list">{list.clusters.map((entry) => <Row key={entry.name} entry={entry} edit={() => setEditing(entry)} erase={() => setRemoving(entry)} />)}</ul>
              </>
            )}
            {editing !== null && <EditCluster entry={editing === "new" ? null : editing} environment={list.environment} done={done} cancel={() => setEditing(null)} />}
          </>
        )}
      </Await>
      {removing !== null && (
        <Confirm no="Keep" title={`Remove ${removing.name}?`} yes="Remove" onYes={erase} onNo={() => setRemoving(null)} action={action}>
          <p>This server forgets how to reach it. Nothing changes in the cluster: topics, groups and reassignments stay as they are.</p>
        </Confirm>
      )}
    </>
  );
}
