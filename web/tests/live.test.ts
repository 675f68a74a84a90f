import { describe, expect, it } from "vitest";
import type { LoadEvent, RunEvent, Sample, TrialPosition } from "../src/api";
import { takeLoad, unknownLoad } from "../src/app/live/load";
import { SECONDS_MAX, backgroundLine, partLines, partValue, place, reasonsOf, sampleLines, snapshot, take, unknownRun, type LiveRun } from "../src/app/live/state";
import { events } from "../mock.mjs";

const at: TrialPosition = { block: 1, blocks: 3, arm: "direct", level: "400/s", aa_copy: 0, attempt: 0, left_ns: 9e9 };
const sample = (over: Partial<Sample> = {}): Sample => ({
  offset_ns: 1e9, length_ns: 1e9, intended: 400, released: 400, ok: 390, errors: 0, latency_p50_ns: 1000, latency_p99_ns: null, latency_max_ns: 5000, lateness_p99_ns: 10, in_flight: 1,
  connections: 8, ...over,
});
const counted = (source: string, over: Partial<Sample> = {}): RunEvent => ({ event: "sample", at, source, sample: sample(over) });
const used = (cpu: number | null): RunEvent => ({ event: "usage", at, length_ns: 1e9, parts: [{ instance: "server", role: "app", cpu_ns: cpu, rss_bytes: 7, packets: 30, disk_write_bytes: null }], background_cpu_ns: 5e8 });
const after = (...all: RunEvent[]): LiveRun => {
  const run = unknownRun();
  for (const event of all) take(run, event);
  return run;
};
const ok = { name: "ok", of: (one: Sample) => one.ok };

describe("a run that is being measured", () => {
  it("says what is being waited for", () => {
    expect(after({ event: "preparing", what: "fetching envoy" }).doing).toBe("Preparing: fetching envoy");
    expect(after({ event: "starting", at, instance: "envoy", waited_ns: 3.2e9 }).doing).toBe("Waiting for envoy to be ready, 3 s so far");
    expect(after({ event: "step", at, step: "fill" }).doing).toBe("Step: fill");
    expect(place({ ...at, aa_copy: 1, attempt: 1 })).toBe("block 1 of 3, direct (second copy, A/A check) at 400/s, repeated");
  });
  it("has one second for the agents and the parts that were seen in it", () => {
    const run = after(counted("client"), used(2e8), counted("client"), used(3e8));
    expect(run.seconds.map((second) => second.x)).toEqual([1, 2]);
    expect(sampleLines(run, [ok])).toEqual({ x: [1, 2], lines: [{ name: "ok", values: [390, 390] }] });
    expect(partLines(run, "cpu").lines).toEqual([{ name: "server", values: [0.2, 0.3] }]);
    expect(backgroundLine(run).lines[0]?.values).toEqual([0.5, 0.5]);
  });
  it("keeps sources apart and names them where there are several", () => {
    const run = after(counted("producer"), counted("consumer", { ok: 7 }), counted("producer"));
    expect(sampleLines(run, [ok]).lines).toEqual([{ name: "producer ok", values: [390, 390] }, { name: "consumer ok", values: [7, null] }]);
  });
  it("leaves a gap between two trials, and no figure where none was measured", () => {
    const run = after(counted("client"), { event: "trial-started", at }, counted("client"), used(null));
    expect(sampleLines(run, [ok]).lines[0]?.values).toEqual([390, null, 390]);
    const last = run.seconds.at(-1);
    expect(last && partValue(last, "server", "cpu")).toBeNull();
    expect(last && partValue(last, "server", "disk")).toBeNull();
    expect(last && partValue(last, "server", "packets")).toBe(30);
    expect(last && partValue(last, "nobody", "memory")).toBeNull();
  });
  it("counts errors of short samples without drawing them", () => {
    const run = after(counted("client", { length_ns: 19e6, errors: 3 }));
    expect(run.errors).toBe(3);
    expect(run.seconds).toHaveLength(0);
  });
  it("forgets the oldest seconds, however long it runs", () => {
    const run = unknownRun();
    for (let second = 0; second < SECONDS_MAX + 50; second += 1) take(run, counted("client"));
    expect(run.seconds).toHaveLength(SECONDS_MAX);
    expect(run.seconds[0]?.x).toBe(51);
  });
  it("is shown as a value that later events do not change", () => {
    const run = after(counted("client"));
    const shown = snapshot(run);
    take(run, counted("client"));
    take(run, { event: "note", text: "later" });
    expect([shown.seconds.length, run.seconds.length, shown.notes]).toEqual([1, 2, []]);
  });
  it("goes on after it was interrupted and resumed", () => {
    const ended: RunEvent = { event: "ended", progress: "interrupted", reason: "stopped by the user" };
    expect(after(ended).ended).toEqual({ progress: "interrupted", reason: "stopped by the user" });
    const run = after(ended, { event: "started", folder: "/runs/a", trials: 15, done: 5 });
    expect([run.ended, run.before, run.planned, run.folder]).toEqual([null, 5, 15, "/runs/a"]);
  });
  it("lists trials with the reason of those that do not count", () => {
    const run = unknownRun();
    for (const event of events(1000) as RunEvent[]) take(run, event);
    expect(run.trials).toHaveLength(6);
    expect(run.blocksDone).toBe(3);
    expect(run.trials.flatMap((trial) => reasonsOf(trial.status))).toEqual(["bunched starts 14 %, more than 10 %"]);
    expect(reasonsOf({ status: "failed", reason: "server exited", log_tail: [] })).toEqual(["server exited"]);
  });
});

describe("a load that runs", () => {
  it("adds up what was answered and is over with its result", () => {
    const load = unknownLoad();
    const all: LoadEvent[] = [{ event: "ready", connections: 8, start_unix_us: 0 }, { event: "sample", ...sample() }, { event: "sample", ...sample({ errors: 2 }) }, { event: "window", number: 1, windows: 3, rate_per_s: 100, length_ns: 1e9 }];
    for (const event of all) takeLoad(load, event);
    expect([load.ok, load.errors, load.connections, load.isOver]).toEqual([780, 2, 8, false]);
    expect(load.steps).toEqual(["window 1 of 3: 100/s"]);
    takeLoad(load, { event: "end-to-end-result" });
    expect(load.isOver).toBe(true);
  });
});
