import { describe, expect, it } from "vitest";
import type { HistoryList, NightList, NightSummary, SeriesChange, SeriesList, SeriesPoint } from "../src/api";
import { date, measuredAt, seriesName, stepWords, versionSteps, versionsAt, versionsWords } from "../src/app/history/changes";
import { chosen, experimentAt, experimentOf, filterOf, pointsPath, seriesAt, seriesPath, valuesOf } from "../src/app/history/filter";
import { changesOf, endOf, entriesOf } from "../src/app/history/night-words";
import { sparkOf } from "../src/app/history/Spark";
import { routeOf } from "../src/app/router";
import { change as relative, quantity } from "../src/format";
import { reduced } from "../src/plot/reduce";
import { markLabels } from "../src/plot/trend";
import { valueDomain } from "../src/scale";
import { historyMock } from "../mock-history.mjs";

const mock = historyMock({ many: 12 });
const asked = <T,>(path: string): T => {
  const [name = "", query = ""] = path.split("?");
  const [status, reply] = mock.answer(name, new URLSearchParams(query)) as [number, T];
  expect(status).toBe(200);
  return reply;
};
const queryAt = (address: string) => {
  const url = new URL(address, "http://tare");
  const route = routeOf(url.pathname, url.search);
  if (route.view !== "history") throw new Error(route.view);
  return route;
};

describe("addresses of a history", () => {
  const all = { experiment: "a/b & ü?", form: "full" as const, metric: "", arm: "", level: "", machine: "" };
  it("name every page, with parts that may hold anything", () => {
    expect(queryAt("/history")).toMatchObject({ page: "" });
    const address = experimentAt({ ...all, form: "quick", metric: "p99", arm: "a=b&c", level: "400/s" });
    const { page, query } = queryAt(address);
    expect([page, filterOf(query)]).toEqual(["experiment", { ...all, form: "quick", metric: "p99", arm: "a=b&c", level: "400/s" }]);
    expect(filterOf(queryAt("/history/experiment").query)).toBeNull();
    expect(routeOf("/history/a/b").view).toBe("unknown");
  });
  it("ask the server for one series by all of its parts, those without a name as well, and for nothing else", () => {
    const key = { experiment: "load: GET /", form: "full" as const, arm: "a", level: "", metric: "p99" as const, machine: "7" };
    const { page, query } = queryAt(`${seriesAt(key)}&last=1&x=2`);
    expect(page).toBe("series");
    const asks = new URL(`http://tare/${pointsPath(query)}`);
    expect([asks.pathname, Object.fromEntries(asks.searchParams)]).toEqual(["/history/points", { ...key, last: "10000" }]);
    expect(seriesPath({ ...all, arm: "x" })).toBe("history/series?experiment=a%2Fb+%26+%C3%BC%3F&form=full&changes=true");
  });
});

describe("the series of an experiment", () => {
  it("are chosen by arm, level and machine", () => {
    const list = asked<HistoryList>("history");
    const filter = { experiment: "istio-performance/sidecar", form: "full" as const, metric: "", arm: "", level: "", machine: "" };
    expect(experimentOf(list, filter)?.runs).toBe(72);
    expect(experimentOf(list, { ...filter, experiment: "none" })).toBeUndefined();
    const { series } = asked<SeriesList>(seriesPath(filter));
    expect([series.length, valuesOf(series, "arm"), valuesOf(series, "level")]).toEqual([18, ["direct", "client-sidecar", "both-sidecars-mtls"], ["400/s", "2000/s"]]);
    expect(chosen(series, { ...filter, arm: "direct", level: "400/s" }).map(({ key }) => key.metric)).toEqual(["median", "p99", "cpu"]);
    expect(chosen(series, { ...filter, machine: "none" })).toEqual([]);
  });
  it("have a small chart of all runs with the last change point", () => {
    const change = (index: number) => ({ index, is_worse: true }) as SeriesChange;
    const each = (...values: number[]): [number, number][] => values.map((value) => [value, value]);
    const { dots, mark } = sparkOf({ overview: each(310, 100, 205), runs: 3 });
    expect([mark, dots.map(({ x }) => x), dots.map(({ y }) => Math.round(y))]).toEqual([null, [5, 140, 275], [7, 49, 28]]);
    expect(sparkOf({ overview: each(101, 99, 100), runs: 3 }).dots.map(({ y }) => Math.round(y))).toEqual([23, 33, 28]);
    expect(sparkOf({ overview: each(1, 2, 3), runs: 3, last_change: change(2) }).mark).toBe(207.5);
    expect(sparkOf({ overview: each(5), runs: 1 }).dots).toEqual([{ x: 140, y: 28 }]);
    // Of several runs in a part both ends are drawn, up and down in turn.
    const many = sparkOf({ overview: [[1, 2], [1, 2], [2, 2]], runs: 11, last_change: change(8) });
    expect(many.dots.map(({ x, y }) => [x, Math.round(y)])).toEqual([[5, 49], [5, 7], [140, 7], [140, 49], [275, 7]]);
    expect(many.mark).toBe(207.5);
  });
});

describe("the nights", () => {
  const { nights } = asked<NightList>("history/nights");
  const ends = (some: readonly NightSummary[]) => some.map((night) => [endOf(night).words, endOf(night).isBad]);
  it("say how they ended, by their exit code or for want of a result", () => {
    expect(ends(nights.slice(0, 8))).toEqual([["running", false], ["killed: no result", true], ["worse", true], ["failed", true], ["interrupted", false], ["budget ended", false], ["worse", true], ["done", false]]);
    expect(endOf(nights.at(-1) as NightSummary).words).toContain("not that of this Tare");
  });
  it("count their entries and changes", () => {
    const counts = (part: object) => ({ suite: "", started_unix_us: 0, took_ns: 0, exit_code: 0, done: 0, failed: 0, left: 0, changes: 0, worse: 0, new: 0, confirmed: 0, ...part });
    expect([entriesOf(counts({ done: 3 })), entriesOf(counts({ failed: 1, left: 2 }))]).toEqual(["3 done", "0 done, 1 failed, 2 left"]);
    expect([changesOf(counts({})), changesOf(counts({ changes: 3, worse: 2, new: 1, confirmed: 1 })), changesOf(counts({ changes: 1 }))]).toEqual(["none", "2 worse, 1 better or acknowledged, 1 new, 1 confirmed", "1 better or acknowledged"]);
  });
});

describe("a history in words", () => {
  it("names series and changes, and leaves out what has no name", () => {
    expect([seriesName("p99", { arm: "direct", level: "400/s" }, "nanoseconds"), seriesName("median", { arm: "", level: "" }, "nanoseconds"), seriesName("benchmark", { arm: "encode", level: "ns/op" }, "own")]).toEqual(["p99 of direct at 400/s", "median", "benchmark of encode in ns/op"]);
    expect([relative(0.12), relative(-0.07), relative(0.0004), relative(-0.0004), relative(null)]).toEqual(["+12\u202f%", "−7.0\u202f%", "0\u202f%", "0\u202f%", "–"]);
    expect(quantity(1.5, "cores")).toBe("1.50\u202fcores");
    expect(stepWords({ change: 0.12, before: 2e6, after: 2.24e6 } as SeriesChange, "nanoseconds")).toBe("+12\u202f% (2.00\u202fms → 2.24\u202fms)");
    expect([date(1_795_645_000_000_000), date(1e19)]).toEqual(["2026-11-25", "–"]);
    expect(["load: GET /", "a/load: b", "perfcheck codec"].map(measuredAt)).toEqual(["loads", "runs", null]);
  });
  it("says which versions changed, and of a digest that it did", () => {
    const changed = [["envoy", "1.39", "1.40"], ["waypoint", "", "2"], ["tare", "0.1", "0.2"], ["experiment", "aa", "bb"], ["experiment", "", "bb"], ["envoy binary", "1", "2"]].map(([axis = "", before = "", after = ""]) => ({ axis, before, after }));
    expect(versionsWords(changed)).toBe("envoy 1.39 → 1.40, waypoint – → 2, Tare 0.1 → 0.2, experiment file, experiment – → bb, envoy binary");
    expect(versionsWords([])).toBe("");
  });
  it("knows the versions of every run from what changed", () => {
    const point = (...changed: [string, string, string][]) => ({ changed: changed.map(([axis, before, after]) => ({ axis, before, after })) }) as SeriesPoint;
    const steps = versionSteps([point(), point(["envoy", "1", "2"]), point(["kernel", "6", "7"], ["new", "", "1"]), point(["envoy", "2", "3"])]);
    const at = (index: number) => versionsAt(steps, index).map(({ axis, version }) => `${axis} ${version}`);
    expect([at(0), at(1), at(2), at(3)]).toEqual([["envoy 1", "kernel 6"], ["envoy 2", "kernel 6"], ["envoy 2", "kernel 7", "new 1"], ["envoy 3", "kernel 7", "new 1"]]);
  });
});

describe("the chart of a series", () => {
  it("draws every run where there is room", () => {
    expect(reduced([{ value: 1, low: 0, high: 2 }, { value: 3 }], 1)).toEqual([{ index: 0, value: 1, low: 0, high: 2 }, { index: 1, value: 3, low: null, high: null }]);
    expect(reduced([], 10)).toEqual([]);
  });
  it("keeps lowest and highest of each column of a hundred thousand runs, and single outliers", () => {
    const points = Array.from({ length: 100_000 }, (_, index) => ({ value: 100 + (index % 7), low: 50 + (index % 5), high: 150 + (index % 3) }));
    points[54_321] = { value: 900, low: 850, high: 950 };
    points[77_777] = { value: 1, low: 0.5, high: 2 };
    const drawn = reduced(points, 800);
    expect(drawn).toHaveLength(1600);
    expect(drawn.every((one, place) => place === 0 || one.index > (drawn[place - 1]?.index ?? 0))).toBe(true);
    expect(drawn.filter((one) => one.value === 900 || one.value === 1).map((one) => one.index)).toEqual([54_321, 77_777]);
    expect([Math.min(...drawn.map((one) => one.low ?? 9)), Math.max(...drawn.map((one) => one.high ?? 9))]).toEqual([0.5, 950]);
    expect(drawn.filter((one) => one.low === 50 && one.high === 152 && (one.value === 100 || one.value === 106)).length).toBeGreaterThan(1590);
  });
  it("has an axis on which changes below the margin are small", () => {
    expect(valueDomain([100, 100], 0.05)).toEqual([90, 110]);
    expect(valueDomain([100, 200], 0.05)).toEqual([95, 205]);
    expect(valueDomain([0, 2], 0.05)).toEqual([0, 2.1]);
    expect([valueDomain([0], 0.05), valueDomain([], 0.05)]).toEqual([[0, 1], [0, 1]]);
  });
  it("labels change points as far as there is room", () => {
    const label = (right: number, ...at: number[]) => markLabels(at.map((x, index) => ({ x, number: index + 1, words: ["+12 % envoy 1.38 → 1.39", "+12 %"], color: "" })), (x) => x, right).map(({ text, anchor }) => `${anchor} ${text}`);
    expect(label(1000, 100, 500)).toEqual(["start 1: +12 % envoy 1.38 → 1.39", "start 2: +12 % envoy 1.38 → 1.39"]);
    expect(label(1000, 100, 980)).toEqual(["start 1: +12 % envoy 1.38 → 1.39", "end 2: +12 % envoy 1.38 → 1.39"]);
    expect(label(1000, 100, 170, 500)).toEqual(["start 1: +12 %", "start 2: +12 % envoy 1.38 → 1.39", "start 3: +12 % envoy 1.38 → 1.39"]);
    expect(label(1000, 100, 120, 124)).toEqual(["start 1", "start 3: +12 % envoy 1.38 → 1.39"]);
  });
});
