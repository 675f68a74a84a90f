// The comparison of the replicas of a topic: begun, watched, and the first difference.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { ComparisonResult, Difference, ReplicaComparison, VerifyJob } from "../../kafka-api";
import { Table } from "../../section/Section";
import { Gone, get, post, reason, remove } from "../client";
import { Confirm, Do, Problem, useAction } from "../pieces";
import { plural, size } from "../words";
import type { Cluster } from "./parts";
import { apiOf } from "./route";

const POLL_MS = 1000;

const RESULTS: Record<ComparisonResult, string> = { identical: "the same", incomplete: "not all could be read", compacted: "differ as compacted replicas may", different: "different" };

/** The first difference of a partition: what each replica has there. */
function First({ of, at }: { of: ReplicaComparison; at: Difference }): JSX.Element {
  return (
    <>
      <p><b class="bad">▲ {of.topic}-{of.partition} differs from offset {count(at.offset)}</b>{of.differences.length > 1 && `, and at ${plural(of.differences.length - 1, "more place")}`}:</p>
      <Table label={`First difference of partition ${of.partition}`}>
        <thead><tr><th scope="col">replica on broker</th><th scope="col">batch</th><th scope="col" class="n">leader epoch</th><th scope="col" class="n">checksum</th><th scope="col" class="n">records</th><th scope="col" class="n">size</th></tr></thead>
        <tbody>
          {Object.entries(at.batches).map(([broker, batch]) => (
            <tr key={broker}>
              <th scope="row">{broker}</th>
              {batch === null ? <td colSpan={5}>nothing there</td> : <><td>{count(batch.offset)}–{count(batch.next_offset - 1)}</td><td class="n">{batch.leader_epoch}</td><td class="n">{batch.crc.toString(16).padStart(8, "0")}</td><td class="n">{count(batch.records)}</td><td class="n">{size(batch.size_bytes)}</td></>}
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

function Results({ results }: { results: readonly ReplicaComparison[] }): JSX.Element | null {
  if (results.length === 0) return null;
  const different = results.filter((one) => one.result === "different");
  return (
    <>
      {different.slice(0, 1).map((one) => one.differences[0] !== undefined && <First key={one.partition} of={one} at={one.differences[0]} />)}
      <Table label="Replicas compared">
        <thead><tr><th scope="col">partition</th><th scope="col">replicas are</th><th scope="col">on brokers</th><th scope="col">offsets</th><th scope="col" class="n">records</th><th scope="col" class="n">size</th><th scope="col">notes</th></tr></thead>
        <tbody>
          {results.map((one) => (
            <tr key={one.partition} class={one.result === "different" ? "unfit" : undefined}>
              <th scope="row">{one.partition}</th>
              <td>{one.result === "different" ? <b>▲ {RESULTS[one.result]}</b> : RESULTS[one.result]}</td>
              <td>{one.replicas.map((replica) => `${replica.broker}${replica.corrupt > 0 ? ` (${count(replica.corrupt)} corrupt)` : ""}`).join(", ")}</td>
              <td>{one.to > one.from ? `${count(one.from)}–${count(one.to)}` : MISSING}</td><td class="n">{count(one.records)}{one.markers > 0 && <span class="range">and {plural(one.markers, "transaction marker")}</span>}</td><td class="n">{size(one.size_bytes)}</td><td class="words">{one.notes.join("; ")}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  );
}

/** Begins a comparison and shows how far it is. */
export function Verify({ cluster, topic, bytes }: { cluster: Cluster; topic: string; bytes: number | null }): JSX.Element {
  const [job, setJob] = useState<VerifyJob | null>(null);
  const [isAsking, ask] = useState(false);
  const [lost, setLost] = useState<string | null>(null);
  const begin = useAction();
  const stop = useAction();
  const isRunning = job?.state === "running";
  const path = apiOf(cluster.name, "verify");
  useEffect(() => {
    if (!isRunning || job === null) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      get<VerifyJob>(`${path}/${job.id}`, abort.signal).then(
        (next) => {
          setLost(null);
          setJob(next);
        },
        (error: unknown) => {
          if (abort.signal.aborted) return;
          if (error instanceof Gone) setJob({ ...job });
          else setLost(reason(error));
        },
      );
    }, POLL_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [job]);
  const run = async () => {
    setJob(await post<VerifyJob>(path, { topic, partitions: null }));
    ask(false);
  };
  const end = async () => {
    if (job === null) return;
    await remove(`${path}/${job.id}`);
    setJob({ ...job, state: "stopped" });
  };
  const differing = job?.results.filter((one) => one.result === "different").length ?? 0;
  return (
    <>
      <p class="lead">Reads every replica apart, up to the offset that all have, and compares them batch by batch: offsets, leader epochs, checksums. It changes nothing.</p>
      {cluster.mayEdit ? <p class="found">{!isRunning && <button type="button" class="plain" onClick={() => ask(true)}>{job === null ? "Compare replicas …" : "Compare again …"}</button>}</p> : job === null && <p class="none">Nothing can be begun from here: use “tare kafka verify {topic}” in a terminal.</p>}
      {job !== null && (
        <div aria-live="polite">
          {isRunning && <progress max={Math.max(1, job.total_bytes ?? job.partitions)} value={job.total_bytes == null ? job.done : job.compared_bytes} aria-label="Compared" />}
          <p>
            {isRunning ? "Comparing" : job.state === "done" ? (differing === 0 ? "● Done, no replica differs" : `▲ Done, ${plural(differing, "partition")} ${differing === 1 ? "differs" : "differ"}`) : job.state === "stopped" ? "○ Stopped" : "▲ Failed"}:{" "}
            {count(job.done)} of {plural(job.partitions, "partition")}, {size(job.compared_bytes)}{job.total_bytes != null && ` of ${size(job.total_bytes)}`} of each replica{" "}
            {isRunning && <Do action={stop} run={end}>Stop</Do>}
          </p>
          {job.problem != null && <Problem>{job.problem}</Problem>}
          {lost !== null && <Problem>{lost}</Problem>}
          {stop.problem !== null && <Problem>{stop.problem}</Problem>}
          <Results results={job.results} />
        </div>
      )}
      {isAsking && (
        <Confirm title="Compare replicas?" yes="Compare" no="Cancel" onYes={run} onNo={() => ask(false)} action={begin}>
          <p>All replicas of {topic} are read over the network{bytes === null ? "" : `, about ${size(bytes)}`}. Brokers read them from disk where they are not in memory, which slows producers and consumers down for as long.</p>
        </Confirm>
      )}
    </>
  );
}
