// Closed loops: throughput from level to level.
import type { JSX } from "preact";
import { present } from "../format";
import { lineKey } from "../legend";
import { inks } from "../palette";
import { throughputPicture, type ThroughputSeries } from "../plot/throughput";
import type { CellView, LevelView, View } from "../api";
import { Picture } from "./Picture";
import { Section } from "./Section";

/** What the levels vary, if it is one number and there is no offered rate; a rate would be its own throughput. */
function varied(view: View): string | null {
  const cells = view.levels.flatMap((level) => level.cells);
  const keys = new Set(view.levels.flatMap((level) => level.values.map(([key]) => key)));
  const numbers = view.levels.every((level) => level.values.length === 1 && Number.isFinite(Number(level.values[0]?.[1])));
  const follows = cells.every((cell) => !present(cell.offered_per_s));
  return view.levels.length > 1 && keys.size === 1 && numbers && follows ? ([...keys][0] ?? null) : null;
}

function climbsOf(view: View): ThroughputSeries[] {
  const ink = inks(view.arms.map((arm) => arm.name), view.arms.find((arm) => arm.baseline)?.name);
  const stepOf = (level: LevelView, cell: CellView | undefined) => {
    const figure = cell?.figures.find((item) => item.metric === "throughput");
    if (!present(figure?.value) || !present(figure.low) || !present(figure.high)) return [];
    return [{ x: Number(level.values[0]?.[1]), value: figure.value, low: figure.low, high: figure.high }];
  };
  return view.arms.flatMap((arm) => {
    const own = ink.get(arm.name);
    const steps = view.levels.flatMap((level) => stepOf(level, level.cells.find((cell) => cell.arm === arm.name)));
    return own === undefined || steps.length === 0 ? [] : [{ name: arm.name, ink: own, steps: steps.sort((a, b) => a.x - b.x) }];
  });
}

/** The section of throughput against what the levels vary. */
export function Throughput({ view }: { view: View }): JSX.Element | null {
  if (!hasThroughput(view)) return null;
  const climbs = climbsOf(view);
  const word = (varied(view) ?? "").split(".").pop() ?? "";
  return (
    <Section id="throughput" title="Throughput" lead="Right answers per second when each client waits for its answers.">
      <div class="grid wide">
        <Picture
          title={`Throughput against ${word}`}
          how="How to read: where a line goes flat, more only wait longer. Points are medians over blocks, with the lowest and the highest block."
          keys={climbs.map((climb) => lineKey(climb.name, climb.ink))}
          file="throughput"
          draw={(width) => throughputPicture(climbs, word, width)}
        />
      </div>
    </Section>
  );
}

/** Whether there is anything to draw that is not drawn with its intervals against the factor. */
export function hasThroughput(view: View): boolean {
  if (view.compare === "levels" || (view.factors ?? []).some((one) => one.metric === "throughput")) return false;
  return varied(view) !== null && climbsOf(view).length > 0;
}
