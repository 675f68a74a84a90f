// Runs beside each other, or loads: their figures, what differs between them, and the verdict on two runs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { LoadDetail, RunOverlay, Sentence } from "../../api";
import { MISSING, instant } from "../../format";
import { Sentences } from "../../section/Head";
import { Overlay, type Measured } from "../../section/Overlay";
import { Section, Table } from "../../section/Section";
import { gather, labels, measuredLoad } from "../measured";
import { get } from "../client";
import { Await, Heading, Problem } from "../pieces";
import { useLoaded, useResource } from "../resource";
import { at, withEach } from "../router";

/** What `tare compare --json` prints, as far as it is shown. */
interface Comparison {
  verdict: Sentence[];
  rows: { level: string; arm: string; metric: string; before: string; after: string; ratio_text: string; outcome_text: string }[];
}

function isComparison(value: unknown): value is Comparison {
  const some = value as Partial<Comparison> | null;
  return some !== null && typeof some === "object" && Array.isArray(some.verdict) && Array.isArray(some.rows);
}

function Verdict({ overlay }: { overlay: RunOverlay }): JSX.Element | null {
  if (overlay.refused != null) return <p class="lead no-verdict">No verdict on the difference: {overlay.refused}</p>;
  const { comparison } = overlay;
  if (!isComparison(comparison)) return null;
  return (
    <section class="verdict" aria-label="Verdict">
      <Sentences sentences={comparison.verdict} kind="finding" />
      <Sentences sentences={comparison.verdict} kind="warning" />
      <Sentences sentences={comparison.verdict} kind="note" />
      <details class="block">
        <summary>Every figure of both ({comparison.rows.length})</summary>
        <Table label="Every figure of both runs">
          <thead><tr><th scope="col">level</th><th scope="col">arm</th><th scope="col">metric</th><th scope="col" class="n">before</th><th scope="col" class="n">after</th><th scope="col" class="n">change (95 %)</th><th scope="col">outcome</th></tr></thead>
          <tbody>
            {comparison.rows.map((row, index) => (
              <tr key={index}><td>{row.level}</td><td>{row.arm}</td><td>{row.metric}</td><td class="n">{row.before}</td><td class="n">{row.after}</td><td class="n">{row.ratio_text}</td><td>{row.outcome_text}</td></tr>
            ))}
          </tbody>
        </Table>
      </details>
    </section>
  );
}

function Changed({ overlay }: { overlay: RunOverlay }): JSX.Element {
  return (
    <Section id="changed" title="What differs in plan, versions and machine">
      {overlay.changed.map((lines, index) => (
        <div key={index}>
          <h3 class="sub">{overlay.runs[index + 1]?.id ?? MISSING}, against {overlay.runs[0]?.id ?? MISSING}</h3>
          {lines.length === 0 ? <p class="how">Nothing.</p> : <ul class="notes">{lines.map((line) => <li key={line}>{line}</li>)}</ul>}
        </div>
      ))}
    </Section>
  );
}

function Cells({ overlay }: { overlay: RunOverlay }): JSX.Element {
  const cells = gather(overlay);
  const [chosen, choose] = useState(0);
  const cell = cells[chosen] ?? cells[0];
  const names = labels(overlay.runs);
  if (cell === undefined) return <p class="none">Nothing was measured in these runs.</p>;
  const all = overlay.runs.flatMap((run, index): Measured[] => {
    const found = cell.of[index];
    if (found == null) return [];
    return [{ ...found, name: names[index] ?? run.id, href: at("runs", run.id), throughput: found.throughput ?? null, throughputUnit: found.throughput_unit === "bytes-per-second" ? "bytes-per-second" : "per-second" }];
  });
  const missing = overlay.runs.filter((_, index) => cell.of[index] == null);
  return (
    <Section
      id="figures"
      title="Figures"
      lead="Latency from release to answer, the trials of a run merged. “–”: not measured, or too few observations."
      tools={(
        <label class="pick">Arm and level{" "}
          <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
            {cells.map((one, index) => <option key={index} value={index}>{one.arm} at {one.level}</option>)}
          </select>
        </label>
      )}
    >
      {missing.length > 0 && <p class="how">Without this arm at this level: {missing.map((run) => run.id).join(", ")}.</p>}
      <Overlay key={`${cell.arm} ${cell.level}`} all={all} what="latency" title={`${cell.arm} at ${cell.level}`} />
    </Section>
  );
}

/** The view of several runs. */
export function CompareRuns({ runs }: { runs: string[] }): JSX.Element {
  const path = withEach("compare", "run", runs);
  const overlay = useResource<RunOverlay>(runs.length < 2 ? null : path);
  return (
    <>
      <p class="crumb"><a href="/">Runs</a> / compare</p>
      <Heading title={`${runs.length} runs compared`} name="Compare" />
      {runs.length < 2 ? <p class="none">Select two runs or more in <a href="/">the list</a>.</p> : (
        <Await of={overlay} what="comparison">
          {(data) => (
            <>
              <Verdict overlay={data} />
              <Cells overlay={data} />
              <Changed overlay={data} />
              <Section id="runs" title="Runs">
                <ul class="notes">{data.runs.map((run) => <li key={run.id}><a href={at("runs", run.id)}>{run.id}</a>: {run.experiment}, {instant(run.started)}</li>)}</ul>
              </Section>
            </>
          )}
        </Await>
      )}
    </>
  );
}

/** The view of several loads. */
export function CompareLoads({ loads }: { loads: string[] }): JSX.Element {
  const details = useLoaded(loads.join("\n"), (stop) => Promise.all(loads.map((id) => get<LoadDetail>(`loads/${encodeURIComponent(id)}`, stop))));
  return (
    <>
      <p class="crumb"><a href="/loads">Loads</a> / compare</p>
      <Heading title={`${loads.length} loads compared`} name="Compare loads" />
      {loads.length < 2 ? <p class="none">Select two loads or more in <a href="/loads">the list</a>.</p> : (
        <Await of={details} what="loads">
          {(data) => {
            const all = data.flatMap(({ entry }) => (entry.figures == null ? [] : [measuredLoad(entry.id, entry.figures)]));
            const unique = labels(all.map((one) => ({ id: one.name, started: "" })));
            const without = data.filter(({ entry }) => entry.figures == null);
            const quantities = [...new Set(data.flatMap(({ entry }) => entry.figures?.quantity ?? []))];
            return (
              <>
                {without.map(({ entry }) => <Problem key={entry.id}>{entry.id} has no figures: {entry.problem ?? "it is running"}</Problem>)}
                {quantities.length > 1 && <Problem>Their latencies are not the same quantity: {quantities.join("; ")}.</Problem>}
                <Section id="figures" title="Figures">
                  <Overlay all={all.map((one, index) => ({ ...one, name: unique[index] ?? one.name }))} what={quantities[0] ?? "latency"} title="loads" />
                </Section>
              </>
            );
          }}
        </Await>
      )}
    </>
  );
}
