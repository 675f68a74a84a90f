import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { RunEntry } from "../src/api";
import { commandLine, idOf } from "../src/app/start";
import { gather, labels } from "../src/app/measured";
import { FIRST as RUN, requestOf as runOf } from "../src/app/experiment-form";
import { FIRST as LOAD, requestOf as loadOf } from "../src/app/load-form";
import { callerOf, outcomeOf, pathOf } from "../src/app/audit";
import { at, routeOf, withEach } from "../src/app/router";
import { ALL, canResume, experimentsOf, filtered, firstFinding } from "../src/app/runs";
import { rowsOf } from "../src/app/arm-route";
import { plural, size } from "../src/app/words";
import { placeAt, suggestions, type Schema } from "../src/app/yaml";

const entry = (id: string, over: Partial<RunEntry> = {}, experiment = "a/b"): RunEntry => ({
  id, state: "complete", problem: null,
  summary: {
    version: 5, experiment, question: "What does it cost?", form: "full", progress: "complete", started_unix_us: 0, took_ns: 1, verdict: [{ kind: "note", text: "a note" }, { kind: "finding", text: "mTLS adds 6 % CPU." }],
    blocks_complete: 3, blocks_planned: 3, trials: 9, trials_fit: 9, machine: "EPYC", tare: "0.1.0",
  },
  ...over,
});

describe("addresses", () => {
  it("name every view, with parts that may hold anything", () => {
    expect(routeOf("/")).toEqual({ view: "runs" });
    expect(routeOf(at("runs", "a/b %"))).toEqual({ view: "run", id: "a/b %" });
    expect(routeOf(at("runs", "r", "trials", 12))).toEqual({ view: "trial", id: "r", trial: 12 });
    expect(routeOf("/compare", withEach("", "run", ["a&b", "c"]))).toEqual({ view: "compare", runs: ["a&b", "c"] });
    expect(routeOf("/loads/compare", "?load=x")).toEqual({ view: "compare-loads", loads: ["x"] });
    expect([routeOf("/loads/new").view, routeOf("/loads/x").view, routeOf("/new").view, routeOf("/machine").view, routeOf("/audit").view]).toEqual(["new-load", "load", "new", "machine", "audit"]);
    for (const path of ["/runs/r/trials/x", "/nothing", "/machine/x", "/runs/%zz", "/runs/r/trials/1/2"]) expect(routeOf(path).view).toBe("unknown");
  });
});

describe("the audit log", () => {
  it("says who did what, and what became of it", () => {
    expect([callerOf({ caller: { kind: "session", id: "ab" } }), callerOf({ caller: { kind: "token" } })]).toEqual(["session ab", "script token"]);
    expect([pathOf({ method: "DELETE", path: "/api/v1/runs/a%20b" }), pathOf({ method: "GET", path: "/%zz" })]).toEqual(["DELETE runs/a b", "GET /%zz"]);
    const outcome = (status: number | null, problem: string | null = null) => outcomeOf({ status, problem });
    expect([outcome(204), outcome(303), outcome(409, "it goes on")]).toEqual([{ words: "done", isBad: false }, { words: "signed in", isBad: false }, { words: "409: it goes on", isBad: true }]);
    expect(outcome(null).isBad).toBe(true);
  });
});

describe("the list of runs", () => {
  const runs = [entry("one"), entry("two", { state: "killed" }, "c/d"), entry("three", { state: "unreadable", summary: null, problem: "no run.json" })];
  const ids = (filter: Partial<typeof ALL>) => filtered(runs, { ...ALL, ...filter }).map((run) => run.id);
  it("is filtered by words, state and experiment", () => {
    expect(ids({})).toEqual(["one", "two", "three"]);
    expect(ids({ text: "MTLS cpu" })).toEqual(["one", "two"]);
    expect(ids({ text: "run.json" })).toEqual(["three"]);
    expect(ids({ state: "killed" })).toEqual(["two"]);
    expect(ids({ experiment: "a/b", text: "nothing like it" })).toEqual([]);
    expect(experimentsOf(runs)).toEqual(["a/b", "c/d"]);
  });
  it("shows the first finding, and nothing where nothing is known", () => {
    expect(firstFinding(entry("one"))).toBe("mTLS adds 6 % CPU.");
    expect(firstFinding(entry("x", { summary: null }))).toBeNull();
    const states = (["killed", "complete", "running"] as const).map((state) => canResume(entry("x", { state })));
    expect(states).toEqual([true, false, false]);
    expect(canResume(entry("x", { state: "killed", origin: "imported" }))).toBe(false);
  });
});

describe("the routes of an arm", () => {
  it("are parts with the security of the hop between two", () => {
    const rows = rowsOf({ name: "a", about: "", routes: [["client", "plaintext", "client-sidecar (envoy)", "mtls", "server"], ["server", "tls", "db"]] });
    expect(rows.map((row) => row.map((piece) => piece.text).join(" | "))).toEqual(["client | → | client-sidecar (envoy) | mTLS → | server", "server | TLS → | db"]);
  });
});

describe("forms", () => {
  it("of a run ask for an experiment or a text, never for both", () => {
    expect(runOf(RUN)).toBeNull();
    expect(runOf({ ...RUN, experiment: "a/b", blocks: "4", external: "db = 10.0.0.1:1, 10.0.0.2:1\n" })).toMatchObject({ experiment: "a/b", yaml: null, blocks: 4, seed: null, external: { db: ["10.0.0.1:1", "10.0.0.2:1"] } });
    expect(runOf({ ...RUN, experiment: "a/b", yaml: "x" })).toMatchObject({ experiment: null, yaml: "x" });
    for (const wrong of [{ blocks: "0" }, { blocks: "1.5" }, { seed: "-1" }, { external: "db" }]) expect(runOf({ ...RUN, experiment: "a/b", ...wrong })).toBeTypeOf("string");
  });
  it("of a load say which field is wrong", () => {
    expect(loadOf({ ...LOAD, url: "http://127.0.0.1:1/", headers: "A: b\n\n C: d " })).toMatchObject({ url: "http://127.0.0.1:1/", pace: { kind: "rate", per_s: 100 }, stop: { kind: "duration", seconds: 10 }, headers: ["A: b", "C: d"], connections: null, body: null });
    expect(loadOf({ ...LOAD, url: "http://a/", pace: "maximum", stop: "stopped" })).toMatchObject({ pace: { kind: "maximum" }, stop: { kind: "stopped" } });
    const fields = (over: Partial<typeof LOAD>) => {
      const found = loadOf({ ...LOAD, url: "http://a/", ...over });
      return Array.isArray(found) ? found.map((one) => one.field) : [];
    };
    expect(fields({ url: "ftp://a" })).toEqual(["url"]);
    expect(fields({ rate: "0" })).toEqual(["rate"]);
    expect(fields({ pace: "clients", clients: "1.5" })).toEqual(["clients"]);
    expect(fields({ headers: "no colon" })).toEqual(["headers"]);
    expect(fields({ cert: "a.pem" })).toEqual(["cert"]);
    expect(fields({ body: "x", bodyBytes: "3" })).toEqual(["bodyBytes"]);
  });
});

describe("runs side by side", () => {
  it("are brought together by arm and level, with a gap where one lacks it", () => {
    const cell = (arm: string) => ({ level: "400/s", arm, curve: [], percentiles: [], throughput_unit: "per-second" as const });
    const run = (id: string, ...arms: string[]) => ({ id, experiment: "a", started: "", cells: arms.map(cell) });
    const gathered = gather({ runs: [run("x", "direct"), run("y", "sidecar", "direct")] });
    expect(gathered.map((one) => [one.arm, one.of.map((found) => found !== null)])).toEqual([["direct", [true, true]], ["sidecar", [false, true]]]);
    expect(labels([{ id: "a", started: "" }, { id: "b", started: "" }, { id: "a", started: "" }])).toEqual(["a (1)", "b", "a (3)"]);
  });
});

describe("words", () => {
  it("name folders, commands and sizes", () => {
    expect(idOf("/home/u/runs/2026-a/")).toBe("2026-a");
    expect(commandLine(["tare", "run", "a b", "it's"])).toBe("tare run 'a b' 'it'\\''s'");
    expect([size(0), size(999), size(4_100_000), size(null)]).toEqual(["0\u202fB", "999\u202fB", "4.10\u202fMB", "–"]);
    expect([plural(1, "core"), plural(0, "core")]).toEqual(["1 core", "0 cores"]);
  });
});

describe("completion", () => {
  const schema = JSON.parse(readFileSync(new URL("../../docs/schema/experiment.json", import.meta.url), "utf8")) as Schema;
  /** The place of the cursor, which is where the bar is. */
  const place = (text: string) => {
    const cursor = text.indexOf("|");
    return placeAt(text.slice(0, cursor) + text.slice(cursor + 1), cursor);
  };
  const offered = (text: string) => {
    const found = place(text);
    return found === null ? [] : suggestions(schema, found).map((one) => one.label);
  };
  it("knows where the cursor is", () => {
    expect(place("workload: echo\narms:\n  - name: direct\n    si|")).toEqual({ path: ["arms", 0], kind: "key", word: "si", siblings: ["name"] });
    expect(place("arms:\n- name: direct\n- na|")).toMatchObject({ path: ["arms", 0], kind: "key", word: "na" });
    expect(place("load:\n  model: con|")).toEqual({ path: ["load", "model"], kind: "value", word: "con", siblings: [] });
    expect(place("arms:\n  - name: a\n    sidecars: {on: [client], pro|")).toEqual({ path: ["arms", 0, "sidecars"], kind: "key", word: "pro", siblings: ["on"] });
    expect(place("quick:\n  load: {duration: 1s, model: |}")).toMatchObject({ path: ["quick", "load", "model"], kind: "value", word: "" });
    expect(place("arms:\n  - name: a # com|")).toBeNull();
    expect(place("load:\n  rate: 1\n\n|")).toMatchObject({ path: [], kind: "key" });
  });
  it("offers the keys of the place that are not there yet", () => {
    const top = offered("question: a\nworkload: echo\n|\nload: {}\n");
    expect(top).toEqual(expect.arrayContaining(["arms", "factors", "assert", "quick"]));
    expect(top).not.toContain("question");
    expect(top).not.toContain("load");
    const arm = offered("arms:\n  - name: direct\n  - name: other\n    |");
    expect(arm).toEqual(expect.arrayContaining(["sidecars", "mesh", "via", "about"]));
    expect(arm).not.toContain("name");
    expect(offered("arms:\n  - name: a\n    sidecars: {on: all, |")).toEqual(expect.arrayContaining(["proxy", "security"]));
  });
  it("offers values, and nothing where nothing is known", () => {
    expect(offered("load:\n  model: |")).toEqual(expect.arrayContaining(["constant", "poisson", "closed", "max"]));
    expect(offered("aa_check: |")).toEqual(["true", "false"]);
    expect(offered("primary: [median, |]")).toContain("p99");
    expect(offered("primary:\n  - |")).toContain("p99");
    expect(offered("nonsense:\n  deeper: |")).toEqual([]);
  });
  it("survives any beginning of a file", () => {
    const text = readFileSync(new URL("../../experiments/istio-performance/sidecar.yaml", import.meta.url), "utf8");
    for (let cursor = 0; cursor <= text.length; cursor += 1) {
      const found = placeAt(text, cursor);
      if (found !== null) suggestions(schema, found);
    }
    for (const odd of ["}|", "{{{{|", "- - - |", "]: [|", ":|", "'|", "\t|"]) expect(() => offered(odd)).not.toThrow();
  });
});
