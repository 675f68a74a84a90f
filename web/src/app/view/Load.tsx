// One load: while it runs, and its figures afterwards.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { LoadDetail, LoadEvent, LoadFigures, LoadReport } from "../../api";
import { MISSING, clock, count, instant, percent, significant, time } from "../../format";
import { Overlay } from "../../section/Overlay";
import { Section, Table } from "../../section/Section";
import { post } from "../client";
import { measuredLoad } from "../measured";
import { SampleCharts } from "../live/Charts";
import { snapshot, takeLoad, unknownLoad, type LiveLoad } from "../live/load";
import { Await, Do, Heading, Problem, mayChange, useAction } from "../pieces";
import { useInterval, useResource } from "../resource";
import { useStream } from "../stream";

const REFRESH_MS = 5000;

function Live({ id, ended }: { id: string; ended: () => void }): JSX.Element {
  const building = useRef<LiveLoad>(unknownLoad());
  const [now, show] = useState(building.current);
  const action = useAction();
  const [isStopping, setStopping] = useState(false);
  const path = `loads/${encodeURIComponent(id)}`;
  useStream<LoadEvent>(`${path}/events`, {
    restart: () => {
      building.current = unknownLoad();
    },
    take: (events) => {
      for (const event of events) takeLoad(building.current, event);
      show(snapshot(building.current));
      if (building.current.isOver) ended();
    },
    end: ended,
  });
  const last = now.seconds.findLast((second) => second.samples.size > 0)?.samples.get("load");
  const stop = async () => {
    await post(`${path}/stop`);
    setStopping(true);
  };
  return (
    <>
      <Heading
        title={id}
        name={`Running: ${id}`}
        tools={mayChange() && <Do action={action} run={stop} strong disabled={isStopping}>{isStopping ? "Stopping …" : "Stop"}</Do>}
      />
      {action.problem !== null && <Problem>{action.problem}</Problem>}
      <dl class="now">
        <div><dt>State</dt><dd>{now.seconds.length === 0 ? "opening connections" : "measuring"}</dd></div>
        <div><dt>Rate</dt><dd>{last === undefined ? MISSING : `${significant((last.ok / last.length_ns) * 1e9)}/s`}</dd></div>
        <div><dt>p50</dt><dd>{time(last?.latency_p50_ns)}</dd></div>
        <div><dt>p99</dt><dd>{time(last?.latency_p99_ns)}</dd></div>
        <div><dt>Successful</dt><dd>{count(now.ok)}</dd></div>
        <div><dt>Errors</dt><dd>{count(now.errors)}</dd></div>
        <div><dt>In flight</dt><dd>{count(last?.in_flight)}</dd></div>
        <div><dt>Connections</dt><dd>{count(now.connections)}</dd></div>
      </dl>
      {now.steps.length > 0 && <ul class="notes">{now.steps.map((step, index) => <li key={index}>{step}</li>)}</ul>}
      <Section id="load" title="Second by second"><SampleCharts run={now} /></Section>
    </>
  );
}

function Statuses({ figures }: { figures: LoadFigures }): JSX.Element {
  if (figures.statuses.length === 0) return <p class="none">No response was counted.</p>;
  const all = figures.statuses.reduce((sum, one) => sum + one.count, 0);
  return (
    <Table label="Responses by status">
      <thead><tr><th scope="col">status</th><th scope="col" class="n">responses</th><th scope="col" class="n">share</th></tr></thead>
      <tbody>
        {figures.statuses.map((one) => <tr key={one.status}><th scope="row">{one.status}</th><td class="n">{count(one.count)}</td><td class="n">{percent(one.count / all)}</td></tr>)}
      </tbody>
    </Table>
  );
}

function Report({ report }: { report: LoadReport }): JSX.Element {
  const seconds = useMemo(() => {
    const load = unknownLoad();
    for (const sample of report.samples) takeLoad(load, { event: "sample", ...sample });
    return load;
  }, [report]);
  const { generator } = report;
  return (
    <>
      {report.assertions.length > 0 && (
        <Section id="assertions" title="Assertions">
          <Table label="Assertions">
            <thead><tr><th scope="col">assertion</th><th scope="col">outcome</th><th scope="col">reason</th></tr></thead>
            <tbody>{report.assertions.map((one) => <tr key={one.assertion}><th scope="row">{one.assertion}</th><td>{one.verdict}</td><td class="words">{one.reason}</td></tr>)}</tbody>
          </Table>
        </Section>
      )}
      {seconds.seconds.length > 0 && <Section id="seconds" title="Second by second"><SampleCharts run={seconds} /></Section>}
      <Section id="generator" title="Load generator">
        <dl class="rows">
          <div><dt>Punctual</dt><dd>{generator.fit ? "yes: the figures are the target’s" : "▲ no: the generator was the limit"}</dd></div>
          <div><dt>Bunched starts</dt><dd>{percent(generator.bunched_share)}</dd></div>
          <div><dt>Lateness p50, p99</dt><dd>{time(report.result.generator.lateness.p50_ns)}, {time(report.result.generator.lateness.p99_ns)}</dd></div>
          <div><dt>Workers busy</dt><dd>{generator.worker_busy.map((share) => percent(share)).join(", ")}</dd></div>
          <div><dt>CPU per exchange</dt><dd>{time(generator.cpu_per_exchange_ns)}</dd></div>
          <div><dt>Kernel timestamps</dt><dd>{percent(generator.kernel_timestamp_share)}</dd></div>
        </dl>
      </Section>
    </>
  );
}

function Result({ detail }: { detail: LoadDetail }): JSX.Element {
  const { entry, report } = detail;
  const { figures } = entry;
  if (figures == null) {
    return (
      <>
        <Heading title={entry.id} name={entry.id} />
        <Problem>It has no figures: {entry.problem ?? "it ended before anything was measured."}</Problem>
      </>
    );
  }
  const name = figures.labels === "" ? entry.id : figures.labels;
  const started = figures.started_unix_us == null ? MISSING : instant(new Date(figures.started_unix_us / 1000).toISOString());
  return (
    <>
      <Heading title={name} name={name} lead={figures.target} />
      <dl class="facts-line">
        <div><dt>Measured</dt><dd>{started}, {clock(figures.window_ns)}, by {figures.tool}</dd></div>
        <div><dt>Offered</dt><dd>{figures.offered_per_s == null ? "no rate: closed loop, or as fast as possible" : `${significant(figures.offered_per_s)}/s`}</dd></div>
        <div><dt>Achieved</dt><dd>{significant(figures.achieved_per_s)}/s</dd></div>
        <div><dt>Connections</dt><dd>{count(figures.connections)}</dd></div>
        <div><dt>Successful</dt><dd>{count(figures.ok)}</dd></div>
        <div><dt>Errors</dt><dd>{count(figures.errors)}</dd></div>
      </dl>
      {report != null && report.warnings.length > 0 && <ul class="sentences warning">{report.warnings.map((text) => <li key={text}><b><span aria-hidden="true">▲ </span>Warning: </b>{text}</li>)}</ul>}
      <Section id="latency" title={figures.quantity === "latency" ? "Latency" : `Latency (${figures.quantity})`}>
        <Overlay
          all={[measuredLoad(entry.id, figures)]}
          what={figures.quantity}
          title={name}
        />
      </Section>
      <Section id="statuses" title="Responses"><Statuses figures={figures} /></Section>
      {report != null && <Report report={report} />}
    </>
  );
}

/** The view of a load. */
export function Load({ id }: { id: string }): JSX.Element {
  const load = useResource<LoadDetail>(`loads/${encodeURIComponent(id)}`);
  useInterval(load.reload, load.data?.entry.running === true ? REFRESH_MS : null);
  return (
    <>
      <p class="crumb"><a href="/loads">Loads</a> / {id}</p>
      <Await of={load} what="load">
        {(data) => (data.entry.running ? <Live id={id} ended={load.reload} /> : <Result detail={data} />)}
      </Await>
    </>
  );
}
