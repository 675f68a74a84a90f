// The error of the generator, beside what it measured.
import type { JSX } from "preact";
import { drawn, type Layout } from "../layout";
import type { LegendEntry } from "../legend";
import { generatorDomain, generatorPicture } from "../plot/generator";
import type { View } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";
import { Tables } from "./Tables";

const KEYS: readonly LegendEntry[] = [
  { label: "generator’s lateness, p50 and worst block’s p99", color: "var(--ink)", shape: "square-open" },
  { label: "service time measured, p50 and p99", color: "var(--ink)", shape: "circle" },
];

const HOW =
  "How to read: the further the squares lie left of the circles, the smaller the generator’s lateness is against what it measured. Lateness is in no latency, but late starts come in bursts.";

/** The section about the generator. */
export function Generator({ view, layout }: { view: View; layout: Layout }): JSX.Element {
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
          {drawn(layout).map((panel) => (
            <Picture
              key={panel.name}
              title={`Lateness of the generator beside the service time it measured, ${panel.name}`}
              how={HOW}
              keys={KEYS}
              file={`lateness-${panel.name}`}
              draw={(width) => generatorPicture(panel, domain, width)}
            />
          ))}
        </div>
      )}
      <Tables view={view} section="Load generator" />
    </Section>
  );
}
