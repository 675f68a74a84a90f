// A plan of reassignments: what changes of each broker and each partition, and running it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, clock, count } from "../../format";
import type { ReassignmentList, ReassignmentPreview, ReassignmentRequest, PartitionReassignment } from "../../kafka-api";
import { download } from "../../save";
import { Table } from "../../section/Section";
import { post } from "../client";
import { Confirm, Problem, useAction } from "../pieces";
import { plural, size } from "../words";
import { VirtualTable, type Column } from "../VirtualTable";
import { Bar, Field, bytesPerSecond } from "./parts";
import { addingOf, leastSeconds, throttleOf, toTool } from "./plan";
import { apiOf } from "./route";
import type { Order } from "../rows";

interface Row {
  move: PartitionReassignment;
  bytes: number | null;
}

function nameOf({ move }: Row): string {
  return `${move.topic}-${move.partition}`;
}

const COLUMNS: Column<Row>[] = [
  { key: "partition", label: "partition", width: 38, cell: (row) => <span title={nameOf(row)}>{nameOf(row)}</span>, sort: nameOf },
  { key: "from", label: "brokers now", width: 18, cell: (row) => row.move.from.join(", "), sort: (row) => row.move.from.join() },
  { key: "to", label: "brokers then", width: 18, cell: (row) => row.move.to.join(", "), sort: (row) => row.move.to.join() },
  { key: "new", label: "new on", width: 14, cell: (row) => addingOf(row.move).join(", ") || <span class="quiet">order only</span>, sort: (row) => addingOf(row.move).length },
  { key: "bytes", label: "bytes to copy", width: 15, kind: "n", cell: (row) => size(row.bytes), sort: (row) => row.bytes },
];

/** Replicas that are copied, as a sentence. */
function copied(replicas: number): string {
  return plural(replicas, "replica is copied", "replicas are copied");
}

/** Gives a text away as a file. */
function save(name: string, text: string): void {
  download(new Blob([text], { type: "application/json" }), name);
}

function Brokers({ plan }: { plan: ReassignmentPreview["plan"] }): JSX.Element {
  const ids = [...new Set([...Object.keys(plan.before), ...Object.keys(plan.after)])].sort((a, b) => Number(a) - Number(b));
  const most = Math.max(...ids.flatMap((id) => [plan.before[id]?.replicas ?? 0, plan.after[id]?.replicas ?? 0]));
  return (
    <Table label="Brokers before and after">
      <thead><tr><th scope="col">broker</th><th scope="col">replicas before</th><th scope="col">after</th><th scope="col">leaders before</th><th scope="col">after</th></tr></thead>
      <tbody>
        {ids.map((id) => {
          const [before, after] = [plan.before[id] ?? { replicas: 0, leaders: 0 }, plan.after[id] ?? { replicas: 0, leaders: 0 }];
          return (
            <tr key={id}>
              <th scope="row">{id}</th>
              <td><Bar value={before.replicas} most={most}>{count(before.replicas)}</Bar></td><td><Bar value={after.replicas} most={most}>{count(after.replicas)}</Bar></td>
              <td><Bar value={before.leaders} most={most}>{count(before.leaders)}</Bar></td><td><Bar value={after.leaders} most={most}>{count(after.leaders)}</Bar></td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

/** Asks before a plan is run. */
function Run({ cluster, plan, throttle, done, cancel }: { cluster: string; plan: ReassignmentPreview; throttle: number | null; done: () => void; cancel: () => void }): JSX.Element {
  const action = useAction();
  const moves = plan.plan.reassignments;
  const seconds = throttle === null ? null : leastSeconds(moves, plan.copy_bytes, throttle);
  const yes = async () => {
    await post<ReassignmentList>(apiOf(cluster, "reassignments"), { reassignments: moves, throttle_bytes_per_s: throttle } satisfies ReassignmentRequest);
    done();
  };
  return (
    <Confirm title="Run this plan?" yes="Run" onYes={yes} onNo={cancel} action={action}>
      <p>{plural(moves.length, "partition gets", "partitions get")} other replicas. {plan.plan.replicas_to_copy === 0 ? "Nothing is copied." : `${copied(plan.plan.replicas_to_copy)}${plan.total_bytes == null ? "" : `, ${size(plan.total_bytes)}`}; old ones are deleted when the new ones are in sync.`} Producers and consumers go on.</p>
      {throttle === null
        ? plan.plan.replicas_to_copy > 0 && <Problem>Without a throttle, copying takes all the network and disk that it can: clients get slower.</Problem>
        : <p>Each broker copies at most {bytesPerSecond(throttle)}{seconds !== null && `: it takes at least ${clock(seconds * 1e9)}`}. The throttle is removed with the last reassignment.</p>}
      <p>It can be cancelled while it runs: replicas then stay where they were.</p>
    </Confirm>
  );
}

/** The plan; `done` when it has been begun. */
export function PlanTable({ cluster, plan, mayEdit, done }: { cluster: string; plan: ReassignmentPreview; mayEdit: boolean; done: () => void }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "bytes", isDescending: true });
  const [throttle, setThrottle] = useState("");
  const [isAsking, ask] = useState(false);
  const moves = plan.plan.reassignments;
  const limit = throttleOf(throttle);
  if (moves.length === 0) return <p class="none" role="status">● Nothing would change: the replicas are level already.</p>;
  const rows = moves.map((move, index) => ({ move, bytes: plan.copy_bytes[index] ?? null }));
  return (
    <>
      <p role="status"><b>{plural(moves.length, "partition changes", "partitions change")}, {copied(plan.plan.replicas_to_copy)}, {plan.total_bytes == null ? `${MISSING} bytes: sizes could not be read` : size(plan.total_bytes)}.</b></p>
      <Brokers plan={plan.plan} />
      <VirtualTable label="Reassignments of the plan" rows={rows} columns={COLUMNS} keyOf={nameOf} order={order} setOrder={setOrder} />
      <div class="filters">
        <button type="button" class="plain" onClick={() => save("reassignment.json", toTool(moves, "to"))}>Export the plan (JSON)</button>
        <button type="button" class="plain" onClick={() => save("current-assignment.json", toTool(moves, "from"))}>Export the assignment now</button>
        <span class="quiet">for kafka-reassign-partitions</span>
      </div>
      {mayEdit && (
        <div class="filters">
          <Field label="Throttle of each broker" type="number" value={throttle} change={setThrottle} unit="MB/s" hint="none" />
          <button type="button" class="strong" disabled={typeof limit === "string"} onClick={() => ask(true)}>Run …</button>
        </div>
      )}
      {typeof limit === "string" && <Problem>{limit}</Problem>}
      {isAsking && typeof limit !== "string" && <Run cluster={cluster} plan={plan} throttle={limit} cancel={() => ask(false)} done={done} />}
    </>
  );
}
