// The topics of a cluster: searched, sorted, created, and what can be done with several of them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { TopicList, TopicRow } from "../../kafka-api";
import { remove } from "../client";
import { Confirm, Await, Heading, useAction } from "../pieces";
import { useResource } from "../resource";
import { go } from "../router";
import { plural, searched, size } from "../words";
import { CreateTopic } from "./CreateTopic";
import { VirtualTable, type Column } from "../VirtualTable";
import { Elect, Tick, TypeName, duration, later, perSecond, type Cluster } from "./parts";
import { apiOf, chosenTopics, deletionOf, pageAt } from "./route";
import type { Order } from "../rows";

/** What the reader looks for; it stays while other pages are shown. */
const wanted = signal<{ text: string; isInternal: boolean; isWrong: boolean; order: Order }>({ text: "", isInternal: false, isWrong: false, order: { column: "name", isDescending: false } });

function isWrong(topic: TopicRow): boolean {
  return topic.offline > 0 || topic.under_replicated > 0;
}

function State({ topic }: { topic: TopicRow }): JSX.Element {
  if (topic.offline > 0) return <b class="bad">▲ {count(topic.offline)} offline</b>;
  if (topic.under_replicated > 0) return <b class="warn">▲ {count(topic.under_replicated)} under-replicated</b>;
  return topic.leader_imbalance > 0 ? <span class="quiet">{plural(topic.leader_imbalance, "leader")} not preferred</span> : <>in sync</>;
}

function columnsOf(cluster: string): Column<TopicRow>[] {
  return [
    { key: "name", label: "topic", width: 36, cell: (topic) => <a href={pageAt(cluster, "topics", topic.name)} title={topic.name}>{topic.name}</a>, sort: (topic) => topic.name },
    { key: "state", label: "state", width: 22, cell: (topic) => <State topic={topic} />, sort: (topic) => topic.offline * 1e6 + topic.under_replicated * 1e3 + topic.leader_imbalance },
    { key: "partitions", label: "partitions", width: 12, kind: "n", cell: (topic) => count(topic.partitions), sort: (topic) => topic.partitions },
    { key: "replicas", label: "replicas", width: 11, kind: "n", cell: (topic) => count(topic.replicas), sort: (topic) => topic.replicas },
    { key: "size", label: "size", width: 12, kind: "n", cell: (topic) => size(topic.size_bytes), sort: (topic) => topic.size_bytes },
    { key: "records", label: "records", width: 15, kind: "n", cell: (topic) => count(topic.records), sort: (topic) => topic.records },
    { key: "rate", label: "records in", width: 13, kind: "n", cell: (topic) => perSecond(topic.records_in_per_s), sort: (topic) => topic.records_in_per_s },
    { key: "retention", label: "retention", width: 12, kind: "n", cell: (topic) => duration(topic.retention_ms), sort: (topic) => (topic.retention_ms === -1 ? Number.MAX_VALUE : topic.retention_ms) },
    { key: "lag", label: "lag", width: 13, kind: "n", cell: (topic) => count(topic.lag), sort: (topic) => topic.lag },
  ];
}

/** Asks before topics are deleted, and says what would be lost. */
function Delete({ cluster, topics, done, cancel }: { cluster: string; topics: readonly TopicRow[]; done: () => void; cancel: () => void }): JSX.Element {
  const [typed, setTyped] = useState("");
  const [deleted, setDeleted] = useState(0);
  const action = useAction();
  const word = topics.length === 1 ? (topics[0]?.name ?? "") : `delete ${topics.length} topics`;
  const isKnown = topics.every((topic) => topic.size_bytes != null && topic.records != null);
  const bytes = topics.reduce((sum, topic) => sum + (topic.size_bytes ?? 0), 0);
  const records = topics.reduce((sum, topic) => sum + (topic.records ?? 0), 0);
  const yes = async () => {
    for (const topic of topics.slice(deleted)) {
      await remove(deletionOf(cluster, topic));
      setDeleted((before) => before + 1);
    }
    done();
  };
  return (
    <Confirm title={topics.length === 1 ? "Delete this topic?" : `Delete these ${topics.length} topics?`} yes="Delete for ever" no="Keep" onYes={yes} onNo={deleted > 0 ? done : cancel} action={action} isBlocked={typed !== word}>
      <p>Records are lost, on all brokers: {isKnown ? `${count(records)} records, ${size(bytes)} with all replicas` : "how many could not be read"}. Producers and consumers of them fail.</p>
      <ul class="losses">{topics.map((topic) => <li key={topic.name}><b>{topic.name}</b>: {plural(topic.partitions, "partition")}, {size(topic.size_bytes)}{(topic.records_in_per_s ?? 0) > 0 && <b class="warn"> ▲ written to now</b>}</li>)}</ul>
      <TypeName name={word} value={typed} change={setTyped} />
      {action.isBusy && topics.length > 1 && <p role="status">{count(deleted)} of {count(topics.length)} deleted</p>}
    </Confirm>
  );
}

function List({ cluster, topics, reload }: { cluster: Cluster; topics: readonly TopicRow[]; reload: () => void }): JSX.Element {
  const { text, isInternal, isWrong: isWrongOnly, order } = wanted.value;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, ask] = useState<"delete" | "elect" | null>(null);
  const shown = useMemo(() => {
    const some = topics.filter((topic) => (isInternal || !topic.is_internal) && (!isWrongOnly || isWrong(topic)));
    return searched(some, text, (topic) => topic.name);
  }, [topics, text, isInternal, isWrongOnly]);
  const columns = useMemo(() => columnsOf(cluster.name), [cluster.name]);
  const selected = topics.filter((topic) => chosen.has(topic.name));
  const change = (next: Partial<typeof wanted.value>) => {
    wanted.value = { ...wanted.value, ...next };
  };
  const choose = (name: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  const reassign = () => {
    chosenTopics.value = { cluster: cluster.name, topics: selected.map((topic) => topic.name) };
    go(pageAt(cluster.name, "reassign"));
  };
  const done = () => {
    ask(null);
    setChosen(new Set());
    reload();
  };
  const isInternalChosen = selected.some((topic) => topic.is_internal);
  return (
    <>
      <search class="filters">
        <label>Name <input type="search" value={text} onInput={(event) => change({ text: event.currentTarget.value })} /></label>
        <Tick label="only with problems" isOn={isWrongOnly} change={(isOn) => change({ isWrong: isOn })} />
        <Tick label="Kafka’s own" isOn={isInternal} change={(isOn) => change({ isInternal: isOn })} />
      </search>
      <p class="found" role="status">{shown.length === topics.length ? plural(topics.length, "topic") : `${count(shown.length)} of ${plural(topics.length, "topic")}`}</p>
      {cluster.mayEdit && selected.length > 0 && (
        <div class="chosen" role="region" aria-label="Selected topics">
          <span>{count(selected.length)} selected</span>
          <button type="button" class="plain" disabled={isInternalChosen} title={isInternalChosen ? "Kafka’s own topics are not deleted here" : undefined} onClick={() => ask("delete")}>Delete …</button>
          <button type="button" class="plain" onClick={reassign}>Reassign …</button>
          <button type="button" class="plain" onClick={() => ask("elect")}>Elect preferred leaders …</button>
          <button type="button" class="plain" onClick={() => setChosen(new Set(shown.map((topic) => topic.name)))}>Select all {count(shown.length)}</button>
          <button type="button" class="plain" onClick={() => setChosen(new Set())}>Select none</button>
        </div>
      )}
      {shown.length === 0 ? <p class="none">No topic is like that. <button type="button" onClick={() => change({ text: "", isWrong: false })}>Show all</button></p> : (
        <VirtualTable
          label="Topics" rows={shown} columns={columns} keyOf={(topic) => topic.name} order={order} setOrder={(next) => change({ order: next })}
          chosen={cluster.mayEdit ? { keys: chosen, choose } : undefined} isMarked={(topic) => topic.offline > 0}
        />
      )}
      <p class="how">Size: of all replicas. Records: between first and last offset, more than there are where a topic is compacted. Lag: of all groups together. “{MISSING}”: not known; what could not be read is said above.</p>
      {asking === "delete" && <Delete cluster={cluster.name} topics={selected} done={done} cancel={() => ask(null)} />}
      {asking === "elect" && (
        <Elect cluster={cluster.name} topics={Object.fromEntries(selected.map((topic) => [topic.name, []]))} done={done} cancel={() => ask(null)}>
          <p>{plural(selected.reduce((sum, topic) => sum + topic.leader_imbalance, 0), "partition")} of {plural(selected.length, "topic")} would be led by the first of the replicas again, where it is in sync.</p>
        </Elect>
      )}
    </>
  );
}

/** The page of all topics. */
export function Topics({ cluster }: { cluster: Cluster }): JSX.Element {
  const first = useResource<TopicList>(apiOf(cluster.name, "topics"));
  const [isCreating, setCreating] = useState(false);
  const newest = later(cluster.live.topics, first.data);
  return (
    <>
      <Heading title="Topics" name={`Topics of ${cluster.name}`} tools={cluster.mayEdit && <button type="button" class="strong" onClick={() => setCreating(true)}>Create a topic …</button>} />
      <Await of={{ ...first, data: newest }} what="list of topics">
        {({ topics }) => (topics.length === 0 ? <p class="none">There is no topic yet.</p> : <List cluster={cluster} topics={topics} reload={first.reload} />)}
      </Await>
      {isCreating && <CreateTopic cluster={cluster} cancel={() => setCreating(false)} done={(name) => go(pageAt(cluster.name, "topics", name))} />}
    </>
  );
}
