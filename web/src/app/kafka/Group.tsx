// A consumer group: members, lag of each partition now and over time, resetting offsets, deleting it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { GroupLive, GroupMember, PartitionLag } from "../../kafka-api";
import { Section, Table } from "../../section/Section";
import { remove } from "../client";
import { Confirm, Await, Heading, Problem, useAction } from "../pieces";
import { useResource } from "../resource";
import { go } from "../router";
import { plural, sentence } from "../words";
import { ResetOffsets } from "./ResetOffsets";
import { VirtualTable, type Column } from "../VirtualTable";
import { LiveChart, TypeName, later, typeOf, type Cluster } from "./parts";
import { apiOf, pageAt } from "./route";
import type { Order } from "../rows";

/** Partitions that have a line of their own. */
const LARGEST = 5;

function nameOf(one: PartitionLag): string {
  return `${one.topic}-${one.partition}`;
}

/** The first of these partitions. */
function named(all: readonly PartitionLag[]): string {
  const first = all.slice(0, LARGEST).map(nameOf).join(", ");
  return all.length > LARGEST ? `${first} and ${count(all.length - LARGEST)} more` : first;
}

/** The lag, with what a commit outside the log means for it. */
function LagCell({ of }: { of: PartitionLag }): JSX.Element {
  if (of.commit === "beyond-end") return <b class="warn" title="The topic was made again or has lost records: a consumer is reset there (auto.offset.reset)">▲ {count(-(of.lag ?? 0))} beyond end</b>;
  if (of.commit === "before-start") return <span title="Records were deleted that the group has not read">{count(of.lag)}, {count(of.readable)} left</span>;
  return <>{count(of.lag)}</>;
}

function Members({ cluster, members, notShown }: { cluster: string; members: readonly GroupMember[]; notShown: string | null }): JSX.Element {
  if (members.length === 0 && notShown !== null) return <p class="none">{sentence(notShown)}</p>;
  if (members.length === 0) return <p class="none">It has no members: nobody reads with it now.</p>;
  return (
    <Table label="Members">
      <thead><tr><th scope="col">client</th><th scope="col">host</th><th scope="col">member</th><th scope="col">instance</th><th scope="col">assignment</th></tr></thead>
      <tbody>
        {members.map((member) => (
          <tr key={member.id}>
            <th scope="row">{member.client_id || MISSING}</th><td>{member.host}</td><td class="words">{member.id}</td><td>{member.group_instance_id ?? MISSING}</td>
            <td class="words">{member.assignment.length === 0 ? "nothing" : member.assignment.map(([topic, partitions], index) => <span key={topic}>{index > 0 && "; "}<a href={pageAt(cluster, "topics", topic)}>{topic}</a>: {partitions.join(", ")}</span>)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Lags({ cluster, group }: { cluster: string; group: GroupLive }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "lag", isDescending: true });
  const clients = new Map(group.group.members.map((member) => [member.id, member]));
  const owner = (one: PartitionLag) => {
    const member = one.member == null ? undefined : clients.get(one.member);
    return member === undefined ? one.member ?? null : `${member.client_id} ${member.host}`;
  };
  const columns: Column<PartitionLag>[] = [
    { key: "partition", label: "partition", width: 36, cell: (one) => <a href={pageAt(cluster, "topics", one.topic)} title={nameOf(one)}>{nameOf(one)}</a>, sort: nameOf },
    { key: "committed", label: "committed", width: 14, kind: "n", cell: (one) => count(one.committed), sort: (one) => one.committed },
    { key: "end", label: "end", width: 13, kind: "n", cell: (one) => count(one.end), sort: (one) => one.end },
    { key: "lag", label: "lag", width: 20, kind: "n", cell: (one) => <LagCell of={one} />, sort: (one) => one.lag },
    { key: "member", label: "member", width: 33, cell: (one) => <span title={one.member ?? undefined}>{owner(one) ?? MISSING}</span>, sort: owner },
  ];
  const outside = group.partitions.filter((one) => one.commit === "beyond-end");
  const unknown = group.partitions.filter((one) => one.problem != null);
  return (
    <>
      {outside.length > 0 && <Problem>{`The commits of ${plural(outside.length, "partition")} lie beyond the end: ${named(outside)}. A topic was made again or has lost records. A consumer is reset there (auto.offset.reset); resetting the offsets says where to.`}</Problem>}
      {unknown.length > 0 && <Problem>{`The end of ${named(unknown)} is ${unknown.some((one) => one.end == null) ? "not known" : "that of before"}: ${unknown[0]?.problem ?? ""}.`}</Problem>}
      <VirtualTable label="Lag of partitions" rows={group.partitions} columns={columns} keyOf={nameOf} order={order} setOrder={setOrder} />
    </>
  );
}

function Delete({ cluster, group, cancel }: { cluster: string; group: GroupLive; cancel: () => void }): JSX.Element {
  const [typed, setTyped] = useState("");
  const action = useAction();
  const { name } = group.group;
  const committed = group.partitions.filter((one) => one.committed != null).length;
  const yes = async () => {
    await remove(apiOf(cluster, "groups", name));
    go(pageAt(cluster, "groups"));
  };
  return (
    <Confirm title={`Delete ${name}?`} yes="Delete for ever" no="Keep" onYes={yes} onNo={cancel} action={action} isBlocked={typed !== name}>
      <p>Its committed offsets of {plural(committed, "partition")} are lost. Consumers that join it again begin where their auto.offset.reset says. No record is lost.</p>
      <TypeName name={name} value={typed} change={setTyped} />
    </Confirm>
  );
}

function Page({ cluster, group, reload }: { cluster: Cluster; group: GroupLive; reload: () => void }): JSX.Element {
  const [asking, ask] = useState<"reset" | "delete" | null>(null);
  const { name, state, members, group_type: type, assignor, coordinator, not_shown: notShown } = group.group;
  const isActive = members.length > 0 || (notShown != null && state !== "Empty" && state !== "Dead");
  const isStatic = members.some((one) => one.group_instance_id != null);
  const history = cluster.live.lags;
  const largest = group.partitions.filter((one) => one.lag != null).sort((a, b) => (b.lag ?? 0) - (a.lag ?? 0)).slice(0, LARGEST).map((one) => [nameOf(one), nameOf(one)] as const);
  const total = history.lines([["", "all partitions"]]);
  const each = history.lines(largest);
  const tools = cluster.mayEdit && (
    <>
      <button type="button" class="plain" disabled={isActive || type === "share"} onClick={() => ask("reset")}>Reset offsets …</button>
      <button type="button" class="plain" disabled={isActive} onClick={() => ask("delete")}>Delete …</button>
    </>
  );
  const done = () => {
    ask(null);
    reload();
  };
  return (
    <>
      <Heading title={name} name={name} tools={tools} />
      {cluster.mayEdit && isActive && <p class="how">A group with members can be neither reset nor deleted: its members would go on from their own positions and commit those. Stop its {members.length === 0 ? "members" : plural(members.length, "member")} first.{isStatic && " A static member (group.instance.id) that has stopped stays one until its session timeout."}</p>}
      <dl class="now">
        <div><dt>State</dt><dd>{state}</dd></div>
        <div><dt>Members</dt><dd>{members.length === 0 && isActive ? MISSING : count(members.length)}</dd></div>
        <div><dt>Partitions</dt><dd>{count(group.partitions.length)}</dd></div>
        <div><dt>Lag</dt><dd>{count(group.lag)}</dd></div>
        <div><dt>Protocol</dt><dd>{typeOf(type)}</dd></div>
        <div><dt>Assignor</dt><dd>{assignor ?? MISSING}</dd></div>
        <div><dt>Coordinator</dt><dd>{coordinator < 0 ? MISSING : <a href={pageAt(cluster.name, "brokers", coordinator)}>{coordinator}</a>}</dd></div>
      </dl>
      <Section id="lag" title="Lag">
        {group.partitions.length === 0 || type === "share" ? <p class="none">{sentence(notShown ?? "it has no committed offsets")}</p> : (
          <>
            <div class="grid live">
              <LiveChart title="Lag of the group" kind="records" lines={total} how="Records that it has not read, over the seconds since this page was opened. A gap: it could not be read." />
              <LiveChart title="Largest lags" kind="records" lines={each} how={`The ${largest.length === 1 ? "partition" : `${largest.length} partitions`} with the largest lag now.`} />
            </div>
            <Lags cluster={cluster.name} group={group} />
          </>
        )}
      </Section>
      <Section id="members" title="Members"><Members cluster={cluster.name} members={members} notShown={isActive ? notShown ?? null : null} /></Section>
      {asking === "reset" && <ResetOffsets cluster={cluster.name} group={group} done={done} cancel={() => ask(null)} />}
      {asking === "delete" && <Delete cluster={cluster.name} group={group} cancel={() => ask(null)} />}
    </>
  );
}

/** The page of a group. */
export function Group({ cluster, name }: { cluster: Cluster; name: string }): JSX.Element {
  const group = useResource<GroupLive>(apiOf(cluster.name, "groups", name));
  return (
    <Await of={group} what="group" back={<a href={pageAt(cluster.name, "groups")}>All groups</a>}>
      {(data) => <Page cluster={cluster} group={later(cluster.live.group, data) ?? data} reload={group.reload} />}
    </Await>
  );
}
