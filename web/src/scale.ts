// Positions on charts: the percentile axis, logarithmic ticks, and labels that must not overlap.

/** Where a percentile lies: each step of one has a tenth of the answers of the step before beyond it. `null` at 100. */
export function percentilePosition(percentile: number): number | null {
  if (!(percentile >= 0 && percentile < 100)) return null;
  return -Math.log10(1 - percentile / 100);
}

/** A label for a percentile: as many nines as it has, without the noise of binary fractions. */
export function percentileLabel(percentile: number): string {
  return String(Number(percentile.toFixed(4)));
}

/** Percentiles to mark on an axis that ends at position `end`. */
export function percentileTicks(end: number): { percentile: number; position: number }[] {
  return [0, 50, 90, 99, 99.9, 99.99, 99.999]
    .map((percentile) => ({ percentile, position: percentilePosition(percentile) ?? Infinity }))
    .filter((tick) => tick.position <= end + 1e-9);
}

/**
 * Ticks of a logarithmic axis: round numbers of each decade, as many as there may be; evenly spaced ones on an axis so short
 * that it holds hardly any.
 */
export function logTicks(low: number, high: number, most = 9): number[] {
  const ticks = decadeTicks(low, high, most);
  return ticks.length >= 3 || !(low > 0) ? ticks : linearTicks(low, high, 4);
}

function decadeTicks(low: number, high: number, most: number): number[] {
  if (!(low > 0) || !(high >= low)) return [];
  for (const steps of [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks: number[] = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade += 1) {
      for (const step of steps) {
        const tick = Number((step * 10 ** decade).toPrecision(3));
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
      }
    }
    if (ticks.length <= most) return ticks;
  }
  return [];
}

/** Ticks of a linear axis at round steps, about `count` of them. */
export function linearTicks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span) || count < 1) return [];
  const raw = span / count;
  const decade = 10 ** Math.floor(Math.log10(raw));
  // The nearest of 1, 2, 5 and 10 by ratio.
  const factor = raw / decade;
  const step = decade * (factor < Math.SQRT2 ? 1 : factor < Math.sqrt(10) ? 2 : factor < Math.sqrt(50) ? 5 : 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** A logarithmic domain round the values with a little room; `null` when there is nothing positive. */
export function logDomain(values: readonly number[], room = 1.12): [number, number] | null {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  if (positive.length === 0) return null;
  const low = positive.reduce((a, b) => Math.min(a, b));
  const high = positive.reduce((a, b) => Math.max(a, b));
  return [low / room, high * room];
}

/** A linear domain that holds 0 and the values, with a little room on the sides that are used. */
export function zeroDomain(values: readonly number[], room = 0.06): [number, number] {
  const finite = values.filter((value) => Number.isFinite(value));
  const low = finite.reduce((a, b) => Math.min(a, b), 0);
  const high = finite.reduce((a, b) => Math.max(a, b), 0);
  const span = high - low || 1;
  return [low - (low < 0 ? room * span : 0.02 * span), high + room * span];
}

/** A linear domain that holds all values, and at least twice the margin on both sides: changes that do not matter look small. */
export function valueDomain(values: readonly number[], margin: number): [number, number] {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (low > high) return [0, 1];
  const middle = (low + high) / 2;
  const half = Math.max(((high - low) / 2) * 1.1, 2 * margin * Math.abs(middle)) || 1;
  return [low >= 0 ? Math.max(0, middle - half) : middle - half, middle + half];
}

/** Moves positions apart until neighbours are `gap` apart and all lie within [low, high], in the same order. */
export function spread(positions: readonly number[], gap: number, low: number, high: number): number[] {
  const order = positions.map((position, index) => ({ position, index })).sort((a, b) => a.position - b.position);
  const room = order.length > 1 ? Math.min(gap, (high - low) / (order.length - 1)) : gap;
  let floor = low;
  for (const item of order) {
    item.position = Math.max(item.position, floor);
    floor = item.position + room;
  }
  let ceiling = high;
  for (const item of order.reverse()) {
    item.position = Math.min(item.position, ceiling);
    ceiling = item.position - room;
  }
  const out = new Array<number>(positions.length).fill(0);
  for (const item of order) out[item.index] = item.position;
  return out;
}

/** Shortens a text to `most` characters, with an ellipsis in the middle so that both ends stay. */
export function shorten(text: string, most: number): string {
  if (text.length <= most || most < 3) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}
