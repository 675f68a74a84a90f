// Metrics against the factor that is varied.
import type { JSX } from "preact";
import { lineKey } from "../legend";
import { factorInks, factorPicture, shownIn } from "../plot/factor";
import type { FactorView, View } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";

const HOW = "How to read: dot: mean over blocks; upright line: its unadjusted 95 % interval. Values of the factor stand in their order, not at their distance.";
const FULL = " Hollow: the cores of the parts or of the agents were saturated, so scaling cannot show.";
const THEIRS = " Grey diamond: where a published ratio to the first value would have it.";

function Line({ item, baseline }: { item: FactorView; baseline: string | undefined }): JSX.Element {
  const colors = factorInks(item, baseline);
  const keys = item.lines.map(({ arm }) => lineKey(arm, colors.get(arm)));
  const shown = shownIn(item);
  const how = `${HOW}${shown.saturated ? FULL : ""}${shown.published ? THEIRS : ""}`;
  const title = `${item.label.charAt(0).toUpperCase()}${item.label.slice(1)} against ${item.factor}`;
  return <Picture title={title} how={how} keys={keys} file={`${item.metric}-${item.factor}`} draw={(width) => factorPicture(item, baseline, width)} />;
}

/** The section of metrics against the factor; nothing where nothing, or more than one thing, is varied. */
export function Factors({ view }: { view: View }): JSX.Element | null {
  const all = view.factors ?? [];
  if (all.length === 0) return null;
  const baseline = view.arms.find((arm) => arm.baseline)?.name;
  return (
    <Section id="factor" title={`Against ${all[0]?.factor ?? "the factor"}`}>
      <div class="grid">
        {all.map((item) => <Line key={item.metric} item={item} baseline={baseline} />)}
      </div>
    </Section>
  );
}
