// One trial: whether it counts, what was proved, what the parts used, what the agents counted, and its files.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { FileEntry, InstanceUsage, LoadResult, TrialDetail, TrialRecord } from "../../api";
import { MISSING, clock, count, instant, percent, significant, time } from "../../format";
import { Section, Table } from "../../section/Section";
import { capital } from "../../section/Tables";
import { API } from "../client";
import { reasonsOf } from "../live/state";
import { Await, Heading, Problem } from "../pieces";
import { useResource, useText } from "../resource";
import { at } from "../router";
import { plural, size } from "../words";

function Rows({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return <dl class="rows">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

function Status({ record }: { record: TrialRecord }): JSX.Element {
  const { status } = record;
  const reasons = reasonsOf(status);
  return (
    <Section id="status" title={status.status === "fit" ? "Fit: it counts" : `▲ ${capital(status.status)}: it does not count`}>
      {reasons.length > 0 && <ul class="sentences warning">{reasons.map((reason) => <li key={reason}>{reason}</li>)}</ul>}
      {status.status === "failed" && status.log_tail.length > 0 && <pre class="output" tabIndex={0} aria-label="End of the log">{status.log_tail.join("\n")}</pre>}
      {record.saturated && <Problem>The parts’ cores had little left: the level may be beyond the knee.</Problem>}
      {record.superseded && <p class="lead">A resumed run measured its block again; it is not in the figures.</p>}
    </Section>
  );
}

function LoadRows({ load }: { load: LoadResult }): JSX.Element {
  const { generator, connections } = load;
  const waits = load.queue_waits.filter((wait) => wait.count > 0).map((wait) => `${count(wait.count)} × ${wait.cause}, ${clock(wait.total_ns)} in all`);
  return (
    <>
      <h3 class="sub">{load.role}</h3>
      <Rows
        rows={[
          ["ended", load.abort_reason == null ? load.ended : `${load.ended}: ${load.abort_reason}`],
          ["window", clock(load.window_ns)],
          ["offered rate", load.offered_per_s == null ? "no rate" : `${significant(load.offered_per_s)}/s`],
          ["intended, released, sent", `${count(load.intended)}, ${count(load.released)}, ${count(load.sent)}`],
          ["ok + errors + unfinished + never sent", `${count(load.ok)} + ${count(load.errors)} + ${count(load.unfinished)} + ${count(Math.max(load.never_sent ?? 0, load.overflow))}`],
          ["status", (load.ok_by_status ?? []).map((one) => `${one.status}: ${count(one.count)}`).join(", ") || MISSING],
          ["connections", `${count(connections.opened)} opened, ${count(connections.reconnects)} again, ${count(connections.failed)} failed, at most ${count(connections.peak)} at once`],
          ["sent, received", `${size(load.bytes_sent)}, ${size(load.bytes_received)}`],
          ["queue wait", waits.join("; ") || "none"],
          ["lateness p50, p99, max", `${time(generator.lateness.p50_ns)}, ${time(generator.lateness.p99_ns)}, ${time(generator.lateness.max_ns)}`],
          ["receive lag p50, p99, max", `${time(generator.receive_lag.p50_ns)}, ${time(generator.receive_lag.p99_ns)}, ${time(generator.receive_lag.max_ns)}`],
          ["generator’s CPU, memory", `${clock(generator.cpu_ns)}, ${size(generator.peak_rss_bytes)}`],
        ]}
      />
      {load.outcomes.length > 0 && (
        <Table label={`Outcomes of ${load.role}`}>
          <thead><tr><th scope="col">request</th><th scope="col">outcome</th><th scope="col">whose error</th><th scope="col" class="n">number</th><th scope="col">an example</th></tr></thead>
          <tbody>{load.outcomes.map((one, index) => <tr key={index}><td>{one.request}</td><td>{one.class}</td><td>{one.error_source}</td><td class="n">{count(one.count)}</td><td class="words">{one.example ?? ""}</td></tr>)}</tbody>
        </Table>
      )}
    </>
  );
}

function Usage({ instances }: { instances: readonly InstanceUsage[] }): JSX.Element {
  return (
    <Table label="What each part used within the window">
      <thead>
        <tr>
          <th scope="col">part</th><th scope="col">role</th><th scope="col">software</th><th scope="col" class="n">CPU</th><th scope="col" class="n">user</th><th scope="col" class="n">system</th>
          <th scope="col" class="n">run-queue wait</th><th scope="col" class="n">memory</th><th scope="col" class="n">peak</th><th scope="col" class="n">switches</th><th scope="col" class="n">packets</th><th scope="col" class="n">disk written</th><th scope="col" class="n">throttled</th>
        </tr>
      </thead>
      <tbody>
        {instances.map((one) => (
          <tr key={one.instance}>
            <th scope="row">{one.instance}</th><td>{one.role}</td><td>{one.software}</td>
            <td class="n">{time(one.cpu_ns)}</td><td class="n">{time(one.user_ns)}</td><td class="n">{time(one.system_ns)}</td><td class="n">{time(one.run_queue_wait_ns)}</td>
            <td class="n">{size(one.rss_mean_bytes)}</td><td class="n">{size(one.rss_peak_bytes)}</td>
            <td class="n">{one.switches_voluntary == null || one.switches_involuntary == null ? MISSING : count(one.switches_voluntary + one.switches_involuntary)}</td>
            <td class="n">{count(one.packets)}</td><td class="n">{size(one.disk_write_bytes)}</td><td class="n">{time(one.throttled_ns)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function MachineRows({ record }: { record: TrialRecord }): JSX.Element | null {
  const { machine } = record;
  if (machine == null) return null;
  const core = (share: number, index: number) => `core ${index} ${percent(share)}`;
  return (
    <Section id="machine" title="Machine within the window">
      <Rows
        rows={[
          ["cores busy", machine.core_busy.map(core).join(", ")],
          ["other programs", machine.background_cpu_ns == null ? MISSING : `${time(machine.background_cpu_ns)} CPU`],
          ["other arms", machine.other_arms_cpu_ns == null ? MISSING : `${time(machine.other_arms_cpu_ns)} CPU`],
          ["steal, softirq", `${percent(machine.steal_share)}, ${percent(machine.softirq_share)}`],
          ["load average", significant(machine.load_average)],
        ]}
      />
      {(machine.pods ?? []).length > 0 && (
        <Table label="Network of the pods">
          <thead><tr><th scope="col">pod</th><th scope="col" class="n">packets in</th><th scope="col" class="n">packets out</th><th scope="col" class="n">bytes in</th><th scope="col" class="n">bytes out</th><th scope="col" class="n">connections opened</th><th scope="col" class="n">retransmits</th></tr></thead>
          <tbody>{(machine.pods ?? []).map((pod) => <tr key={pod.pod}><th scope="row">{pod.pod}</th><td class="n">{count(pod.packets_in)}</td><td class="n">{count(pod.packets_out)}</td><td class="n">{size(pod.bytes_in)}</td><td class="n">{size(pod.bytes_out)}</td><td class="n">{count(pod.tcp_opened)}</td><td class="n">{count(pod.tcp_retransmits)}</td></tr>)}</tbody>
        </Table>
      )}
    </Section>
  );
}

function Proofs({ record }: { record: TrialRecord }): JSX.Element {
  const failed = record.proofs.filter((proof) => !proof.passed).length;
  const open = record.not_proved ?? [];
  return (
    <Section id="proofs" title="Proofs" lead={`${plural(record.proofs.length, "check")} of the path, ${failed === 0 ? "all passed" : `${failed} failed`}.`}>
      {record.proofs.length > 0 && (
        <Table label="Path proof">
          <thead><tr><th scope="col">part</th><th scope="col">edge</th><th scope="col">check</th><th scope="col">expected</th><th scope="col">actual</th><th scope="col">outcome</th></tr></thead>
          <tbody>
            {record.proofs.map((proof, index) => (
              <tr key={index} class={proof.passed ? undefined : "unfit"}>
                <th scope="row">{proof.instance}</th><td>{proof.edge ?? MISSING}</td><td class="words">{proof.check}</td><td class="words">{proof.expected}</td><td class="words">{proof.actual}</td><td>{proof.passed ? "passed" : <b>▲ failed</b>}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {open.length > 0 && <ul class="notes">{open.map((one, index) => <li key={index}>Not proved: {one.part} on {one.edge}: {one.reason}</li>)}</ul>}
      {(record.audits ?? []).length > 0 && (
        <Table label="Consistency checks of the workload">
          <thead><tr><th scope="col">about</th><th scope="col">request</th><th scope="col">found</th><th scope="col">outcome</th></tr></thead>
          <tbody>{(record.audits ?? []).map((audit, index) => <tr key={index} class={audit.passed ? undefined : "unfit"}><th scope="row">{audit.about}</th><td class="words">{audit.request}</td><td class="words">{audit.actual}</td><td>{audit.passed ? "passed" : <b>▲ failed</b>}</td></tr>)}</tbody>
        </Table>
      )}
      {record.read_back != null && (
        <Rows rows={[["read back", record.read_back.topic], ["acknowledged, read", `${count(record.read_back.acknowledged)}, ${count(record.read_back.read)}`], ["lost, duplicated, reordered", `${count(record.read_back.lost)}, ${count(record.read_back.duplicated)}, ${count(record.read_back.reordered)}`], ["violations", record.read_back.violations.join("; ") || "none"]]} />
      )}
    </Section>
  );
}

function Faults({ record }: { record: TrialRecord }): JSX.Element | null {
  const faults = record.faults ?? [];
  if (faults.length === 0) return null;
  return (
    <Section id="faults" title="Faults">
      <Table label="Faults that were injected">
        <thead><tr><th scope="col" class="n">at</th><th scope="col">action</th><th scope="col">of</th><th scope="col">result</th></tr></thead>
        <tbody>{faults.map((fault, index) => <tr key={index} class={fault.failed === true ? "unfit" : undefined}><td class="n">{clock(fault.at_ns)}</td><td>{fault.action}</td><td>{fault.subjects.join(", ")}</td><td class="words">{fault.result}</td></tr>)}</tbody>
      </Table>
    </Section>
  );
}

function Counters({ record }: { record: TrialRecord }): JSX.Element | null {
  const counters = record.target_counters ?? [];
  if (counters.length === 0) return null;
  return (
    <Section id="counters" title="Target counters" lead="What the targets’ own statistics say about the trial.">
      <Table label="Target counters">
        <thead><tr><th scope="col">part</th><th scope="col">counter</th><th scope="col">label</th><th scope="col" class="n">value</th></tr></thead>
        <tbody>{counters.map((one, index) => <tr key={index}><th scope="row">{one.instance}</th><td>{one.name}</td><td>{one.label ?? ""}</td><td class="n">{Number.isInteger(one.value) ? count(one.value) : significant(one.value, 6)}</td></tr>)}</tbody>
      </Table>
    </Section>
  );
}

function FileText({ id, path }: { id: string; path: string }): JSX.Element {
  const where = `runs/${encodeURIComponent(id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
  const text = useText(where);
  return (
    <div class="file">
      <p class="how"><b>{path}</b> <a download href={`${API}/${where}`}>Download</a></p>
      <Await of={text} what="file">{(data) => <pre class="plan" tabIndex={0} aria-label={path}>{data === "" ? "(empty)" : data}</pre>}</Await>
    </div>
  );
}

function Files({ id, files }: { id: string; files: readonly FileEntry[] }): JSX.Element {
  const [shown, show] = useState<string | null>(null);
  if (files.length === 0) return <p class="none">It left no files.</p>;
  return (
    <>
      <ul class="files">
        {files.map((file) => (
          <li key={file.path}>
            <button type="button" class="link" aria-expanded={shown === file.path} onClick={() => show(shown === file.path ? null : file.path)}>{file.path}</button> <span class="quiet">{size(file.bytes)}</span>
            {shown === file.path && <FileText id={id} path={file.path} />}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The view of a trial. */
export function Trial({ id, trial }: { id: string; trial: number }): JSX.Element {
  const detail = useResource<TrialDetail>(`runs/${encodeURIComponent(id)}/trials/${trial}`);
  return (
    <>
      <p class="crumb"><a href="/">Runs</a> / <a href={at("runs", id)}>{id}</a> / trial {trial}</p>
      <Await of={detail} what="trial">
        {({ record, files }) => (
          <>
            <Heading
              title={`Trial ${record.trial}: ${record.arm} at ${record.level}`}
              name={`Trial ${record.trial} of ${id}`}
              lead={`Block ${record.block}${record.aa_copy > 0 ? ", second copy of the baseline (A/A check)" : ""}${record.attempt > 0 ? ", repeated" : ""}; ${instant(new Date(record.started_unix_us / 1000).toISOString())}, took ${clock(record.took_ns)}`}
            />
            <Status record={record} />
            <Section id="load" title="Load">{record.load.length === 0 ? <p class="none">Nothing could be measured.</p> : record.load.map((load, index) => <LoadRows key={index} load={load} />)}</Section>
            <Section id="usage" title="Resource usage">{record.instances.length === 0 ? <p class="none">Nothing was observed.</p> : <Usage instances={record.instances} />}</Section>
            <MachineRows record={record} />
            <Proofs record={record} />
            <Faults record={record} />
            <Counters record={record} />
            {record.endpoints.length > 0 && <Section id="endpoints" title="Addresses"><ul class="notes">{record.endpoints.map((one, index) => <li key={index}>{one.host}: {one.addresses.join(", ")}</li>)}</ul></Section>}
            <Section id="files" title="Files" lead="Logs, configurations as they were rendered, and what the agents wrote."><Files id={id} files={files} /></Section>
          </>
        )}
      </Await>
    </>
  );
}
