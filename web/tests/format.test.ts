import { describe, expect, it } from "vitest";
import { MISSING, clock, count, instant, percent, quantity, range, scaleFor, significant, tick, time } from "../src/format";

describe("a missing value", () => {
  it("is a dash in every format and never 0", () => {
    for (const missing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
      const texts = [significant(missing), count(missing), time(missing), clock(missing), percent(missing), quantity(missing, "bytes")];
      expect(texts).toEqual(texts.map(() => MISSING));
      expect(range(1, missing, "nanoseconds")).toBe(MISSING);
    }
  });
});

describe("digits", () => {
  it("are three, without an exponent, whatever the size", () => {
    expect([0.000012345, 0.31234, 3.1234, 31.234, 312.34, 3123.4].map((value) => significant(value))).toEqual([
      "0.0000123", "0.312", "3.12", "31.2", "312", "3123",
    ]);
  });
  it("stand apart by thousands from five on, and carry a true minus sign", () => {
    expect(significant(1234567)).toBe("1,234,567");
    expect(count(10000)).toBe("10,000");
    expect(count(9999)).toBe("9999");
    expect(significant(-0.5)).toBe("\u22120.500");
  });
  it("tell nothing as 0", () => {
    expect(significant(0)).toBe("0");
  });
  it("of a tick are no more than it has", () => {
    expect([0.05, 0.1 + 0.2, 2, -1000].map(tick)).toEqual(["0.05", "0.3", "2", "\u22121000"]);
  });
});

describe("units", () => {
  it("of time change where the view's texts change", () => {
    expect([850, 86_000, 99_900, 99_960, 310_000, 999_600_000, 12e9].map((ns) => time(ns).replace("\u202f", " "))).toEqual([
      "850 ns", "86.0 µs", "99.9 µs", "0.100 ms", "0.310 ms", "1.00 s", "12.0 s",
    ]);
  });
  it("of memory are powers of ten", () => {
    expect(quantity(64_100_000, "bytes")).toBe("64.1\u202fMB");
    expect(scaleFor("bytes", 2e10)).toEqual({ label: "GB", per: 1e9 });
  });
  it("of a range are one, and a range that reads alike is printed once", () => {
    expect(range(93_000, 104_000, "nanoseconds")).toBe("0.0930–0.104\u202fms");
    expect(range(400, 400.01, "per-second")).toBe("400/s");
  });
  it("of a share are per cent, and a trace is not a row of noughts", () => {
    expect(percent(0.0533)).toBe("5.3\u202f%");
    expect(percent(2.8e-9)).toBe("< 0.01\u202f%");
    expect(percent(0)).toBe("0\u202f%");
  });
});

describe("a time of day", () => {
  it("keeps date, minute and zone", () => {
    expect(instant("2026-11-21T09:12:44.123Z")).toBe("2026-11-21 09:12 UTC");
    expect(instant("2026-11-21T09:12:44+01:00")).toBe("2026-11-21 09:12 +01:00");
  });
  it("that cannot be read is shown as it stands", () => {
    expect(instant("yesterday")).toBe("yesterday");
  });
  it("of a long run is in hours and minutes", () => {
    expect(clock(228e9)).toBe("3\u202fmin 48\u202fs");
    expect(clock(2 * 3600e9 + 60e9)).toBe("2\u202fh 1\u202fmin");
    expect(clock(5.2e9)).toBe("5.2\u202fs");
  });
});
