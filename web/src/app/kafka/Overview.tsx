// A cluster at a glance: its brokers, counts, balance and rates.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count, percent } from "../../format";
import type { BrokerRow, ClusterOverview } from "../../kafka-api";
import { Section, Table } from "../../section/Section";
import { Heading } from "../pieces";
import { moment, plural, size } from "../words";
import { Bar, Elect, LiveChart, bytesPerSecond, perSecond, sizeOf, type Cluster } from "./parts";
import { pageAt } from "./route";

function largest(brokers: readonly BrokerRow[], of: (broker: BrokerRow) => number | null | undefined): number {
  return brokers.reduce((most, broker) => Math.max(most, of(broker) ?? 0), 0);
}

/** How far the broker with most is above the mean of those that are up. */
function imbalance(brokers: readonly BrokerRow[], of: (broker: BrokerRow) => number): string {
  const up = brokers.filter((broker) => broker.address != null);
  const mean = up.reduce((sum, broker) => sum + of(broker), 0) / up.length;
  return up.length < 2 || mean === 0 ? MISSING : percent(largest(up, of) / mean - 1);
}

function Brokers({ cluster, overview }: { cluster: string; overview: ClusterOverview }): JSX.Element {
  const { brokers } = overview;
  const most = { leaders: largest(brokers, (one) => Math.max(one.leaders, one.preferred)), replicas: largest(brokers, (one) => one.replicas), log: largest(brokers, (one) => one.log_bytes), rate: largest(brokers, (one) => one.records_in_per_s) };
  return (
    <>
      <Table label="Brokers">
        <thead>
          <tr>
            <th scope="col">broker</th><th scope="col">address</th><th scope="col">rack</th><th scope="col">leaders of preferred</th><th scope="col">replicas</th><th scope="col" class="n">not in sync</th>
            <th scope="col">log</th><th scope="col">free of disk</th><th scope="col">records in</th>
          </tr>
        </thead>
        <tbody>
          {brokers.map((one) => (
            <tr key={one.id} class={one.address == null ? "unfit" : undefined}>
              <th scope="row"><a href={pageAt(cluster, "brokers", one.id)}>{one.id}</a>{one.id === overview.controller && <span class="tag">controller</span>}</th>
              <td>{one.address ?? <b>▲ down</b>}</td>
              <td>{one.rack ?? MISSING}</td>
              <td><Bar value={one.leaders} most={most.leaders}>{count(one.leaders)} of {count(one.preferred)}</Bar></td>
              <td><Bar value={one.replicas} most={most.replicas}>{count(one.replicas)}</Bar></td>
              <td class="n">{one.out_of_sync_replicas > 0 ? <b>▲ {count(one.out_of_sync_replicas)}</b> : 0}</td>
              <td><Bar value={one.log_bytes} most={most.log}>{size(one.log_bytes)}</Bar></td>
              <td><Bar value={one.usable_bytes} most={one.total_bytes ?? 0}>{sizeOf(one.usable_bytes, one.total_bytes)}</Bar></td>
              <td><Bar value={one.records_in_per_s} most={most.rate}>{perSecond(one.records_in_per_s)}</Bar></td>
            </tr>
          ))}
        </tbody>
      </Table>
      <p class="how">
        Above the mean at most: leaders {imbalance(brokers, (one) => one.leaders)}, replicas {imbalance(brokers, (one) => one.replicas)}. A leader is preferred when it is the first of its partition’s replicas.
      </p>
    </>
  );
}

function Counters({ overview }: { overview: ClusterOverview }): JSX.Element {
  const bad = (value: number) => (value > 0 ? <b class="bad">▲ {count(value)}</b> : "0");
  return (
    <dl class="now">
      <div><dt>Topics</dt><dd>{count(overview.topics)}</dd></div>
      <div><dt>Partitions</dt><dd>{count(overview.partitions)}</dd></div>
      <div><dt>Replicas</dt><dd>{count(overview.replicas)}</dd></div>
      <div><dt>Offline</dt><dd>{bad(overview.offline_partitions)}</dd></div>
      <div><dt>Below min ISR</dt><dd>{bad(overview.below_min_isr_partitions)}</dd></div>
      <div><dt>Under-replicated</dt><dd>{bad(overview.under_replicated_partitions)}</dd></div>
      <div><dt>Leader not preferred</dt><dd>{count(overview.leader_imbalance)}</dd></div>
      <div><dt>Reassigning</dt><dd>{count(overview.reassigning)}</dd></div>
      <div><dt>Records in</dt><dd>{perSecond(overview.records_in_per_s)}</dd></div>
      <div><dt>Bytes in</dt><dd>{bytesPerSecond(overview.bytes_in_per_s)}</dd></div>
      <div><dt>Bytes out</dt><dd>{bytesPerSecond(overview.bytes_out_per_s)}</dd></div>
    </dl>
  );
}

/** The page of a cluster. */
export function Overview({ cluster }: { cluster: Cluster }): JSX.Element {
  const { overview, live, mayEdit, name } = cluster;
  const [isElecting, setElecting] = useState(false);
  if (overview === null) return <><Heading title={name} name={name} /><p class="none" role="status">Loading the overview …</p></>;
  const release = overview.release == null ? MISSING : `Kafka ${overview.release}`;
  const records = live.rates.lines([["records", "records"]]);
  const bytes = live.rates.lines([["bytes in", "in"], ["bytes out", "out"]]);
  return (
    <>
      <Heading title={name} name={name} tools={mayEdit && overview.leader_imbalance > 0 && <button type="button" class="plain" onClick={() => setElecting(true)}>Elect preferred leaders …</button>} />
      <dl class="facts-line">
        <div><dt>Cluster</dt><dd>{overview.id ?? MISSING}</dd></div>
        <div><dt>Release</dt><dd>{release}, metadata version {overview.metadata_version ?? MISSING}</dd></div>
        <div><dt>Controller</dt><dd>{overview.controller ?? MISSING}{overview.voters.length > 0 ? ` of ${overview.voters.join(", ")}` : overview.controller == null ? "" : ", elected by ZooKeeper"}</dd></div>
        <div><dt>Read</dt><dd>{moment(overview.at_ms)}, in {count(overview.took_ms)} ms</dd></div>
      </dl>
      <Counters overview={overview} />
      <Section id="brokers" title="Brokers">
        {overview.brokers.length === 0 ? <p class="none">No broker is known.</p> : <Brokers cluster={name} overview={overview} />}
      </Section>
      <Section id="rates" title="Rates" lead={overview.bytes_in_per_s == null ? "Bytes need metrics of the brokers: name them in the settings of the cluster." : undefined}>
        <div class="grid live">
          <LiveChart title="Records in" kind="per-second" lines={records} how="Records into all topics, from their end offsets. A gap: it could not be read." />
          <LiveChart title="Bytes from producers and to consumers" kind="bytes-per-second" lines={bytes} how="Of all brokers, by their own metrics; replication is not in it." />
        </div>
        {records.lines.length + bytes.lines.length === 0 && <p class="none">No rate yet: it needs two readings.</p>}
      </Section>
      {isElecting && <Elect cluster={name} topics={null} done={() => setElecting(false)} cancel={() => setElecting(false)}><p>{plural(overview.leader_imbalance, "partition")} would be led by the first of the replicas again, where it is in sync. Clients notice a change of leader as a short pause.</p></Elect>}
    </>
  );
}
