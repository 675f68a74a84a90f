// Latency by percentile, and over time.
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { sharing, type Layout, type Panel } from "../layout";
import type { Key } from "../legend";
import { STATISTICS, timeAxes, timePicture, type Statistic, type TimeAxes } from "../plot/overtime";
import { percentileAxes, percentilePicture, TITLES, type Measure, type PercentileAxes } from "../plot/percentiles";
import { Picture } from "./Picture";
import { Choice, Section } from "./Section";

/** Lines of a panel, as a key. */
export function lineKeys(panel: Panel): Key[] {
  return panel.series.map((series) => ({
    label: series.name,
    color: series.ink.color,
    dash: series.ink.dash,
    shape: "line",
  }));
}

const MEASURES: Record<Measure, string> = {
  latency: "Latency: from the moment a request was released until its answer arrived. Waiting for a connection is in it, the generator’s own lateness is not.",
  response: "Response time: from the moment the request was due until its answer arrived, as this client saw it; the generator’s own lateness is in it.",
  service: "Service: from the first byte sent until the answer arrived; what the other side took.",
};

const HOW_CURVES =
  "How to read: each step to the right leaves a tenth of the answers beyond it; lower is faster. Both axes are logarithmic.";
const HOW_OPEN = "A dotted end with a triangle means “at least”: unanswered requests reach into it.";

function Curves({ panel, notes, measure, axes }: { panel: Panel; notes: string[]; measure: Measure; axes: PercentileAxes }): JSX.Element {
  const open = panel.series.some((series) => series.cell[measure].some((point) => point.is_lower_bound));
  const draw = useCallback((width: number) => percentilePicture(panel, measure, axes, width), [panel, measure, axes]);
  return (
    <Picture
      title={`${TITLES[measure]} by percentile, ${panel.name}`}
      notes={notes}
      how={open ? `${HOW_CURVES} ${HOW_OPEN}` : HOW_CURVES}
      keys={lineKeys(panel)}
      file={`latency-${measure}-${panel.name}`}
      draw={draw}
    />
  );
}

/** The section of percentile curves. */
export function Latency({ layout }: { layout: Layout }): JSX.Element {
  const [measure, setMeasure] = useState<Measure>("latency");
  const panels = useMemo(
    () =>
      layout.panels.flatMap((panel) => {
        const shared = sharing(layout.panels, panel);
        const axes = percentileAxes(shared.panels, measure);
        return axes === null || panel.series.length === 0 ? [] : [{ panel, notes: shared.notes, axes }];
      }),
    [layout, measure],
  );
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
          {panels.map((item) => <Curves key={item.panel.name} {...item} measure={measure} />)}
        </div>
      )}
    </Section>
  );
}

const HOW_TIME =
  "How to read: level lines mean a steady state; a slope means that warm-up or a queue reached into the window. Gaps are seconds with too few answers. Median over blocks.";

function OverTimePanel({ panel, notes, statistic, axes }: { panel: Panel; notes: string[]; statistic: Statistic; axes: TimeAxes }): JSX.Element {
  const draw = useCallback((width: number) => timePicture(panel, statistic, axes, width), [panel, statistic, axes]);
  return (
    <Picture
      title={`Latency over time (${STATISTICS[statistic]} of each second), ${panel.name}`}
      notes={notes}
      how={HOW_TIME}
      keys={lineKeys(panel)}
      file={`over-time-${STATISTICS[statistic]}-${panel.name}`}
      draw={draw}
    />
  );
}

/** The section of latency over time. */
export function OverTime({ layout }: { layout: Layout }): JSX.Element {
  const has = (statistic: Statistic) => timeAxes(layout.panels, statistic) !== null;
  const [statistic, setStatistic] = useState<Statistic>("p50_ns");
  const panels = useMemo(
    () =>
      layout.panels.flatMap((panel) => {
        const shared = sharing(layout.panels, panel);
        const axes = timeAxes(shared.panels, statistic);
        return axes === null || panel.series.length === 0 ? [] : [{ panel, notes: shared.notes, axes }];
      }),
    [layout, statistic],
  );
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
          {panels.map((item) => <OverTimePanel key={item.panel.name} {...item} statistic={statistic} />)}
        </div>
      )}
    </Section>
  );
}
