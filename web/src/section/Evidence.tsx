// What stands behind the verdict: machine, versions, plan and command.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { View } from "../api";
import { Section } from "./Section";
import { Tables } from "./Tables";

/** Checks, versions and settings of the machine. */
export function Machine({ view }: { view: View }): JSX.Element {
  return (
    <Section id="machine" title="Machine and versions">
      <Tables view={view} section="Machine and versions" />
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
