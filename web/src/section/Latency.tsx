// Latency by percentile, and over time.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { onSharedAxes, type Layout, type Panel } from "../layout";
import { lineKey } from "../legend";
import { STATISTICS, timeAxes, timePicture, type Statistic } from "../plot/overtime";
import { percentileAxes, percentilePicture, TITLES, type Measure } from "../plot/percentiles";
import { Picture } from "./Picture";
import { Choice, Section } from "./Section";

function lineKeys(panel: Panel): ReturnType<typeof lineKey>[] {
  return panel.series.map((series) => lineKey(series.name, series.ink));
}

const MEASURES: Record<Measure, string> = {
  latency: "Latency: from the moment a request was released until its answer arrived. Waiting for a connection is in it, the generator’s own lateness is not.",
  response: "Response time: from the moment the request was due until its answer arrived, as this client saw it; the generator’s own lateness is in it.",
  service: "Service: from the first byte sent until the answer arrived; what the other side took.",
};

const HOW_CURVES =
  "How to read: each step to the right leaves a tenth of the answers beyond it; lower is faster. Both axes are logarithmic.";
const HOW_OPEN = "A dotted end with a triangle is a lower bound: it includes unanswered requests.";

function isOpen(panel: Panel, measure: Measure): boolean {
  return panel.series.some((series) => series.cell[measure].some((point) => point.is_lower_bound));
}

/** The section of percentile curves. */
export function Latency({ layout }: { layout: Layout }): JSX.Element {
  const [measure, setMeasure] = useState<Measure>("latency");
  const panels = onSharedAxes(layout, (shared) => percentileAxes(shared, measure));
  const tools = (
    <Choice
      legend="Measure"
      name="measure"
      options={[{ value: "latency", label: "latency" }, { value: "response", label: "response time" }, { value: "service", label: "service time" }]}
      value={measure}
      choose={setMeasure}
    />
  );
  return (
    <Section id="latency" title="Latency by percentile" lead={MEASURES[measure]} tools={tools}>
      {panels.length === 0 ? (
        <p class="none">{TITLES[measure]} was not measured.</p>
      ) : (
        <div class="grid wide">
          {panels.map(({ panel, notes, axes }) => (
            <Picture
              key={panel.name}
              title={`${TITLES[measure]} by percentile, ${panel.name}`}
              notes={notes}
              how={isOpen(panel, measure) ? `${HOW_CURVES} ${HOW_OPEN}` : HOW_CURVES}
              keys={lineKeys(panel)}
              file={`latency-${measure}-${panel.name}`}
              draw={(width) => percentilePicture(panel, measure, axes, width)}
            />
          ))}
        </div>
      )}
    </Section>
  );
}

const HOW_TIME =
  "How to read: level lines mean a steady state; a slope means that warm-up or a queue reached into the window. Gaps are seconds with too few answers. Median over blocks.";

/** The section of latency over time. */
export function OverTime({ layout }: { layout: Layout }): JSX.Element {
  const has = (statistic: Statistic) => timeAxes(layout.panels, statistic) !== null;
  const [statistic, setStatistic] = useState<Statistic>("p50_ns");
  const panels = onSharedAxes(layout, (shared) => timeAxes(shared, statistic));
  const options = (Object.keys(STATISTICS) as Statistic[])
    .filter((value) => value === statistic || has(value))
    .map((value) => ({ value, label: STATISTICS[value] }));
  const tools = <Choice legend="Statistic" name="statistic" options={options} value={statistic} choose={setStatistic} />;
  return (
    <Section id="over-time" title="Latency over time" tools={tools}>
      {panels.length === 0 ? (
        <p class="none">Too few answers in each second to show the {STATISTICS[statistic]}.</p>
      ) : (
        <div class="grid">
          {panels.map(({ panel, notes, axes }) => (
            <Picture
              key={panel.name}
              title={`Latency over time (${STATISTICS[statistic]} of each second), ${panel.name}`}
              notes={notes}
              how={HOW_TIME}
              keys={lineKeys(panel)}
              file={`over-time-${STATISTICS[statistic]}-${panel.name}`}
              draw={(width) => timePicture(panel, statistic, axes, width)}
            />
          ))}
        </div>
      )}
    </Section>
  );
}
