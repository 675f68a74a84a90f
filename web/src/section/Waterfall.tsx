// What each thing adds to the mean and to the CPU: a waterfall for each order, and each part in every order.
import type { JSX } from "preact";
import type { LegendEntry } from "../legend";
import { BARS, barOf, waterfallPicture, type Bar } from "../plot/waterfall";
import type { Unit, View, WaterfallSequence } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";
import { Tables, capital } from "./Tables";

const READING_HELP = "How to read: each bar begins where the one before it ends; the dark line under it: 95 % interval of what the step adds.";

function WaterfallChart(props: { title: string; sequence: WaterfallSequence; all: readonly WaterfallSequence[]; unit: Unit }): JSX.Element {
  const { title, sequence, all, unit } = props;
  const met = new Set(sequence.steps.map(barOf));
  const shown: Bar[] = ["total", ...(["increase", "decrease", "undecided"] as const).filter((bar) => met.has(bar))];
  const keys: LegendEntry[] = shown.map((bar) => ({ ...BARS[bar], shape: BARS[bar].opacity === 1 ? "swatch" : "swatch-pale" }));
  const notes = sequence.missing == null ? [] : [sequence.missing];
  return <Picture title={title} notes={notes} how={READING_HELP} keys={keys} file={`waterfall-${title}`} draw={(width) => waterfallPicture(sequence, all, unit, width)} />;
}

/** The section of waterfalls; nothing where the experiment has none. */
export function Waterfalls({ view }: { view: View }): JSX.Element | null {
  const all = view.waterfalls ?? [];
  if (all.length === 0) return null;
  const orders = all[0]?.sequences ?? [];
  return (
    <Section
      id="waterfall"
      title="Waterfall"
      lead="Means over the blocks in which every arm of an order was measured, so that the steps add up. Intervals are unadjusted; quantiles are not shown, because they do not add up."
    >
      {all.map((item) => (
        <div key={`${item.level}-${item.metric}`}>
          <h3 class="sub">{capital(item.label)}, {item.level}</h3>
          <div class="grid wide">
            {item.sequences.map((sequence) => (
              <WaterfallChart
                key={sequence.name}
                title={`${capital(item.label)}, ${item.level}, order ${sequence.name}`}
                sequence={sequence}
                all={item.sequences}
                unit={item.unit}
              />
            ))}
          </div>
        </div>
      ))}
      <Tables view={view} section="Waterfall" />
      {orders.map((order) => <p class="how" key={order.name}>Order {order.name}: {order.order}</p>)}
    </Section>
  );
}
