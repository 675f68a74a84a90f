// The three ways to a plan of reassignments: levelled by the server, broker lists by hand, the JSON of Kafka's tool.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count } from "../../format";
import type { ReplicaAssignment, ReassignmentPlanRequest, PartitionRow, TopicDetail, TopicRow } from "../../kafka-api";
import { Choice } from "../../section/Section";
import { FileButton, Problem, type Action } from "../pieces";
import { useResource } from "../resource";
import { plural, searched } from "../words";
import { VirtualTable, type Column } from "../VirtualTable";
import { Field, Tick, type Cluster } from "./parts";
import { brokersOf, fromTool } from "./plan";
import { apiOf, chosenTopics } from "./route";
import type { Order } from "../rows";

interface Props {
  cluster: Cluster;
  topics: readonly TopicRow[];
  action: Action;
  make: (request: ReassignmentPlanRequest) => void;
}

/** Topics that are drawn to tick. */
const DRAWN = 200;

function TopicChoice({ topics, chosen, choose }: { topics: readonly TopicRow[]; chosen: ReadonlySet<string>; choose: (chosen: ReadonlySet<string>) => void }): JSX.Element {
  const [text, setText] = useState("");
  const found = searched(topics, text, (topic) => topic.name);
  // What is selected stays in sight.
  const shown = [...found.filter((topic) => chosen.has(topic.name)), ...found.filter((topic) => !chosen.has(topic.name))].slice(0, DRAWN);
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    choose(next);
  };
  return (
    <>
      <search class="filters">
        <label>Topic <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <button type="button" class="plain" onClick={() => choose(new Set([...chosen, ...found.map((topic) => topic.name)]))}>Select all {count(found.length)}</button>
        <button type="button" class="plain" onClick={() => choose(new Set())}>Select none</button>
        <span role="status">{count(chosen.size)} selected</span>
      </search>
      <div class="library picks" role="group" aria-label="Topics" tabIndex={0}>
        {shown.map((topic) => <label key={topic.name}><input type="checkbox" checked={chosen.has(topic.name)} onChange={() => toggle(topic.name)} /><span>{topic.name} <span class="quiet">{plural(topic.partitions, "partition")}</span></span></label>)}
        {found.length > shown.length && <p class="none">and {count(found.length - shown.length)} more: search for them</p>}
      </div>
    </>
  );
}

/** The server levels replicas and leaders. */
function Level({ cluster, topics, action, make }: Props): JSX.Element {
  const own = topics.filter((topic) => !topic.is_internal);
  const given = chosenTopics.value.cluster === cluster.name ? chosenTopics.value.topics : [];
  const [which, setWhich] = useState<"all" | "some">(given.length > 0 ? "some" : "all");
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set(given));
  const [drained, drain] = useState<ReadonlySet<number>>(new Set());
  const [replicas, setReplicas] = useState("");
  const brokers = cluster.overview?.brokers ?? [];
  const factor = replicas.trim() === "" ? null : Number(replicas);
  const left = brokers.length - drained.size;
  const wrong = factor === null ? (left === 0 ? "A broker must be left" : null) : !Number.isSafeInteger(factor) || factor < 1 ? "Replicas: a whole number above 0" : factor > left ? `Replicas: ${plural(left, "broker")} are left for them` : null;
  const request: ReassignmentPlanRequest = { topics: which === "all" ? null : [...chosen].sort(), brokers: null, drain: [...drained].sort((a, b) => a - b), replicas: factor, by_hand: [] };
  const toggle = (id: number) => {
    const next = new Set(drained);
    if (!next.delete(id)) next.add(id);
    drain(next);
  };
  return (
    <div class="form broad">
      <Choice legend="Topics" name="which-topics" options={[{ value: "all", label: `all ${count(own.length)} but Kafka’s own` }, { value: "some", label: "some" }]} value={which} choose={setWhich} />
      {which === "some" && <TopicChoice topics={topics} chosen={chosen} choose={choose} />}
      <fieldset>
        <legend>Replicas may lie on</legend>
        {brokers.map((broker) => <Tick key={broker.id} label={`broker ${broker.id}${broker.rack == null ? "" : `, ${broker.rack}`}${broker.address == null ? " (down)" : ""}`} isOn={!drained.has(broker.id)} change={() => toggle(broker.id)} />)}
      </fieldset>
      <p class="how">A broker without its tick is drained: all its replicas of these topics move off. A new broker gets its part. Replicas and leaders are levelled over brokers and racks with as little copying as possible.</p>
      <fieldset><Field label="Replicas of each partition" type="number" value={replicas} change={setReplicas} hint="as now" /></fieldset>
      {wrong !== null && <Problem>{wrong}</Problem>}
      <div class="tools"><button type="button" class="strong" disabled={action.isBusy || wrong !== null || (which === "some" && chosen.size === 0)} onClick={() => make(request)}>{action.isBusy ? "Planning …" : "Make a plan"}</button></div>
    </div>
  );
}

function Lists({ partitions, texts, edit }: { partitions: readonly PartitionRow[]; texts: ReadonlyMap<number, string>; edit: (partition: number, text: string) => void }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "partition", isDescending: false });
  const columns: Column<PartitionRow>[] = [
    { key: "partition", label: "partition", width: 12, cell: (row) => row.partition, sort: (row) => row.partition },
    { key: "now", label: "brokers now", width: 22, cell: (row) => row.replicas.join(", "), sort: (row) => row.replicas.join() },
    {
      key: "then", label: "brokers then", width: 30,
      cell: (row) => {
        const text = texts.get(row.partition) ?? row.replicas.join(", ");
        return <input type="text" value={text} aria-label={`Brokers of partition ${row.partition}`} aria-invalid={typeof brokersOf(text) === "string"} onInput={(event) => edit(row.partition, event.currentTarget.value)} />;
      },
    },
  ];
  return <VirtualTable label="Brokers of each partition" rows={partitions} columns={columns} keyOf={(row) => String(row.partition)} order={order} setOrder={setOrder} />;
}

/** Broker lists of a topic's partitions, edited. */
function ByHand({ cluster, topics, action, make }: Props): JSX.Element {
  const [name, setName] = useState("");
  const [texts, setTexts] = useState<ReadonlyMap<number, string>>(new Map());
  const isTopic = topics.some((topic) => topic.name === name);
  const detail = useResource<TopicDetail>(isTopic ? apiOf(cluster.name, "topics", name) : null);
  const partitions = detail.data?.live.partitions ?? [];
  const changed = useMemo(() => {
    const edited = partitions.flatMap((row): (ReplicaAssignment | string)[] => {
      const text = texts.get(row.partition);
      if (text === undefined) return [];
      const brokers = brokersOf(text);
      if (typeof brokers === "string") return [`Partition ${row.partition}: ${brokers}`];
      if (brokers.length === 0) return [`Partition ${row.partition}: at least one broker`];
      return brokers.join() === row.replicas.join() ? [] : [{ topic: name, partition: row.partition, replicas: brokers }];
    });
    return { moves: edited.filter((one) => typeof one !== "string"), wrong: edited.filter((one) => typeof one === "string") };
  }, [partitions, texts]);
  return (
    <div class="form broad">
      <label>
        <span>Topic</span>
        <input type="text" list="topics-by-hand" value={name} spellcheck={false} autocomplete="off" onInput={(event) => { setName(event.currentTarget.value); setTexts(new Map()); }} />
        <datalist id="topics-by-hand">{searched(topics, name, (topic) => topic.name).slice(0, 50).map((topic) => <option key={topic.name} value={topic.name} />)}</datalist>
      </label>
      {detail.problem !== null && <Problem again={detail.reload}>{detail.problem}</Problem>}
      {name !== "" && !isTopic && <p class="none">There is no topic of this name.</p>}
      {partitions.length > 0 && <Lists partitions={partitions} texts={texts} edit={(partition, text) => setTexts(new Map([...texts, [partition, text]]))} />}
      {changed.wrong.slice(0, 3).map((one) => <Problem key={one}>{one}</Problem>)}
      <div class="tools"><button type="button" class="strong" disabled={action.isBusy || changed.moves.length === 0 || changed.wrong.length > 0} onClick={() => make({ by_hand: changed.moves })}>Make a plan{changed.moves.length > 0 && ` of ${plural(changed.moves.length, "partition")}`}</button></div>
    </div>
  );
}

/** The JSON of kafka-reassign-partitions. */
function Json({ action, make }: Props): JSX.Element {
  const [text, setText] = useState("");
  const [state, setState] = useState<{ wrong: string | null; notes: readonly string[] }>({ wrong: null, notes: [] });
  const plan = () => {
    try {
      const { partitions, notes } = fromTool(text);
      setState({ wrong: null, notes });
      make({ by_hand: partitions });
    } catch (error) {
      setState({ wrong: error instanceof Error ? error.message : String(error), notes: [] });
    }
  };
  return (
    <div class="form broad">
      <label class="tall"><span>What kafka-reassign-partitions reads and writes</span><textarea rows={7} value={text} spellcheck={false} placeholder='{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}]}' onInput={(event) => setText(event.currentTarget.value)} /></label>
      {state.wrong !== null && <Problem>{state.wrong}</Problem>}
      {state.notes.map((one) => <p key={one} class="how">{one}</p>)}
      <div class="tools">
        <FileButton label="Choose a file" accept=".json,application/json" take={(file) => void file.text().then(setText)} />
        <button type="button" class="strong" disabled={action.isBusy || text.trim() === ""} onClick={plan}>Make a plan</button>
      </div>
    </div>
  );
}

/** The forms, one at a time. */
export function PlanForms(props: Props): JSX.Element {
  const [way, setWay] = useState<"level" | "hand" | "json">("level");
  return (
    <>
      <Choice legend="Plan" name="way" options={[{ value: "level", label: "levelled" }, { value: "hand", label: "by hand" }, { value: "json", label: "from JSON" }]} value={way} choose={setWay} />
      {way === "level" && <Level {...props} />}
      {way === "hand" && <ByHand {...props} />}
      {way === "json" && <Json {...props} />}
    </>
  );
}
