// What stands behind the verdict: published figures, trials, machine, versions, plan and command.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, significant, time } from "../format";
import type { Grade, TrialRow, View } from "../view";
import { Section, Table } from "./Section";

function TrialLine({ trial }: { trial: TrialRow }): JSX.Element {
  const flags = [...(trial.saturated ? ["saturated"] : []), ...trial.reasons];
  return (
    <tr class={trial.status === "fit" ? undefined : "unfit"}>
      <td class="n">{trial.trial}</td>
      <td class="n">{trial.block}</td>
      <td>{trial.arm}{trial.copy > 0 && <span class="quiet"> copy {trial.copy}</span>}</td>
      <td>{trial.level}</td>
      <td class="n">{trial.attempt}</td>
      <td>{trial.status === "fit" ? "fit" : <b>{trial.status}</b>}</td>
      <td class="n">{clock(trial.offset_ns)}</td>
      <td class="n">{clock(trial.took_ns)}</td>
      <td class="n">{time(trial.p50_ns)}</td>
      <td class="n">{time(trial.p99_ns)}</td>
      <td class="n">{significant(trial.throughput_per_s)}</td>
      <td class="n">{time(trial.lateness_p99_ns)}</td>
      <td class="n">{trial.proofs_made === 0 ? "–" : `${trial.proofs_held}/${trial.proofs_made}`}</td>
      <td class="words">{flags.join("; ")}</td>
    </tr>
  );
}

function statusCounts(trials: readonly TrialRow[]): string {
  const statuses = [...new Set(trials.map((trial) => trial.status))];
  return statuses.map((status) => `${trials.filter((trial) => trial.status === status).length} ${status}`).join(", ");
}

/** The list of trials. */
export function Trials({ view }: { view: View }): JSX.Element {
  return (
    <Section id="trials" title="Trials">
      <details class="block">
        <summary>{view.trials.length} trials: {statusCounts(view.trials) || "none"}</summary>
        <Table label="Trials">
          <thead>
            <tr>
              <th scope="col" class="n">trial</th><th scope="col" class="n">block</th><th scope="col">arm</th><th scope="col">level</th>
              <th scope="col" class="n">attempt</th><th scope="col">status</th><th scope="col" class="n">began</th><th scope="col" class="n">took</th>
              <th scope="col" class="n">latency p50</th><th scope="col" class="n">latency p99</th><th scope="col" class="n">right/s</th>
              <th scope="col" class="n">lateness p99</th><th scope="col" class="n">path checks passed</th><th scope="col">reason</th>
            </tr>
          </thead>
          <tbody>{view.trials.map((trial) => <TrialLine key={trial.trial} trial={trial} />)}</tbody>
        </Table>
      </details>
    </Section>
  );
}

const GRADES: Record<Grade, string> = { good: "good", limits: "▲ limits", prevents: "■ prevents" };

/** Checks, versions and settings of the machine. */
export function Machine({ view }: { view: View }): JSX.Element {
  return (
    <Section id="machine" title="Machine and versions">
      {view.checks.length > 0 && (
        <Table label="Checks of the machine">
          <thead><tr><th scope="col">check</th><th scope="col">grade</th><th scope="col">found</th><th scope="col">what to do</th></tr></thead>
          <tbody>
            {view.checks.map((check) => (
              <tr key={check.name}>
                <td>{check.name}</td><td class={`grade ${check.grade}`}>{GRADES[check.grade]}</td>
                <td class="words">{check.found}</td><td class="words">{check.advice ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <div class="groups">
        {view.facts.map((group) => (
          <div class="group" key={group.title}>
            <h3>{group.title}</h3>
            <dl class="rows">
              {group.facts.map(([name, value], index) => <div key={index}><dt>{name}</dt><dd>{value}</dd></div>)}
            </dl>
          </div>
        ))}
      </div>
    </Section>
  );
}

/** The command that repeats the run, and the whole plan. */
export function Plan({ view }: { view: View }): JSX.Element {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const copy = () => {
    // Absent on pages that were not opened from a file or a secure address.
    const done = navigator.clipboard?.writeText(view.run.command) ?? Promise.reject(new Error("no clipboard"));
    done.then(() => setCopied("yes"), () => setCopied("failed"));
  };
  return (
    <Section id="plan" title="Reproduce">
      <div class="command">
        <pre tabIndex={0}><code>{view.run.command}</code></pre>
        <button type="button" onClick={copy}>{copied === "yes" ? "Copied" : copied === "failed" ? "Select and copy by hand" : "Copy"}</button>
      </div>
      <details class="block">
        <summary>The full plan</summary>
        <pre class="plan" tabIndex={0}>{view.plan_text}</pre>
      </details>
      <p class="quiet">Run {view.run.id}, written by Tare {view.run.tare}.</p>
    </Section>
  );
}
