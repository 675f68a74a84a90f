// Our own error, beside what we measured; and the scatter from block to block.
import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { MISSING, percent, present, time } from "../format";
import type { Layout, Panel } from "../layout";
import type { Key } from "../legend";
import { generatorDomain, generatorPicture } from "../plot/generator";
import type { Noise, View } from "../view";
import { Picture } from "./Picture";
import { Section, Table } from "./Section";

const KEYS: readonly Key[] = [
  { label: "generator’s lateness, p50 and worst block’s p99", color: "var(--ink)", shape: "square-open" },
  { label: "service time measured, p50 and p99", color: "var(--ink)", shape: "circle" },
];

const HOW =
  "How to read: the further the squares lie left of the circles, the smaller our own error. Where they meet, the generator was part of what it measured.";

function Lateness({ panel, domain }: { panel: Panel; domain: [number, number] }): JSX.Element {
  const [low, high] = domain;
  const draw = useCallback((width: number) => generatorPicture(panel, [low, high], width), [panel, low, high]);
  return <Picture title={`Lateness of the generator beside the service time it measured, ${panel.name}`} how={HOW} keys={KEYS} file={`lateness-${panel.name}`} draw={draw} />;
}

function GeneratorTable({ layout }: { layout: Layout }): JSX.Element {
  return (
    <details class="block">
      <summary>Figures as a table</summary>
      <Table label="Load generator">
        <thead>
          <tr>
            <th scope="col">{layout.panelWord}</th><th scope="col">{layout.seriesWord}</th>
            <th scope="col" class="n">lateness p50</th><th scope="col" class="n">lateness p99</th><th scope="col" class="n">bunched</th><th scope="col" class="n">receive lag p99</th>
            <th scope="col" class="n">generator core busy</th><th scope="col" class="n">kernel timestamps</th>
            <th scope="col" class="n">of which upper bounds</th>
          </tr>
        </thead>
        <tbody>
          {layout.panels.flatMap((panel) =>
            panel.series.map((series) => {
              const own = series.cell.generator;
              return (
                <tr key={`${panel.name}/${series.name}`}>
                  <td>{panel.name}</td><td>{series.name}</td>
                  <td class="n">{time(own.lateness_p50_ns)}</td><td class="n">{time(own.lateness_p99_ns)}</td><td class="n">{percent(own.bunched_share)}</td><td class="n">{time(own.receive_lag_p99_ns)}</td>
                  <td class="n">{percent(own.agent_cpu_share)}</td><td class="n">{percent(own.kernel_timestamp_share, 3)}</td><td class="n">{percent(own.upper_bound_share)}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </Table>
    </details>
  );
}

/** The section about the generator. */
export function Generator({ layout }: { layout: Layout }): JSX.Element {
  const domain = generatorDomain(layout.panels);
  return (
    <Section
      id="generator"
      title="Load generator"
      lead="Lateness: release − intended start. Receive lag: reading − arrival. Both are errors of the generator and in no latency."
    >
      {domain === null ? (
        <p class="none">It was not measured.</p>
      ) : (
        <div class="grid">
          {layout.panels.filter((panel) => panel.series.length > 0).map((panel) => (
            <Lateness key={panel.name} panel={panel} domain={domain} />
          ))}
        </div>
      )}
      <GeneratorTable layout={layout} />
    </Section>
  );
}

function NoiseCell({ noise }: { noise: Noise | undefined }): JSX.Element {
  if (noise === undefined) return <td class="figure">{MISSING}</td>;
  return (
    <td class="figure">
      <span class="value">{percent(noise.minimum_detectable)}</span>
      {present(noise.residual) && <span class="range">residual {percent(noise.residual)}</span>}
    </td>
  );
}

/** What the comparison of the baseline with itself showed. */
function checkWords(check: View["baseline_check"]): string {
  if (check == null) return "The baseline ran once in each block.";
  const found = check.differences.map((item) => `${item.metric} ${item.ratio_text} at ${item.level}`);
  const seen = found.length === 0 ? "no difference was shown" : `it differs from itself in ${found.join(", ")}`;
  return `The baseline measured twice, ${check.comparisons} comparisons: ${seen}.`;
}

/** The section about scatter: what this run could find, and the baseline against itself. */
export function Scatter({ view }: { view: View }): JSX.Element {
  const levels = [...new Set(view.noise.map((item) => item.level))];
  const metrics = view.metrics.filter((head) => view.noise.some((item) => item.metric === head.metric));
  return (
    <Section
      id="noise"
      title="Minimum detectable difference"
      lead={`The smallest difference that is found with a power of 80 %; small print: the residual from block to block. ${checkWords(view.baseline_check)}`}
    >
      {view.noise.length === 0 ? (
        <p class="none">Too few blocks to tell.</p>
      ) : (
        <Table label="Minimum detectable difference" class="figures">
          <thead>
            <tr><td />{levels.map((level) => <th scope="col" key={level}>{level}</th>)}</tr>
          </thead>
          <tbody>
            {metrics.map((head) => (
              <tr key={head.metric}>
                <th scope="row">{head.label}</th>
                {levels.map((level) => (
                  <NoiseCell key={level} noise={view.noise.find((item) => item.level === level && item.metric === head.metric)} />
                ))}
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Section>
  );
}
