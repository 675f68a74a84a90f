// The machine: what could disturb a measurement here, what it can do when idle, and what is installed.
import type { JSX } from "preact";
import type { Check, EnvironmentRecord, StreamFigures } from "../../api";
import { MISSING, quantity, significant, time } from "../../format";
import { Section, Table } from "../../section/Section";
import { Await, Heading } from "../pieces";
import { useResource } from "../resource";
import { plural, size } from "../words";

const ORDER: Record<Check["grade"], number> = { error: 0, warning: 1, ok: 2 };

function Checks({ checks }: { checks: readonly Check[] }): JSX.Element {
  const bad = checks.filter((check) => check.grade !== "ok");
  const sorted = [...checks].sort((a, b) => ORDER[a.grade] - ORDER[b.grade]);
  return (
    <Section id="checks" title="Checks" lead={bad.length === 0 ? "Nothing here disturbs a measurement." : `${plural(bad.length, "check")} of ${checks.length} could widen intervals or stop a run.`}>
      <Table label="Checks of the machine">
        <thead><tr><th scope="col">check</th><th scope="col">grade</th><th scope="col">found</th><th scope="col">what to do</th></tr></thead>
        <tbody>
          {sorted.map((check) => (
            <tr key={check.name} class={check.grade === "error" ? "unfit" : undefined}>
              <th scope="row">{check.name}</th>
              <td>{check.grade === "ok" ? "ok" : <b>▲ {check.grade}</b>}</td>
              <td class="words">{check.found}</td>
              <td class="words">{check.advice ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}

function Stream({ figures }: { figures: StreamFigures }): JSX.Element {
  return <><td class="n">{time(figures.round_trip_p50_ns)}</td><td class="n">{time(figures.round_trip_p99_ns)}</td><td class="n">{significant(figures.bits_per_s / 1e9)} Gbit/s</td></>;
}

function Calibration({ machine }: { machine: EnvironmentRecord }): JSX.Element {
  const { calibration } = machine;
  if (calibration == null) return <Section id="calibration" title="Calibration"><p class="none">Not measured yet: “tare doctor --calibrate” measures the idle machine.</p></Section>;
  const measured = new Date(calibration.measured_unix_s * 1000).toISOString().slice(0, 16).replace("T", " ");
  return (
    <Section id="calibration" title="Calibration" lead={`What the idle machine can do, measured ${measured} UTC.${calibration.boot_id === machine.boot_id ? "" : " The machine was started again since."}`}>
      <Table label="Network of the idle machine">
        <thead><tr><th scope="col">between</th><th scope="col" class="n">p50</th><th scope="col" class="n">p99</th><th scope="col" class="n">throughput</th><th scope="col" class="n">TLS p50</th><th scope="col" class="n">TLS p99</th><th scope="col" class="n">TLS throughput</th></tr></thead>
        <tbody>{calibration.paths.map((path) => <tr key={path.between}><th scope="row">{path.between}</th><Stream figures={path.plain} /><Stream figures={path.tls} /></tr>)}</tbody>
      </Table>
      {calibration.disk != null && <p class="how">Disk at {calibration.disk.folder}: writes {quantity(calibration.disk.write_bytes_per_s, "bytes-per-second")}, reads {quantity(calibration.disk.read_bytes_per_s, "bytes-per-second")}.</p>}
    </Section>
  );
}

/** The view of the machine. */
export function Machine(): JSX.Element {
  const machine = useResource<EnvironmentRecord>("machine");
  return (
    <>
      <Heading title="Machine" name="Machine" tools={<button type="button" class="plain" onClick={machine.reload}>Look again</button>} />
      <Await of={machine} what="machine (this takes a second)">
        {(data) => (
          <>
            <dl class="facts-line">
              <div><dt>Processor</dt><dd>{data.cpu_model}, {plural(data.cores, "core")}</dd></div>
              <div><dt>Memory</dt><dd>{size(data.memory_bytes)}</dd></div>
              <div><dt>System</dt><dd>{data.os}, kernel {data.kernel}</dd></div>
              <div><dt>Addressing</dt><dd>{data.addressing}</dd></div>
              <div><dt>Fingerprint</dt><dd>{data.fingerprint}</dd></div>
              <div><dt>Tare</dt><dd>{data.tare}</dd></div>
            </dl>
            <Checks checks={data.checks} />
            <Calibration machine={data} />
            <Section id="installed" title="Installed" lead="Software that experiments can use without fetching it.">
              {Object.keys(data.targets).length === 0 ? <p class="none">Nothing was fetched or built yet; a run does that by itself.</p> : (
                <Table label="Software">
                  <thead><tr><th scope="col">target</th><th scope="col">version</th><th scope="col">source</th><th scope="col">path</th></tr></thead>
                  <tbody>
                    {Object.entries(data.targets).map(([name, target]) => (
                      <tr key={name}><th scope="row">{name}</th><td class="words">{target.version}</td><td class="words">{target.source}</td><td class="words">{target.path}</td></tr>
                    ))}
                  </tbody>
                </Table>
              )}
            </Section>
            <Section id="facts" title="Limits and settings">
              <dl class="rows">{Object.entries(data.facts).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value === "" ? MISSING : value}</dd></div>)}</dl>
            </Section>
          </>
        )}
      </Await>
    </>
  );
}
