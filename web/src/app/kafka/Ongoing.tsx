// Partitions that move: how far each is, cancelling, throttles.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count, percent } from "../../format";
import type { ItemResults, ReassignmentList, OngoingReassignment, PartitionsRequest, Throttles } from "../../kafka-api";
import { post } from "../client";
import { Confirm, useAction } from "../pieces";
import { plural, size } from "../words";
import { VirtualTable, type Column } from "../VirtualTable";
import { Bar, bytesPerSecond, checked, sizeOf } from "./parts";
import { apiOf } from "./route";
import type { Order } from "../rows";

function nameOf(move: OngoingReassignment): string {
  return `${move.topic}-${move.partition}`;
}

function shareOf(move: OngoingReassignment): number | null {
  if (move.copied_bytes == null || move.total_bytes == null) return null;
  return move.total_bytes === 0 ? 1 : Math.min(1, move.copied_bytes / move.total_bytes);
}

function columnsOf(mayEdit: boolean, cancel: (move: OngoingReassignment) => void): Column<OngoingReassignment>[] {
  return [
    { key: "partition", label: "partition", width: 36, cell: (move) => <span title={nameOf(move)}>{nameOf(move)}</span>, sort: nameOf },
    { key: "share", label: "copied", width: 36, cell: (move) => <Bar value={shareOf(move)} most={1}>{percent(shareOf(move), 3)}, {sizeOf(move.copied_bytes, move.total_bytes)}</Bar>, sort: shareOf },
    { key: "adding", label: "to", width: 12, cell: (move) => move.adding.join(", ") || MISSING, sort: (move) => move.adding.join() },
    { key: "removing", label: "off", width: 12, cell: (move) => move.removing.join(", ") || MISSING, sort: (move) => move.removing.join() },
    { key: "replicas", label: "replicas now", width: 18, cell: (move) => move.replicas.join(", ") },
    ...(mayEdit ? [{ key: "do", label: <span class="unseen">actions</span>, width: 11, cell: (move: OngoingReassignment) => <button type="button" onClick={() => cancel(move)} aria-label={`Cancel the reassignment of ${nameOf(move)}`}>Cancel …</button> }] : []),
  ];
}

function ThrottleLine({ throttles }: { throttles: Throttles }): JSX.Element | null {
  const brokers = Object.entries(throttles.brokers);
  const topics = Object.keys(throttles.topics);
  if (brokers.length + topics.length === 0) return null;
  return <p class="lead">Throttles: {brokers.map(([id, rate]) => `broker ${id} ${bytesPerSecond(rate)}`).join(", ")}{brokers.length > 0 && topics.length > 0 && "; "}{topics.length > 0 && `for replicas of ${topics.slice(0, 5).join(", ")}${topics.length > 5 ? ` and ${count(topics.length - 5)} more` : ""}`}.</p>;
}

/** Ongoing reassignments, with cancelling one or all and removing throttles. */
export function Ongoing({ cluster, list, mayEdit, reload }: { cluster: string; list: ReassignmentList; mayEdit: boolean; reload: () => void }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "partition", isDescending: false });
  const [asking, ask] = useState<OngoingReassignment | "all" | "throttles" | null>(null);
  const action = useAction();
  const { reassignments, throttles } = list;
  const hasThrottle = Object.keys(throttles.brokers).length + Object.keys(throttles.topics).length > 0;
  const done = () => {
    ask(null);
    reload();
  };
  const yes = async () => {
    if (asking === "throttles") await post<Throttles>(apiOf(cluster, "reassignments", "unthrottle"));
    else {
      const topics = asking === "all" || asking === null ? null : { [asking.topic]: [asking.partition] };
      checked(await post<ItemResults>(apiOf(cluster, "reassignments", "cancel"), { topics } satisfies PartitionsRequest));
    }
    done();
  };
  const known = reassignments.map(shareOf);
  const [copied, total] = reassignments.reduce(([have, all], move) => [have + (move.copied_bytes ?? 0), all + (move.total_bytes ?? 0)], [0, 0]);
  return (
    <>
      {reassignments.length === 0 ? <p class="none">No partition is being reassigned.</p> : (
        <>
          {!known.includes(null) && <progress max={Math.max(1, total)} value={copied} aria-label="Copied of all reassignments" />}
          <p role="status">{plural(reassignments.length, "partition")} {reassignments.length === 1 ? "is" : "are"} being reassigned{!known.includes(null) && `, ${size(copied)} of ${size(total)} copied`}.</p>
          <VirtualTable label="Partitions that move" rows={reassignments} columns={columnsOf(mayEdit, ask)} keyOf={nameOf} order={order} setOrder={setOrder} />
        </>
      )}
      <ThrottleLine throttles={throttles} />
      {mayEdit && (reassignments.length > 0 || hasThrottle) && (
        <div class="filters">
          {reassignments.length > 0 && <button type="button" class="plain" onClick={() => ask("all")}>Cancel all …</button>}
          {hasThrottle && <button type="button" class="plain" onClick={() => ask("throttles")}>Remove throttles …</button>}
        </div>
      )}
      {asking === "throttles" && (
        <Confirm title="Remove all throttles?" yes="Remove" onYes={yes} onNo={() => ask(null)} action={action}>
          <p>Also those that others have set: operators, Cruise Control. {reassignments.length > 0 ? `${plural(reassignments.length, "partition")} are being reassigned: they then take all the network and disk that they can.` : "No partition is being reassigned: replicas that fall behind catch up without a limit again."}</p>
        </Confirm>
      )}
      {asking !== null && asking !== "throttles" && (
        <Confirm no="Keep" title={asking === "all" ? "Cancel all reassignments?" : `Cancel the reassignment of ${nameOf(asking)}?`} yes={asking === "all" ? "Cancel all" : "Cancel it"} onYes={yes} onNo={() => ask(null)} action={action}>
          <p>Replicas stay on the brokers they are on; what was copied is deleted. Kafka keeps the new order of the replicas, and with it the preferred leader: another plan for the same topics corrects that.</p>
        </Confirm>
      )}
    </>
  );
}
