// The dialog that creates a topic.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Config, ItemResults } from "../../kafka-api";
import { Choice } from "../../section/Section";
import { post } from "../client";
import { Confirm, Do, Problem, useAction } from "../pieces";
import { useResource } from "../resource";
import { Field, checked, type Cluster } from "./parts";
import { apiOf } from "./route";
import { FIRST, requestOf, type TopicForm } from "./topic-form";

/** What the brokers have as default, as far as it can be read from one of them. */
function useDefaults(cluster: Cluster): (key: string) => string {
  const broker = cluster.overview?.brokers.find((one) => one.address != null)?.id;
  const detail = useResource<{ configs?: Config[] | null }>(broker === undefined ? null : apiOf(cluster.name, "brokers", broker));
  return (key) => {
    const value = detail.data?.configs?.find((one) => one.name === key)?.value;
    return value == null ? "the brokers’ default" : `${value}, the brokers’ default`;
  };
}

/** The dialog; `done` when the topic exists and is in sync. */
export function CreateTopic({ cluster, done, cancel }: { cluster: Cluster; done: (name: string) => void; cancel: () => void }): JSX.Element {
  const [form, change] = useState<TopicForm>(FIRST);
  const [wrong, setWrong] = useState<readonly string[]>([]);
  const [isValid, setValid] = useState(false);
  const action = useAction();
  const check = useAction();
  const defaultOf = useDefaults(cluster);
  const send = async (isOnlyCheck: boolean): Promise<string | null> => {
    const made = requestOf(form);
    setWrong(Array.isArray(made) ? made : []);
    setValid(false);
    if (Array.isArray(made)) return null;
    checked(await post<ItemResults>(apiOf(cluster.name, "topics"), { ...made, validate_only: isOnlyCheck }));
    return made.name;
  };
  const yes = async () => {
    const name = await send(false);
    if (name !== null) done(name);
  };
  const tryIt = async () => setValid((await send(true)) !== null);
  const set = (next: Partial<TopicForm>) => {
    setValid(false);
    change({ ...form, ...next });
  };
  return (
    <Confirm title="Create a topic" yes="Create" onYes={yes} onNo={cancel} action={action} isWide extra={<Do action={check} run={tryIt}>Check</Do>}>
      <Field label="Name" value={form.name} change={(name) => set({ name })} isWide />
      <Choice legend="Placed" name="placed" options={[{ value: "by-cluster", label: "by the cluster" }, { value: "by-hand", label: "by hand" }]} value={form.placed} choose={(placed) => set({ placed })} />
      {form.placed === "by-cluster" ? (
        <>
          <fieldset>
            <Field label="Partitions" type="number" value={form.partitions} change={(partitions) => set({ partitions })} hint="default" />
            <Field label="Replicas of each" type="number" value={form.replicas} change={(replicas) => set({ replicas })} hint="default" />
          </fieldset>
          <p class="how">
            Empty: partitions {defaultOf("num.partitions")} (num.partitions); replicas {defaultOf("default.replication.factor")} (default.replication.factor).
            Partitions are the most consumers of a group that read at the same time; they can be added later, not removed. With three replicas one broker may fail and
            acks=all still writes, if min.insync.replicas is 2; it is {defaultOf("min.insync.replicas")}.
          </p>
        </>
      ) : (
        <label class="tall"><span>Brokers of each partition, a line for each, the preferred leader first</span><textarea rows={4} value={form.assignment} placeholder={"1, 2, 3\n2, 3, 1"} spellcheck={false} onInput={(event) => set({ assignment: event.currentTarget.value })} /></label>
      )}
      <label class="tall"><span>Configuration, key=value on each line; all other keys have the brokers’ defaults</span><textarea rows={3} value={form.configs} placeholder={"retention.ms=604800000\nmin.insync.replicas=2"} spellcheck={false} onInput={(event) => set({ configs: event.currentTarget.value })} /></label>
      {wrong.map((one) => <Problem key={one}>{one}</Problem>)}
      {check.problem !== null && <Problem>{check.problem}</Problem>}
      {isValid && <p role="status">● The cluster would create it.</p>}
      {action.isBusy && <p role="status">Waiting until it exists and all replicas are in sync …</p>}
    </Confirm>
  );
}
