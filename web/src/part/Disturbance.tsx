// What was done to test beds on purpose, what the load noticed of it, and what was read back.
import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import type { Key } from "../legend";
import { canDraw, disturbancePicture, INK, SHOWN, type Shown } from "../plot/disturbance";
import type { DisturbanceView, View } from "../view";
import { Picture } from "./Picture";
import { Section, Table } from "./Section";

const HOW =
  "How to read: dashed lines are faults. Answers are counted when they came, not when they were due: what piled up comes as a peak. Medians over the trials.";

const HEADS = ["done", "silent for", "slowest", "sent again", "errors", "acknowledged", "read back", "lost", "doubled"];

function Line({ item, shown }: { item: DisturbanceView; shown: Shown }): JSX.Element | null {
  const draw = useCallback((width: number) => disturbancePicture(item, shown, width), [item, shown]);
  if (!canDraw(item, shown)) return null;
  const keys: Key[] = [
    { label: SHOWN[shown], color: INK.line, shape: "swatch" },
    ...(item.events.length > 0 ? [{ label: "fault", color: INK.event, shape: "swatch" } as Key] : []),
  ];
  const title = `${SHOWN[shown].charAt(0).toUpperCase()}${SHOWN[shown].slice(1)}, ${item.arm}, ${item.level}`;
  return <Picture title={title} how={HOW} keys={keys} file={`disturbance-${shown}-${item.arm}-${item.level}`} draw={draw} />;
}

function Rows({ item }: { item: DisturbanceView }): JSX.Element {
  const title = `${item.arm}, ${item.level}: trial by trial`;
  return (
    <Table label={title}>
      <thead>
        <tr>
          <th scope="col">trial</th>
          {HEADS.map((head) => <th scope="col" key={head}>{head}</th>)}
        </tr>
      </thead>
      <tbody>
        {item.trials.map((trial) => (
          <tr key={trial.trial}>
            <th scope="row">{trial.trial}</th>
            {trial.texts.map((text, index) => <td class={index === 0 ? undefined : "figure"} key={index}>{text}</td>)}
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** The section of disturbances; nothing where nothing was done. */
export function Disturbances({ view }: { view: View }): JSX.Element | null {
  const all = view.disturbances ?? [];
  if (all.length === 0) return null;
  return (
    <Section
      id="disturbance"
      title="Faults"
      lead="Parts were disturbed on purpose while the load went on. Acknowledged records were read back afterwards and counted one by one."
    >
      {all.map((item) => (
        <div key={`${item.arm}-${item.level}`}>
          <h3 class="sub">{item.arm}, {item.level}</h3>
          {item.sentences.map((text) => <p key={text}>{text}</p>)}
          <div class="grid wide">
            <Line item={item} shown="answers" />
            <Line item={item} shown="slowest" />
          </div>
          <Rows item={item} />
        </div>
      ))}
    </Section>
  );
}
