// Injected faults, their effects on the load, and the records read back.
import type { JSX } from "preact";
import type { LegendEntry } from "../legend";
import { canDraw, faultPicture, INK, SHOWN, type Shown } from "../plot/fault";
import type { FaultView, View } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";
import { Tables } from "./Tables";

const HOW =
  "How to read: dashed lines are faults. Responses count when they arrive, so a backlog shows as a peak. Medians over the trials.";

function Line({ item, shown }: { item: FaultView; shown: Shown }): JSX.Element | null {
  if (!canDraw(item, shown)) return null;
  const keys: LegendEntry[] = [
    { label: SHOWN[shown], color: INK.line, shape: "swatch" },
    ...(item.faults.length > 0 ? [{ label: "fault", color: INK.fault, shape: "swatch" } as LegendEntry] : []),
  ];
  const title = `${SHOWN[shown].charAt(0).toUpperCase()}${SHOWN[shown].slice(1)}, ${item.arm}, ${item.level}`;
  return <Picture title={title} how={HOW} keys={keys} file={`fault-${shown}-${item.arm}-${item.level}`} draw={(width) => faultPicture(item, shown, width)} />;
}

/** The section of faults; nothing where there are none. */
export function Faults({ view }: { view: View }): JSX.Element | null {
  const all = view.faults ?? [];
  if (all.length === 0) return null;
  return (
    <Section
      id="faults"
      title="Faults"
      lead="Faults were injected during the load. Acknowledged records were read back afterwards and compared one by one."
    >
      {all.map((item) => (
        <div key={`${item.arm}-${item.level}`}>
          <h3 class="sub">{item.arm}, {item.level}</h3>
          {item.sentences.map((text) => <p key={text}>{text}</p>)}
          <div class="grid wide">
            <Line item={item} shown="answers" />
            <Line item={item} shown="slowest" />
          </div>
        </div>
      ))}
      <Tables view={view} section="Faults" />
    </Section>
  );
}
