// How a view is laid out in pictures: one panel per level with the arms in it, or one per arm with its levels in it.
import { inks, type Ink } from "./palette";
import type { CellView, View } from "./view";

/** One thing compared, within a panel. */
export interface Series {
  name: string;
  ink: Ink;
  cell: CellView;
}

/** One picture's worth of cells. */
export interface Panel {
  name: string;
  /** What could mislead about it. */
  notes: string[];
  /** Whether all of it lies beyond the knee of the machine; such a panel must not flatten the others by sharing their axis. */
  beyond: boolean;
  series: Series[];
}

/** The panels of a view and the ink of everything compared. */
export interface Layout {
  /** What one panel is: `level` or `arm`. */
  panelWord: string;
  /** What one series is. */
  seriesWord: string;
  panels: Panel[];
  inks: Map<string, Ink>;
}

/** Panels that share an axis with the given one, and what to say when those are not all. */
export function sharing(panels: readonly Panel[], panel: Panel): { panels: Panel[]; notes: string[] } {
  const alone = panel.beyond && panels.some((other) => !other.beyond);
  return {
    panels: panels.filter((other) => other.beyond === panel.beyond),
    notes: alone ? [...panel.notes, "Its vertical scale is its own."] : panel.notes,
  };
}

/** Lays a view out. Cells that were never measured are left out of pictures; tables show them. */
export function layoutOf(view: View): Layout {
  return view.compare === "levels" ? byArm(view) : byLevel(view);
}

function measured(cell: CellView | undefined): cell is CellView {
  return cell !== undefined && (cell.trials_fit > 0 || cell.latency.length > 0);
}

function byLevel(view: View): Layout {
  const baseline = view.arms.find((arm) => arm.baseline)?.name;
  const ink = inks(view.arms.map((arm) => arm.name), baseline);
  const panels = view.levels.map((level) => ({
    name: level.name,
    notes: level.beyond_knee == null ? [] : [`Beyond the knee of this machine: ${level.beyond_knee}`],
    beyond: level.beyond_knee != null,
    series: seriesOf(view.arms.map((arm) => arm.name), (arm) => level.cells.find((cell) => cell.arm === arm), ink),
  }));
  return { panelWord: "level", seriesWord: "arm", panels, inks: ink };
}

function byArm(view: View): Layout {
  const names = view.levels.map((level) => level.name);
  const ink = inks(names, names[0]);
  const beyond = view.levels.filter((level) => level.beyond_knee != null);
  const panels = view.arms.map((arm) => ({
    name: arm.name,
    notes: beyond.map((level) => `${level.name}: beyond the knee of this machine: ${level.beyond_knee}`),
    beyond: false,
    series: seriesOf(
      names,
      (name) => view.levels.find((level) => level.name === name)?.cells.find((cell) => cell.arm === arm.name),
      ink,
    ),
  }));
  return { panelWord: "arm", seriesWord: "level", panels, inks: ink };
}

function seriesOf(names: string[], find: (name: string) => CellView | undefined, ink: Map<string, Ink>): Series[] {
  return names.flatMap((name) => {
    const cell = find(name);
    const own = ink.get(name);
    return measured(cell) && own !== undefined ? [{ name, ink: own, cell }] : [];
  });
}
