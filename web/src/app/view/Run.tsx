// One run: while it is measured, and its report afterwards.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunDetail, StartReply, View } from "../../api";
import { MISSING } from "../../format";
import { Subject } from "../../section/Head";
import { TrialAddress } from "../../section/links";
import { VERSION } from "../../data";
import { Starting } from "../Starting";
import { ArmRoutes } from "../ArmRoutes";
import { API, post } from "../client";
import { experimentAt } from "../history/filter";
import { LiveView } from "../live/LiveView";
import { Await, Do, Heading, Lazy, Problem, mayChange, useAction, useTitle } from "../pieces";
import { useInterval, useResource } from "../resource";
import { at } from "../router";
import { STATES, canResume } from "../runs";
import { size } from "../words";

const REFRESH_MS = 5000;
const RESUMED_MS = 1000;

function Downloads({ id, report }: { id: string; report: boolean }): JSX.Element {
  return (
    <>
      {report && <a class="button" download href={`${API}/runs/${encodeURIComponent(id)}/report.html`}>Download the report</a>}
      <a class="button" download href={`${API}/runs/${encodeURIComponent(id)}/archive`}>Download the run (tar)</a>
    </>
  );
}

function Report({ view }: { view: View }): JSX.Element {
  useTitle(view.run.experiment);
  return <Subject view={view} />;
}

function Finished({ id, run, reload }: { id: string; run: RunDetail; reload: () => void }): JSX.Element {
  const view = useResource<View>(run.entry.state === "unreadable" ? null : `runs/${encodeURIComponent(id)}/view`);
  const [start, setStart] = useState<StartReply | null>(null);
  const action = useAction();
  // Its process has begun, and may not have taken the folder yet.
  useInterval(reload, start === null ? null : RESUMED_MS);
  const resume = async () => setStart(await post<StartReply>(`runs/${encodeURIComponent(id)}/resume`));
  return (
    <>
      <div class="bar">
        <p class="crumb"><a href="/">Runs</a> / {id}</p>
        <div class="tools">
          {mayChange() && canResume(run.entry) && start === null && <Do action={action} run={resume} strong>Resume</Do>}
          {run.entry.state === "complete" && run.entry.summary != null && <a class="button" href={experimentAt({ experiment: run.entry.summary.experiment, form: run.entry.summary.form })}>History</a>}
          <Downloads id={id} report={view.data !== null} />
        </div>
      </div>
      {run.entry.origin === "imported" && <p class="lead">This run was imported: it can be shown and compared, not resumed.</p>}
      {action.problem !== null && <Problem>{action.problem}</Problem>}
      {start !== null && <Starting start={start} ready={reload} />}
      {run.entry.state === "unreadable" ? (
        <>
          <Heading title={id} name={id} />
          <Problem>This run cannot be read: {run.entry.problem ?? MISSING}</Problem>
        </>
      ) : (
        <Await of={view} what="report">
          {(data) => data.version !== VERSION ? (
            <Problem>The report is of version {String(data.version)}, this page draws version {VERSION}: load the page again.</Problem>
          ) : (
            <>
              <Report view={data} />
              <TrialAddress.Provider value={(trial) => at("runs", id, "trials", trial)}>
                <Lazy what="report" load={async () => (await import("../../Report")).Body} props={{ view: data }} />
              </TrialAddress.Provider>
            </>
          )}
        </Await>
      )}
      {run.arms.length > 0 && (
        <section aria-labelledby="routes-title">
          <h2 id="routes-title">Routes of the arms</h2>
          <ArmRoutes arms={run.arms} />
        </section>
      )}
      <p class="how">This run takes {size(run.bytes)} of disk.</p>
    </>
  );
}

/** The view of a run. */
export function Run({ id }: { id: string }): JSX.Element {
  const run = useResource<RunDetail>(`runs/${encodeURIComponent(id)}`);
  const state = run.data?.entry.state;
  useInterval(run.reload, state === "running" ? REFRESH_MS : null);
  return (
    <Await of={run} what="run">
      {(data) => data.entry.state === "running"
        ? <LiveView id={id} run={data} ended={run.reload} downloads={<Downloads id={id} report={false} />} />
        : <Finished key={STATES[data.entry.state]} id={id} run={data} reload={run.reload} />}
    </Await>
  );
}
