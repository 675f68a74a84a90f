// A topic: partitions, consumers, records, configuration, and what can be done with it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { PartitionRow, TopicDetail, TopicGroup } from "../../kafka-api";
import { Section, Table } from "../../section/Section";
import { remove, post } from "../client";
import { Confirm, Await, Heading, Problem, useAction } from "../pieces";
import { useResource } from "../resource";
import { go } from "../router";
import { plural, size } from "../words";
import { Configs } from "./Configs";
import { Records } from "./Records";
import { Verify } from "./Verify";
import { VirtualTable, type Column } from "../VirtualTable";
import { Elect, Field, Replicas, TypeName, later, perSecond, type Cluster } from "./parts";
import { apiOf, chosenTopics, deletionOf, loadAt, pageAt } from "./route";
import type { Order } from "../rows";

function isPreferred(partition: PartitionRow): boolean {
  return partition.leader != null && partition.leader === partition.replicas[0];
}

function stateOf(partition: PartitionRow, minInSync: number | null | undefined): { rank: number; text: string } {
  if (partition.leader == null) return { rank: 4, text: "offline" };
  if (minInSync != null && partition.in_sync.length < minInSync) return { rank: 3, text: "below min ISR" };
  if (partition.in_sync.length < partition.replicas.length) return { rank: 2, text: "under-replicated" };
  return isPreferred(partition) ? { rank: 0, text: "in sync" } : { rank: 1, text: "leader not preferred" };
}

function records(partition: PartitionRow): number | null {
  return partition.end == null || partition.first == null ? null : partition.end - partition.first;
}

function Partitions({ cluster, topic, rows, minInSync, reload }: { cluster: Cluster; topic: string; rows: readonly PartitionRow[]; minInSync: number | null | undefined; reload: () => void }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "partition", isDescending: false });
  const [electing, elect] = useState<PartitionRow | null>(null);
  const columns: Column<PartitionRow>[] = [
    { key: "partition", label: "partition", width: 12, cell: (row) => row.partition, sort: (row) => row.partition },
    {
      key: "state", label: "state", width: 22, sort: (row) => stateOf(row, minInSync).rank,
      cell: (row) => {
        const { rank, text } = stateOf(row, minInSync);
        return rank > 1 ? <b class={rank > 2 ? "bad" : "warn"}>▲ {text}</b> : rank === 1 ? <span class="quiet">{text}</span> : text;
      },
    },
    { key: "leader", label: "leader", width: 9, kind: "n", cell: (row) => (row.leader == null ? <b class="bad">none</b> : <a href={pageAt(cluster.name, "brokers", row.leader)} aria-label={`broker ${row.leader}`}>{row.leader}</a>), sort: (row) => row.leader },
    { key: "replicas", label: "replicas", width: 14, cell: (row) => <Replicas of={row.replicas} inSync={row.in_sync} />, sort: (row) => row.replicas.join() },
    { key: "isr", label: "in sync", width: 13, cell: (row) => row.in_sync.join(", ") || MISSING, sort: (row) => row.in_sync.length },
    { key: "first", label: "first offset", width: 13, kind: "n", cell: (row) => count(row.first), sort: (row) => row.first },
    { key: "end", label: "end offset", width: 13, kind: "n", cell: (row) => count(row.end), sort: (row) => row.end },
    { key: "records", label: "records", width: 12, kind: "n", cell: (row) => count(records(row)), sort: records },
    { key: "size", label: "size", width: 11, kind: "n", cell: (row) => size(row.size_bytes), sort: (row) => row.size_bytes },
    { key: "rate", label: "records in", width: 12, kind: "n", cell: (row) => perSecond(row.records_in_per_s), sort: (row) => row.records_in_per_s },
    ...(cluster.mayEdit ? [{ key: "do", label: <span class="unseen">actions</span>, width: 10, cell: (row: PartitionRow) => !isPreferred(row) && row.leader != null && <button type="button" onClick={() => elect(row)} aria-label={`Elect the preferred leader of partition ${row.partition}`}>Elect …</button> }] : []),
  ];
  const done = () => {
    elect(null);
    reload();
  };
  return (
    <>
      <VirtualTable label="Partitions" rows={rows} columns={columns} keyOf={(row) => String(row.partition)} order={order} setOrder={setOrder} isMarked={(row) => stateOf(row, minInSync).rank > 2} />
      <p class="how">Replicas: the preferred leader first; one that is not in sync is struck out. Size: of the largest replica.</p>
      {electing !== null && (
        <Elect cluster={cluster.name} topics={{ [topic]: [electing.partition] }} done={done} cancel={() => elect(null)}>
          <p>Broker {electing.replicas[0]} would lead {topic}-{electing.partition} instead of {electing.leader ?? "nobody"}, if it is in sync.</p>
        </Elect>
      )}
    </>
  );
}

function Consumers({ cluster, groups }: { cluster: string; groups: readonly TopicGroup[] }): JSX.Element {
  if (groups.length === 0) return <p class="none">No group has committed offsets of it or reads it.</p>;
  return (
    <Table label="Consumers">
      <thead><tr><th scope="col">group</th><th scope="col">state</th><th scope="col" class="n">partitions</th><th scope="col" class="n">lag</th><th scope="col">largest lag of a partition</th></tr></thead>
      <tbody>
        {groups.map((group) => {
          const most = group.partitions.reduce<(typeof group.partitions)[number] | null>((one, other) => ((other.lag ?? -1) > (one?.lag ?? -1) ? other : one), null);
          return (
            <tr key={group.name}>
              <th scope="row"><a href={pageAt(cluster, "groups", group.name)}>{group.name}</a></th><td>{group.state}</td><td class="n">{count(group.partitions.length)}</td><td class="n">{count(group.lag)}</td>
              <td>{most === null ? MISSING : `${count(most.lag)} (partition ${most.partition})`}</td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

/** Adds partitions. */
function Grow({ cluster, detail, done, cancel }: { cluster: string; detail: TopicDetail; done: () => void; cancel: () => void }): JSX.Element {
  const now = detail.live.partitions.length;
  const [text, setText] = useState(String(now + 1));
  const action = useAction();
  const wanted = Number(text);
  const isMore = Number.isSafeInteger(wanted) && wanted > now;
  const isCompacted = (detail.configs ?? []).some((config) => config.name === "cleanup.policy" && (config.value ?? "").includes("compact"));
  const yes = async () => {
    await post(apiOf(cluster, "topics", detail.name, "partitions"), { partitions: wanted });
    done();
  };
  return (
    <Confirm title={`Add partitions to ${detail.name}`} yes="Add" onYes={yes} onNo={cancel} action={action} isBlocked={!isMore}>
      <Field label={`Partitions, now ${count(now)}`} type="number" value={text} change={setText} />
      {!isMore && text !== "" && <Problem>{`A whole number above ${now}: partitions cannot be removed.`}</Problem>}
      <p>Records with a key are placed by the number of partitions. From then on, records of one key may land in another partition than those before: their order is lost, {isCompacted ? "and as the topic is compacted, old values of a key stay beside new ones" : "and consumers that keep state by partition see a key in two"}. Records without a key are not concerned.</p>
    </Confirm>
  );
}

function Delete({ cluster, detail, cancel }: { cluster: string; detail: TopicDetail; cancel: () => void }): JSX.Element {
  const [typed, setTyped] = useState("");
  const action = useAction();
  const { partitions, groups } = detail.live;
  const known = partitions.map(records);
  const total = known.includes(null) ? null : known.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const yes = async () => {
    await remove(deletionOf(cluster, detail));
    go(pageAt(cluster, "topics"));
  };
  return (
    <Confirm title={`Delete ${detail.name}?`} yes="Delete for ever" no="Keep" onYes={yes} onNo={cancel} action={action} isBlocked={typed !== detail.name}>
      <p>{total === null ? "Its records are lost" : `${plural(total, "record")} in ${plural(partitions.length, "partition")} will be lost`}, on all brokers. {groups.length > 0 && `${plural(groups.length, "group")} read it or have offsets of it: ${groups.slice(0, 5).map((one) => one.name).join(", ")}.`}</p>
      {(detail.live.records_in_per_s ?? 0) > 0 && <Problem>{`It is written to now, ${perSecond(detail.live.records_in_per_s)}. Its producers will fail, or create it again where brokers do that by themselves.`}</Problem>}
      <TypeName name={detail.name} value={typed} change={setTyped} />
    </Confirm>
  );
}

function Page({ cluster, detail, reload }: { cluster: Cluster; detail: TopicDetail; reload: () => void }): JSX.Element {
  const [asking, ask] = useState<"grow" | "delete" | "elect" | null>(null);
  const { name, live, min_in_sync: minInSync } = detail;
  const wrong = live.partitions.filter((one) => one.leader != null && !isPreferred(one)).length;
  const done = () => {
    ask(null);
    reload();
  };
  const reassign = () => {
    chosenTopics.value = { cluster: cluster.name, topics: [name] };
    go(pageAt(cluster.name, "reassign"));
  };
  const tools = (
    <>
      {cluster.mayEdit && (
        <>
          {!detail.is_internal && <a class="button" href={loadAt(cluster, name)}>Load on this topic</a>}
          {wrong > 0 && <button type="button" class="plain" onClick={() => ask("elect")}>Elect preferred leaders …</button>}
          <button type="button" class="plain" onClick={reassign}>Reassign …</button>
          <button type="button" class="plain" onClick={() => ask("grow")}>Add partitions …</button>
          {!detail.is_internal && <button type="button" class="plain" onClick={() => ask("delete")}>Delete …</button>}
        </>
      )}
    </>
  );
  const bytes = live.partitions.reduce<number | null>((sum, one) => (sum === null || one.size_bytes == null ? null : sum + one.size_bytes * one.replicas.length), 0);
  return (
    <>
      <Heading title={name} name={name} tools={tools} />
      {detail.problems.map((one) => <Problem key={one}>{one}</Problem>)}
      <dl class="facts-line">
        <div><dt>Partitions</dt><dd>{count(live.partitions.length)}, {plural(Math.max(0, ...live.partitions.map((one) => one.replicas.length)), "replica")} each</dd></div>
        <div><dt>Min ISR</dt><dd>{minInSync ?? MISSING}</dd></div>
        <div><dt>Size, about</dt><dd>{size(bytes)} with replicas</dd></div>
        <div><dt>Records in</dt><dd>{perSecond(live.records_in_per_s)}</dd></div>
        <div><dt>Id</dt><dd>{detail.id ?? MISSING}{detail.is_internal && ", Kafka’s own"}</dd></div>
      </dl>
      <Section id="partitions" title="Partitions"><Partitions cluster={cluster} topic={name} rows={live.partitions} minInSync={minInSync} reload={reload} /></Section>
      <Section id="consumers" title="Consumers"><Consumers cluster={cluster.name} groups={live.groups} /></Section>
      <Section id="records" title="Newest records"><Records cluster={cluster} topic={name} partitions={live.partitions.length} /></Section>
      <Section id="verify" title="Comparison of replicas"><Verify cluster={cluster} topic={name} bytes={bytes} /></Section>
      <Section id="configuration" title="Configuration">{detail.configs == null ? <p class="none">It could not be read.</p> : <Configs label="Configuration of the topic" configs={detail.configs} own={["dynamic-topic"]} path={cluster.mayEdit ? apiOf(cluster.name, "topics", name, "configs") : null} reload={reload} />}</Section>
      {asking === "grow" && <Grow cluster={cluster.name} detail={detail} done={done} cancel={() => ask(null)} />}
      {asking === "delete" && <Delete cluster={cluster.name} detail={detail} cancel={() => ask(null)} />}
      {asking === "elect" && <Elect cluster={cluster.name} topics={{ [name]: [] }} done={done} cancel={() => ask(null)}><p>{plural(wrong, "partition")} of {name} would be led by the first of the replicas again, where it is in sync.</p></Elect>}
    </>
  );
}

/** The page of a topic. */
export function Topic({ cluster, name }: { cluster: Cluster; name: string }): JSX.Element {
  const detail = useResource<TopicDetail>(apiOf(cluster.name, "topics", name));
  return (
    <Await of={detail} what="topic" back={<a href={pageAt(cluster.name, "topics")}>All topics</a>}>
      {(data) => <Page cluster={cluster} detail={{ ...data, live: later(cluster.live.topic, data.live) ?? data.live }} reload={detail.reload} />}
    </Await>
  );
}
