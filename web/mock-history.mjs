// Histories of the made-up server: experiments with their series, each with noise, two steps, and versions that change.

const METRICS = [
  { metric: "median", label: "median", unit: "nanoseconds", family: "primary", better: "lower", base: 410_000 },
  { metric: "p99", label: "p99", unit: "nanoseconds", family: "primary", better: "lower", base: 1_900_000 },
  { metric: "cpu", label: "CPU of all parts per 1000", unit: "cpu-seconds-per1000", family: "primary", better: "lower", base: 0.31 },
  { metric: "throughput", label: "throughput", unit: "per-second", family: "descriptive", better: "higher", base: 1990 },
  { metric: "mesh-cpu", label: "CPU of the mesh", unit: "cores", family: "descriptive", better: "lower", base: 0.42 },
];
const MACHINES = [
  { machine: "8e75653383c1", about: "AMD EPYC, 2 cores, 25 GB" },
  { machine: "77aa01c2d3e4", about: "Ampere Altra, 8 cores, 32 GB" },
];
const DAY_US = 86_400e6;
const LAST_US = 1_795_645_000_000_000;
const LONG = "a-very-long-version-of-somebodys-own-build-1.40.0+with.patches.20261120.7f3a9c2e-dirty";

/** A number from 0 to 1 that is always the same for the same numbers. */
function noise(...seeds) {
  const value = Math.sin(seeds.reduce((sum, seed, place) => sum + seed * [12.9898, 78.233, 37.719][place], 0)) * 43758.5453;
  return value - Math.floor(value);
}

/** Steps of a series: from which run on, by how much, and what changed there. */
function stepsOf(runs, seed) {
  const change = (axis, before, after) => ({ axis, before, after });
  const steps = [
    { index: Math.floor(runs * 0.4), ratio: 1.12, changed: [change("envoy", "1.38.3", "1.39.3"), change("envoy binary", "0a1b2c3d4e5f", "5f4e3d2c1b0a")] },
    { index: Math.floor(runs * 0.7), ratio: 0.93, changed: [change("kernel", "6.1.0", "6.18.44"), change("tare", "0.1.0", "0.2.0")] },
    { index: Math.floor(runs * 0.95), ratio: 1.31, changed: [change("envoy", "1.39.3", seed % 2 ? LONG : "1.40.0"), change("experiment", "12ab34cd56ef", "98fe76dc54ba"), change("waypoint", "", "2.0")] },
  ];
  return steps.slice(0, seed % 4).filter((step) => step.index > 3);
}

/** Lowest and highest value of equally many runs, as the server cuts a series. */
function overview(values) {
  const size = Math.max(1, Math.ceil(values.length / 140));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, part) => {
    const of = values.slice(part * size, (part + 1) * size);
    return [Math.min(...of), Math.max(...of)];
  });
}

/** Nights: one that runs, one that was killed, and others with every end. */
function nightsOf(many) {
  const night = (index) => new Date((LAST_US - index * DAY_US) / 1000).toISOString().slice(0, 10);
  const result = (index) => {
    const exit_code = [0, 1, 3, 130, 0, 1][index % 6];
    const left = exit_code === 130 || index % 6 === 4 ? 2 : 0;
    const [worse, changes] = exit_code === 1 && index % 12 < 6 ? [2, 3] : [0, index % 5 === 0 ? 1 : 0];
    return { suite: "/opt/tare/suites/nightly.yaml", started_unix_us: LAST_US - index * DAY_US, took_ns: (1500 + 60 * index) * 1e9, exit_code, done: 3 - left, failed: exit_code === 3 ? 1 : 0, left, changes, worse, new: worse > 0 ? 1 : 0, confirmed: worse > 1 ? 1 : 0 };
  };
  const odd = [{ night: `${night(0)}-2`, state: "running", result: null, problem: null }, { night: night(0), state: "killed", result: null, problem: null }];
  if (many === 0) return [];
  return [...odd, ...Array.from({ length: many * 3 }, (_, index) => ({ night: night(index + 1), state: "done", result: result(index + 1), problem: null })), { night: "2026-01-01", state: "unreadable", result: null, problem: "night.json is not that of this Tare: missing field `entries` at line 1 column 2" }];
}

function seriesOf(key, runs, seed) {
  const { base, label, unit, better } = METRICS.find((one) => one.metric === key.metric);
  const steps = stepsOf(runs, seed);
  let mean = base * (key.arm === "direct" ? 0.4 : 1) * (1 + seed * 0.03);
  const changes = [];
  const points = Array.from({ length: runs }, (_, index) => {
    const started_unix_us = LAST_US - (runs - 1 - index) * DAY_US * (runs > 1000 ? 0.01 : 1);
    const run = key.experiment.startsWith("load: ") ? `2026-11-25T21-00-${String(index).padStart(4, "0")}` : `2026-10-${String(1 + (index % 30)).padStart(2, "0")}T10-00-${String(index).padStart(4, "0")}-sidecar`;
    const step = steps.find((one) => one.index === index);
    if (step !== undefined) {
      const after = mean * step.ratio;
      changes.push({ index, run, started_unix_us, before: mean, after, change: step.ratio - 1, is_worse: step.ratio > 1 === (better === "lower"), p: 1e-9, changed: step.changed });
      mean = after;
    }
    const value = mean * (1 + 0.05 * (noise(index, seed, 1) - 0.5)) * (index % 37 === 20 ? 1.2 : 1);
    const hasBlocks = index % 11 !== 3;
    const changed = step?.changed ?? (index % 23 === 11 ? [{ axis: "server", before: `1.${index}`, after: `1.${index + 1}` }] : []);
    return { run, started_unix_us, value, low: hasBlocks ? value * (0.99 - 0.03 * noise(index, seed, 2)) : null, high: hasBlocks ? value * (1.01 + 0.05 * noise(index, seed, 3)) : null, is_lower_bound: index % 29 === 7, changed };
  });
  return { key, machine: MACHINES.find((one) => one.machine === key.machine).about, label, unit, better, margin: 0.05, points, changes };
}

/** The part of the API about the history, with `many` runs of the largest experiment; `null` for another path. */
export function historyMock({ many, runs = many * 6 }) {
  const experiment = (name, form, count, arms, levels, machines, metrics = METRICS) => ({
    experiment: name, form, runs: count * machines.length, first_unix_us: LAST_US - (count - 1) * DAY_US, last_unix_us: LAST_US, machines: machines.map((machine) => ({ ...machine, runs: count })), arms, levels,
    metrics: metrics.map(({ base, ...head }) => head),
  });
  const experiments = many === 0 ? [] : [
    experiment("istio-performance/sidecar", "full", runs, ["direct", "client-sidecar", "both-sidecars-mtls"], ["400/s", "2000/s"], MACHINES.slice(0, 1)),
    experiment("istio-performance/sidecar", "quick", 9, ["direct", "both-sidecars-mtls"], ["2000/s"], MACHINES),
    experiment("egress/gateway", "full", 1, ["direct", "gateway"], ["100/s"], MACHINES.slice(1), METRICS.slice(0, 2)),
    experiment("load: GET http://127.0.0.1:8080/echo, 8 connections, HTTP/1.1, 10 s", "full", 14, ["try <b>1</b>"], [""], MACHINES.slice(0, 1), METRICS.slice(0, 2)),
    ...Array.from({ length: Math.max(0, many - 12) }, (_, index) => experiment(`study-${index % 17}/experiment-${index}`, "full", 3, ["direct"], ["1/s"], MACHINES.slice(0, 1), METRICS.slice(0, 1))),
  ];
  const all = (wanted, metrics) => wanted.levels.flatMap((level, l) => wanted.arms.flatMap((arm, a) => metrics.flatMap(({ metric }) => wanted.machines.map(({ machine, runs: count }, k) => seriesOf({ experiment: wanted.experiment, form: wanted.form, arm, level, metric, machine }, count, a + l + METRICS.findIndex((one) => one.metric === metric) + 2 * k)))));
  const missing = (what) => [404, { message: `no complete run of "${what}"; \`tare history\` lists the experiments` }];

  const answer = (path, query) => {
    if (path === "history") return [200, { experiments, unreadable: many === 0 ? {} : { "2026-10-05T10-00-0005-sidecar": "plan.json: expected value at line 1 column 1" } }];
    if (path === "history/nights") return [200, { nights: nightsOf(many) }];
    if (!path.startsWith("history/")) return null;
    const wanted = experiments.find((one) => one.experiment === query.get("experiment") && (query.get("form") ?? one.form) === one.form);
    if (wanted === undefined) return missing(query.get("experiment"));
    const metrics = wanted.metrics.filter((one) => (query.has("metric") ? one.metric === query.get("metric") : one.family === "primary"));
    const series = all(wanted, metrics).filter(({ key }) => ["arm", "level", "machine"].every((part) => !query.has(part) || query.get(part) === key[part]));
    if (series.length === 0) return missing(query.get("experiment"));
    if (path === "history/points") {
      if (series.length > 1) return [404, { message: `${series.length} series match: choose one by --arm` }];
      const [{ points, ...one }] = series;
      // Only the number of runs that the server sends, unless a larger one is asked for on purpose.
      const left_out = Math.max(0, points.length - Math.max(Number(query.get("last")), Number(process.env.HISTORY ?? 0)));
      return [200, { ...one, runs: points.length, left_out, points: points.slice(left_out) }];
    }
    return [200, { series: series.map(({ key, unit, better, points, changes }) => {
      const values = points.map((one) => one.value);
      const median = [...values].sort((a, b) => a - b)[values.length >> 1];
      return { key, unit, better, runs: values.length, latest: values.at(-1), median, latest_change: values.length > 1 ? values.at(-1) / median - 1 : null, recent: values.slice(-30), overview: overview(values), last_change: changes.at(-1) ?? null, acknowledged: key.metric === "p99" && changes.length > 0 ? "OCSP stapling is on since this version, on purpose" : null };
    }), unmatched: query.get("changes") !== "true" || wanted.form !== "full" ? [] : [`acknowledged "as planned" (${wanted.experiment}, since 2026-11-26) matches no change: there is no run of that date or later`] }];
  };
  return { answer };
}
