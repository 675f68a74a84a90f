// The consumer groups of a cluster.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { GroupList, GroupRow } from "../../kafka-api";
import { Await, Heading } from "../pieces";
import { useResource } from "../resource";
import { plural, searched } from "../words";
import { VirtualTable, type Column } from "../VirtualTable";
import { later, perSecond, typeOf, type Cluster } from "./parts";
import { apiOf, pageAt } from "./route";
import type { Order } from "../rows";

/** What the reader looks for; it stays while other pages are shown. */
const wanted = signal<{ text: string; order: Order }>({ text: "", order: { column: "name", isDescending: false } });

/** The protocol, and what uses it when that is no consumer. */
function protocolOf({ group_type: type, protocol_type: of }: GroupRow): string {
  const name = typeOf(type);
  return of === "" || of === "consumer" || of === type ? name : `${name}, ${of}`;
}

function columnsOf(cluster: Cluster): Column<GroupRow>[] {
  const limit = cluster.entry.lag_limit;
  const isOver = (group: GroupRow) => limit != null && (group.lag ?? 0) > limit;
  return [
    { key: "name", label: "group", width: 34, cell: (group) => <a href={pageAt(cluster.name, "groups", group.name)} title={group.name}>{group.name}</a>, sort: (group) => group.name },
    { key: "state", label: "state", width: 19, cell: (group) => group.state, sort: (group) => group.state },
    { key: "lag", label: "lag", width: 15, kind: "n", cell: (group) => (group.beyond_end > 0 ? <b class="warn" title={`Lag ${count(group.lag)}; the commits of ${plural(group.beyond_end, "partition")} lie beyond the end`}>▲ beyond end</b> : isOver(group) ? <b class="warn">▲ {count(group.lag)}</b> : count(group.lag)), sort: (group) => group.lag },
    { key: "consumed", label: "consumed", width: 13, kind: "n", cell: (group) => perSecond(group.consumed_per_s), sort: (group) => group.consumed_per_s },
    { key: "topics", label: "topics", width: 30, cell: (group) => (group.topics.length === 0 ? MISSING : group.topics.length === 1 ? group.topics[0] : <span title={group.topics.join(", ")}>{group.topics[0]} and {count(group.topics.length - 1)} more</span>), sort: (group) => group.topics.length },
    { key: "type", label: "protocol", width: 18, cell: (group) => protocolOf(group), sort: (group) => group.group_type },
    { key: "coordinator", label: "coordinator", width: 13, kind: "n", cell: (group) => (group.coordinator < 0 ? MISSING : <a href={pageAt(cluster.name, "brokers", group.coordinator)} aria-label={`broker ${group.coordinator}`}>{group.coordinator}</a>), sort: (group) => group.coordinator },
  ];
}

/** The page of all groups. */
export function Groups({ cluster }: { cluster: Cluster }): JSX.Element {
  const first = useResource<GroupList>(apiOf(cluster.name, "groups"));
  const newest = later(cluster.live.groups, first.data);
  const { text, order } = wanted.value;
  const columns = useMemo(() => columnsOf(cluster), [cluster.name, cluster.entry.lag_limit]);
  const shown = useMemo(() => searched(newest?.groups ?? [], text, (group) => [group.name, group.state, ...group.topics].join("\n")), [newest, text]);
  const change = (next: Partial<typeof wanted.value>) => {
    wanted.value = { ...wanted.value, ...next };
  };
  return (
    <>
      <Heading title="Groups" name={`Groups of ${cluster.name}`} />
      <Await of={{ ...first, data: newest }} what="list of groups">
        {({ groups }) => groups.length === 0 ? <p class="none">There is no consumer group: one appears when a consumer joins or commits an offset.</p> : (
          <>
            <search class="filters"><label>Group, state or topic <input type="search" value={text} onInput={(event) => change({ text: event.currentTarget.value })} /></label></search>
            <p class="found" role="status">{shown.length === groups.length ? plural(groups.length, "group") : `${count(shown.length)} of ${plural(groups.length, "group")}`}</p>
            {shown.length === 0 ? <p class="none">No group is like that. <button type="button" onClick={() => change({ text: "" })}>Show all</button></p> : (
              <VirtualTable label="Groups" rows={shown} columns={columns} keyOf={(group) => group.name} order={order} setOrder={(next) => change({ order: next })} />
            )}
            <p class="how">Lag: records behind the committed offsets; share groups commit none. Beyond end: commits lie where no records are, since a topic was made again or has lost records. Consumed: offsets committed per second.</p>
          </>
        )}
      </Await>
    </>
  );
}
