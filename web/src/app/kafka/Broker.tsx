// A broker: log directories, partitions, metrics as live charts, configuration.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { BrokerDetail, BrokerPartition, Config, LogDir } from "../../kafka-api";
import { Choice, Section, Table } from "../../section/Section";
import { Await, Heading, Problem } from "../pieces";
import { useInterval, useResource } from "../resource";
import { plural, searched, size } from "../words";
import { Configs } from "./Configs";
import { VirtualTable, type Column } from "../VirtualTable";
import { metricsAddress } from "./live";
import { Bar, LiveChart, perSecond, sizeOf, type Cluster } from "./parts";
import { apiOf, pageAt } from "./route";
import type { Order } from "../rows";

const REFRESH_MS = 15_000;

function nameOf(one: BrokerPartition): string {
  return `${one.topic}-${one.partition}`;
}

function rankOf(one: BrokerPartition): number {
  return (one.is_in_sync ? 0 : 4) + (one.is_leader ? 2 : 0) + (one.is_leader === one.is_preferred ? 0 : 1);
}

function Partitions({ cluster, partitions }: { cluster: string; partitions: readonly BrokerPartition[] }): JSX.Element {
  const [text, setText] = useState("");
  const [order, setOrder] = useState<Order>({ column: "partition", isDescending: false });
  if (partitions.length === 0) return <p class="none">It has no replicas.</p>;
  const shown = searched(partitions, text, nameOf);
  const columns: Column<BrokerPartition>[] = [
    { key: "partition", label: "partition", width: 40, cell: (one) => <a href={pageAt(cluster, "topics", one.topic)} title={nameOf(one)}>{nameOf(one)}</a>, sort: nameOf },
    { key: "role", label: "role", width: 30, cell: (one) => `${one.is_leader ? "leader" : "follower"}${one.is_leader === one.is_preferred ? "" : one.is_leader ? ", not preferred" : ", preferred leader"}`, sort: (one) => `${one.is_leader ? 0 : 1} ${one.is_preferred ? 0 : 1}` },
    { key: "sync", label: "state", width: 16, cell: (one) => (one.is_in_sync ? "in sync" : <b class="warn">▲ not in sync</b>), sort: rankOf },
    { key: "size", label: "size", width: 13, kind: "n", cell: (one) => size(one.size_bytes), sort: (one) => one.size_bytes },
  ];
  return (
    <>
      <search class="filters"><label>Topic <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label></search>
      <p class="found" role="status">{shown.length === partitions.length ? plural(partitions.length, "replica") : `${count(shown.length)} of ${plural(partitions.length, "replica")}`}, leader of {count(partitions.filter((one) => one.is_leader).length)}</p>
      {shown.length === 0 ? <p class="none">No replica is like that.</p> : <VirtualTable label="Replicas of the broker" rows={shown} columns={columns} keyOf={nameOf} order={order} setOrder={setOrder} />}
    </>
  );
}

function LogDirs({ dirs }: { dirs: readonly LogDir[] }): JSX.Element {
  if (dirs.length === 0) return <p class="none">Its log directories could not be read.</p>;
  return (
    <Table label="Log directories">
      <thead><tr><th scope="col">directory</th><th scope="col">log</th><th scope="col">used of the file system</th><th scope="col" class="n">free</th><th scope="col" class="n">replicas</th><th scope="col" class="n">furthest behind</th></tr></thead>
      <tbody>
        {dirs.map((dir) => {
          const bytes = dir.partitions.reduce((sum, one) => sum + one.size_bytes, 0);
          const used = dir.total_bytes == null || dir.usable_bytes == null ? null : dir.total_bytes - dir.usable_bytes;
          const future = dir.partitions.filter((one) => one.is_future).length;
          return (
            <tr key={dir.path} class={dir.error == null ? undefined : "unfit"}>
              <th scope="row">{dir.path}{dir.error != null && <b> ▲ {dir.error.message ?? dir.error.name}</b>}</th>
              <td><Bar value={bytes} most={dir.total_bytes ?? bytes}>{size(bytes)}</Bar></td>
              <td><Bar value={used} most={dir.total_bytes ?? 0}>{sizeOf(used, dir.total_bytes)}</Bar></td>
              <td class="n">{size(dir.usable_bytes)}</td>
              <td class="n">{count(dir.partitions.length)}{future > 0 && `, ${count(future)} arriving`}</td>
              <td class="n">{dir.partitions.length === 0 ? MISSING : `${count(Math.max(...dir.partitions.map((one) => one.lag)))} records`}</td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

/** What to set so that metrics are read. */
function NoMetrics({ cluster }: { cluster: Cluster }): JSX.Element {
  return (
    <div class="none">
      <p>No metrics are read: no source is named for this cluster. Kafka’s protocol has no bytes, request times, heap or collections; brokers tell them by one of:</p>
      <ul class="notes">
        <li>Jolokia’s Java agent: KAFKA_OPTS=-javaagent:jolokia-agent.jar=port=8778, then “Jolokia” and HOST:8778 of each broker</li>
        <li>jmx_exporter’s Java agent: KAFKA_OPTS=-javaagent:jmx_prometheus_javaagent.jar=9404:rules.yml, then “Prometheus exporter” and HOST:9404</li>
        <li>JMX: JMX_PORT=9999, then “JMX” and HOST:9999</li>
      </ul>
      <p>{cluster.entry.origin === "server" ? <>Name the addresses in the <a href="/kafka">settings of the cluster</a>.</> : cluster.entry.origin === "command-line" ? "Name the addresses with “tare kafka clusters add --jolokia”, “--prometheus” or “--jmx”." : "The test bed of a run has its counters in the report."}</p>
    </div>
  );
}

function Metrics({ cluster, id }: { cluster: Cluster; id: number }): JSX.Element {
  const { metrics, brokers: history } = cluster.live;
  const source = cluster.entry.cluster.metrics;
  const brokers = cluster.overview?.brokers ?? [];
  if (metrics === null) return source == null ? <NoMetrics cluster={cluster} /> : <p class="none" role="status">Reading the metrics: rates need two readings …</p>;
  const at = metricsAddress(id, brokers, metrics.brokers.map((one) => one.at));
  const own = metrics.brokers.find((one) => one.at === at);
  if (metrics.brokers.length === 0) return source == null ? <NoMetrics cluster={cluster} /> : <Problem>{metrics.problem ?? "No broker’s metrics could be read."}</Problem>;
  if (own === undefined || at === null) return <Problem>{`None of the addresses of metrics (${metrics.brokers.map((one) => one.at).join(", ")}) is on this broker’s host: name one for each broker, in the order of their numbers.`}</Problem>;
  const lines = (...names: (readonly [string, string])[]) => history.lines(names.map(([key, label]) => [`${at} ${key}`, label] as const));
  const kinds = Object.keys(own.metrics?.requests ?? {});
  return (
    <>
      <p class="lead">Read at {at}. A gap in a line: it could not be read.</p>
      {metrics.problem != null && <Problem>{metrics.problem}</Problem>}
      {own.error != null && <Problem>{own.error}</Problem>}
      {own.metrics?.restarted === true && <Problem>The broker was started again between two readings: there are no rates for that time.</Problem>}
      <div class="grid live">
        <LiveChart title="Messages in" kind="per-second" lines={lines(["messages_in", "messages"])} how="Records from producers into partitions that it leads." />
        <LiveChart title="Bytes" kind="bytes-per-second" lines={lines(["bytes_in", "from producers"], ["bytes_out", "to consumers"], ["replication_bytes_in", "copied in"], ["replication_bytes_out", "copied out"])} how="Clients and replication apart." />
        <LiveChart title="Requests" kind="per-second" lines={lines(...kinds.map((kind) => [`rate ${kind}`, kind] as const))} how="Requests by type." />
        <LiveChart title="Request times, mean" kind="ms" lines={lines(...kinds.map((kind) => [`ms ${kind}`, kind] as const))} how="From receiving a request to its response; a fetch waits for records, so a slow one is no fault." />
        <LiveChart title="ISR" kind="per-second" lines={lines(["isr_shrinks", "shrinks"], ["isr_expands", "expands"])} how="Replicas that fell out of sync and came back." />
        <LiveChart title="Log flushes" kind="per-second" lines={lines(["log_flushes", "flushes"])} how="Flushes of the log to disk." />
        <LiveChart title="Log flush time, mean" kind="ms" lines={lines(["log_flush_mean_ms", "mean"])} how="Of flushes between two readings." />
        <LiveChart title="Heap" kind="bytes" lines={lines(["heap_bytes", "used"])} how="Heap in use of the Java virtual machine." />
        <LiveChart title="Garbage collection" kind="ms per second" lines={lines(["gc_ms", "all collectors"])} how="Time in collections." />
      </div>
      {(own.metrics?.missing ?? []).length > 0 && <p class="how">Not told by this source: {own.metrics?.missing.join(", ")}.</p>}
    </>
  );
}

/** Configuration of this broker, or the dynamic defaults of all brokers. */
function Configuration({ cluster, detail, reload }: { cluster: Cluster; detail: BrokerDetail; reload: () => void }): JSX.Element {
  const [whose, choose] = useState<"one" | "all">("one");
  const all = useResource<{ configs: Config[] }>(whose === "all" ? apiOf(cluster.name, "configs") : null);
  const { id } = detail.broker;
  const path = (...parts: (string | number)[]) => (cluster.mayEdit ? apiOf(cluster.name, ...parts, "configs") : null);
  return (
    <>
      <Choice legend="Of" name="whose-configs" options={[{ value: "one", label: "this broker" }, { value: "all", label: "all brokers, while they run" }]} value={whose} choose={choose} />
      {whose === "one" ? (
        detail.configs == null
          ? <p class="none">Its configuration is not known: {detail.broker.address == null ? "the broker is down" : "this user may not read it"}.</p>
          : <Configs key="one" label={`Configuration of broker ${id}`} configs={detail.configs} own={["dynamic-broker", "dynamic-default-broker"]} path={path("brokers", id)} reload={reload} />
      ) : (
        <Await of={all} what="defaults of all brokers">{(data) => <Configs key="all" label="Dynamic defaults of all brokers" configs={data.configs} own={["dynamic-default-broker"]} path={path()} reload={all.reload} isPartial />}</Await>
      )}
    </>
  );
}

/** The page of a broker. */
export function Broker({ cluster, id }: { cluster: Cluster; id: number }): JSX.Element {
  const detail = useResource<BrokerDetail>(apiOf(cluster.name, "brokers", id));
  useInterval(detail.reload, REFRESH_MS);
  return (
    <Await of={detail} what="broker" back={<a href={pageAt(cluster.name)}>All brokers</a>}>
      {(data) => {
        const broker = cluster.overview?.brokers.find((one) => one.id === id) ?? data.broker;
        return (
          <>
            <Heading title={`Broker ${id}`} name={`Broker ${id} of ${cluster.name}`} />
            <dl class="facts-line">
              <div><dt>Address</dt><dd>{broker.address ?? <b class="bad">▲ down</b>}</dd></div>
              <div><dt>Rack</dt><dd>{broker.rack ?? MISSING}</dd></div>
              {cluster.overview?.controller === id && <div><dt>Role</dt><dd>controller</dd></div>}
              <div><dt>Leader</dt><dd>of {count(broker.leaders)} partitions, preferred of {count(broker.preferred)}</dd></div>
              <div><dt>Replicas</dt><dd>{count(broker.replicas)}, {broker.out_of_sync_replicas > 0 ? <b class="warn">▲ {count(broker.out_of_sync_replicas)} not in sync</b> : "all in sync"}</dd></div>
              <div><dt>Records in</dt><dd>{perSecond(broker.records_in_per_s)}</dd></div>
            </dl>
            {data.problems.map((one) => <Problem key={one}>{one}</Problem>)}
            <Section id="logs" title="Log directories"><LogDirs dirs={data.log_dirs} /></Section>
            <Section id="metrics" title="Metrics"><Metrics cluster={cluster} id={id} /></Section>
            <Section id="partitions" title="Partitions"><Partitions cluster={cluster.name} partitions={data.partitions} /></Section>
            <Section id="configuration" title="Configuration"><Configuration cluster={cluster} detail={data} reload={detail.reload} /></Section>
          </>
        );
      }}
    </Await>
  );
}
