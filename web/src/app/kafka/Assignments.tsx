// Assignments: partitions that move, plans, preferred leaders.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count } from "../../format";
import type { ReassignmentList, ReassignmentPreview, ReassignmentPlanRequest, TopicList, TopicRow } from "../../kafka-api";
import { Section, Table } from "../../section/Section";
import { post } from "../client";
import { Await, Heading, Problem, useAction } from "../pieces";
import { useResource } from "../resource";
import { plural } from "../words";
import { Ongoing } from "./Ongoing";
import { PlanTable } from "./PlanTable";
import { PlanForms } from "./PlanForms";
import { Elect, later, type Cluster } from "./parts";
import { apiOf, pageAt } from "./route";

/** Topics whose leaders are listed. */
const DRAWN = 100;

function Leaders({ cluster, topics, reload }: { cluster: Cluster; topics: readonly TopicRow[]; reload: () => void }): JSX.Element {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, ask] = useState<"all" | "some" | null>(null);
  const wrong = topics.filter((topic) => topic.leader_imbalance > 0).sort((a, b) => b.leader_imbalance - a.leader_imbalance);
  const all = wrong.reduce((sum, topic) => sum + topic.leader_imbalance, 0);
  const some = wrong.filter((topic) => chosen.has(topic.name));
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  const done = () => {
    ask(null);
    setChosen(new Set());
    reload();
  };
  if (wrong.length === 0) return <p class="none">Every partition is led by its preferred leader.</p>;
  return (
    <>
      <p class="lead">{plural(all, "partition")} of {plural(wrong.length, "topic")} {all === 1 ? "is" : "are"} led by another broker than the first of the replicas. One partition alone: on the page of its topic.</p>
      {cluster.mayEdit && (
        <div class="filters">
          <button type="button" class="plain" onClick={() => ask("all")}>Elect all {count(all)} …</button>
          <button type="button" class="plain" disabled={some.length === 0} onClick={() => ask("some")}>Elect those of {plural(some.length, "selected topic")} …</button>
        </div>
      )}
      <Table label="Topics with leaders that are not preferred">
        <thead><tr><th scope="col">topic</th><th scope="col" class="n">partitions</th><th scope="col" class="n">leader not preferred</th></tr></thead>
        <tbody>
          {wrong.slice(0, DRAWN).map((topic) => (
            <tr key={topic.name}>
              <th scope="row">{cluster.mayEdit && <input type="checkbox" checked={chosen.has(topic.name)} onChange={() => toggle(topic.name)} aria-label={`Select ${topic.name}`} />} <a href={pageAt(cluster.name, "topics", topic.name)}>{topic.name}</a></th>
              <td class="n">{count(topic.partitions)}</td><td class="n">{count(topic.leader_imbalance)}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      {wrong.length > DRAWN && <p class="how">The first {count(DRAWN)} of {count(wrong.length)}.</p>}
      {asking !== null && (
        <Elect cluster={cluster.name} topics={asking === "all" ? null : Object.fromEntries(some.map((topic) => [topic.name, []]))} done={done} cancel={() => ask(null)}>
          <p>{plural(asking === "all" ? all : some.reduce((sum, topic) => sum + topic.leader_imbalance, 0), "partition")} would be led by the first of the replicas again, where it is in sync. Clients notice a change of leader as a short pause.</p>
        </Elect>
      )}
    </>
  );
}

/** The page of assignments. */
export function Assignments({ cluster }: { cluster: Cluster }): JSX.Element {
  const first = useResource<ReassignmentList>(apiOf(cluster.name, "reassignments"));
  const topics = useResource<TopicList>(apiOf(cluster.name, "topics"));
  const [plan, setPlan] = useState<ReassignmentPreview | null>(null);
  const action = useAction();
  const known = cluster.live.overview;
  // The list of topics is not in the stream of this page: it is asked for when what it shows here has changed.
  const state = known === null ? "" : `${known.topics} ${known.partitions} ${known.leader_imbalance} ${known.reassigning}`;
  useEffect(() => topics.reload(), [state]);
  const ongoing = later(cluster.live.reassignments, first.data);
  const make = (request: ReassignmentPlanRequest) => {
    setPlan(null);
    action.run(async () => setPlan(await post<ReassignmentPreview>(apiOf(cluster.name, "reassignments", "plan"), request)));
  };
  const begun = () => {
    setPlan(null);
    first.reload();
    document.getElementById("ongoing")?.scrollIntoView();
  };
  return (
    <>
      <Heading title="Assignments" name={`Assignments of ${cluster.name}`} lead="Which brokers have the replicas of each partition, and which of them leads." />
      <Section id="ongoing" title="Reassignments in progress"><Await of={{ ...first, data: ongoing }} what="list of reassignments">{(list) => <Ongoing cluster={cluster.name} list={list} mayEdit={cluster.mayEdit} reload={first.reload} />}</Await></Section>
      {cluster.mayEdit && (
        <Section id="plan" title="Plan" lead="A plan is shown with every reassignment and its bytes before anything is done.">
          <Await of={topics} what="list of topics">{(list) => <PlanForms cluster={cluster} topics={list.topics} action={action} make={make} />}</Await>
          {action.problem !== null && <Problem>{action.problem}</Problem>}
          {plan !== null && <PlanTable cluster={cluster.name} plan={plan} mayEdit={cluster.mayEdit} done={begun} />}
        </Section>
      )}
      <Section id="leaders" title="Preferred leaders"><Await of={topics} what="list of topics">{(list) => <Leaders cluster={cluster} topics={list.topics} reload={topics.reload} />}</Await></Section>
    </>
  );
}
