import { describe, expect, it } from "vitest";
import type { LatencyBucket } from "../src/api";
import { boundsOf } from "../src/plot/histogram";
import { linearTicks, logDomain, logTicks, percentileLabel, percentilePosition, percentileTicks, shorten, spread, zeroDomain } from "../src/scale";

describe("the percentile axis", () => {
  it("gives every tenth of what is left the same room", () => {
    const at = [0, 90, 99, 99.9, 99.99].map((percentile) => percentilePosition(percentile) ?? Number.NaN);
    at.forEach((position, index) => expect(position).toBeCloseTo(index, 9));
  });
  it("has no place for the maximum or for nonsense", () => {
    expect([100, 101, -1, Number.NaN].map(percentilePosition)).toEqual([null, null, null, null]);
  });
  it("ends its ticks where the data end", () => {
    expect(percentileTicks(2.9).map((item) => item.percentile)).toEqual([0, 50, 90, 99]);
    expect(percentileTicks(3).map((item) => percentileLabel(item.percentile)).at(-1)).toBe("99.9");
  });
});

describe("ticks", () => {
  it("of a logarithmic axis are few and inside it", () => {
    for (const [low, high] of [[0.04, 3.1], [0.0012, 900], [1, 1.9], [0.31, 0.37], [5, 5e7]] as const) {
      const ticks = logTicks(low, high);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(9);
      expect(ticks.every((value) => value >= low * 0.999 && value <= high * 1.001)).toBe(true);
    }
    expect(logTicks(0, 10)).toEqual([]);
  });
  it("of a linear axis are round and hold 0 exactly", () => {
    expect(linearTicks(-0.1, 0.32, 5)).toEqual([-0.1, 0, 0.1, 0.2, 0.3]);
    expect(linearTicks(0, 5, 5)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(linearTicks(1, 1, 5)).toEqual([]);
  });
});

describe("a domain", () => {
  it("of differences always holds the zero line", () => {
    for (const values of [[3, 4], [-4, -3], [-1, 2], []]) {
      const [low, high] = zeroDomain(values);
      expect(low).toBeLessThan(0);
      expect(high).toBeGreaterThan(0);
    }
  });
  it("of a logarithmic axis leaves out what has no logarithm", () => {
    expect(logDomain([0, -1, Number.NaN])).toBeNull();
    expect(logDomain([0, 2, 8], 1)).toEqual([2, 8]);
  });
});

describe("labels", () => {
  it("move apart in order, and stay inside", () => {
    const placed = spread([50, 51, 52, 10], 14, 0, 60);
    expect(placed[3]).toBe(10);
    expect(placed.slice(0, 3)).toEqual([32, 46, 60]);
  });
  it("that cannot all have room share it", () => {
    const placed = spread([1, 1, 1, 1, 1], 14, 0, 20);
    expect(Math.max(...placed)).toBeLessThanOrEqual(20);
    expect(Math.min(...placed)).toBeGreaterThanOrEqual(0);
    expect(new Set(placed).size).toBe(5);
  });
  it("that are too long keep both ends", () => {
    expect(shorten("both-sidecars-mtls", 18)).toBe("both-sidecars-mtls");
    const short = shorten("both-sidecars-mtls-and-more", 12);
    expect(short).toHaveLength(12);
    expect(short.startsWith("both-s")).toBe(true);
    expect(short.endsWith("more")).toBe(true);
  });
});

describe("bounds of a histogram", () => {
  const bucket = (start_ns: number, end_ns: number): LatencyBucket => ({ start_ns, end_ns, count: 1, cumulative_percent: 50 });
  it("hold every bucket, from 0 on a linear axis", () => {
    expect(boundsOf([bucket(200, 400), bucket(400, 900)], true)).toEqual([200, 900]);
    expect(boundsOf([bucket(200, 400), bucket(400, 900)], false)).toEqual([0, 900]);
  });
  it("begin above 0 on a logarithmic axis, and leave out buckets without width", () => {
    expect(boundsOf([bucket(0, 400), bucket(400, 900)], true)).toEqual([200, 900]);
    expect(boundsOf([bucket(0, 0), bucket(900, 400)], true)).toBeNull();
    expect(boundsOf([], false)).toBeNull();
  });
});
