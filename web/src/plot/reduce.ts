// A long series reduced to what the pixels of a picture can show.

/** A value of a series that is drawn, at its place in the series. */
export interface ReducedPoint {
  index: number;
  value: number;
  /** Lowest and highest of everything at this place; `null` where nothing is known. */
  low: number | null;
  high: number | null;
}

/** What is reduced. */
export interface SeriesValue {
  value: number;
  low?: number | null;
  high?: number | null;
}

/** All values if there is room for them; else, for each of `columns`, the lowest and the highest value, and the range of everything in it. */
export function reduced(points: readonly SeriesValue[], columns: number): ReducedPoint[] {
  const room = Math.max(1, Math.floor(columns));
  if (points.length <= 2 * room) return points.map(({ value, low, high }, index) => ({ index, value, low: low ?? null, high: high ?? null }));
  const drawn: ReducedPoint[] = [];
  for (let column = 0; column < room; column += 1) {
    const [from, to] = [Math.floor((column * points.length) / room), Math.floor(((column + 1) * points.length) / room)];
    let [least, most] = [from, from];
    let low: number | null = null;
    let high: number | null = null;
    for (let index = from; index < to; index += 1) {
      const point = points[index] as SeriesValue;
      if (point.value < (points[least] as SeriesValue).value) least = index;
      if (point.value > (points[most] as SeriesValue).value) most = index;
      if (point.low != null) low = Math.min(low ?? point.low, point.low);
      if (point.high != null) high = Math.max(high ?? point.high, point.high);
    }
    for (const index of [...new Set([least, most])].sort((a, b) => a - b)) drawn.push({ index, value: (points[index] as SeriesValue).value, low, high });
  }
  return drawn;
}
