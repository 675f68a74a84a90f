// How a view is laid out in pictures: one panel per level with the arms in it, or one per arm with its levels in it.
import { inks, type SeriesStyle } from "./palette";
import type { CellView, View } from "./api";

/** One thing compared, within a panel. */
export interface Series {
  name: string;
  ink: SeriesStyle;
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
  panels: Panel[];
  inks: Map<string, SeriesStyle>;
}

/** Panels that share an axis with the given one, and what to say when those are not all. */
export function sharing(panels: readonly Panel[], panel: Panel): { panels: Panel[]; notes: string[] } {
  const alone = panel.beyond && panels.some((other) => !other.beyond);
  return {
    panels: panels.filter((other) => other.beyond === panel.beyond),
    notes: alone ? [...panel.notes, "Its vertical scale is its own."] : panel.notes,
  };
}

/** The panels in which something is drawn. */
export function drawn({ panels }: Layout): Panel[] {
  return panels.filter((panel) => panel.series.length > 0);
}

/** Those of them that have axes of a kind, each with the axes that it shares. */
export function onSharedAxes<T>(layout: Layout, axesOf: (panels: readonly Panel[]) => T | null): { panel: Panel; notes: string[]; axes: T }[] {
  return drawn(layout).flatMap((panel) => {
    const shared = sharing(layout.panels, panel);
    const axes = axesOf(shared.panels);
    return axes === null ? [] : [{ panel, notes: shared.notes, axes }];
  });
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
  return { panels, inks: ink };
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
  return { panels, inks: ink };
}

function seriesOf(names: string[], find: (name: string) => CellView | undefined, ink: Map<string, SeriesStyle>): Series[] {
  return names.flatMap((name) => {
    const cell = find(name);
    const own = ink.get(name);
    return measured(cell) && own !== undefined ? [{ name, ink: own, cell }] : [];
  });
}
