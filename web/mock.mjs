// A stand-in for the server: dist/app, and an API whose runs and loads are made up. For looking at the application without a lab.
//
//   node mock.mjs [PORT]        MANY=1000, READ_ONLY=1, HISTORY=100000 (runs of a series); VIEW: a file of `tare report --json`, EVENTS: one of `tare run --json-lines`
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { plain } from "./fixtures/views.mjs";
import { historyMock } from "./mock-history.mjs";
import { kafkaMock } from "./mock-kafka.mjs";

const { VIEW, EVENTS } = process.env;
const shown = VIEW === undefined ? plain() : JSON.parse(readFileSync(VIEW, "utf8"));

const at = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The policy that the server sends with the page. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const TYPES = { js: "text/javascript", css: "text/css", txt: "text/plain; charset=utf-8", html: "text/html; charset=utf-8" };
const STATES = ["complete", "complete", "interrupted", "failed", "killed", "unreadable"];
const ARMS = [
  { name: "direct", about: "direct, no proxy", routes: [["client", "plaintext", "server"]] },
  { name: "both-sidecars-mtls", about: "an Envoy sidecar at client and server, mTLS between them", routes: [["client", "plaintext", "client-sidecar (envoy)", "mtls", "server-sidecar (envoy)", "plaintext", "server"]] },
];
const LIVE = "2026-11-25T22-26-48-sidecar";
const HTML = `<img src=x onerror="document.title='broken'">`;

function entry(index) {
  const view = shown;
  const state = index === 0 ? "running" : STATES[index % STATES.length];
  const id = index === 0 ? LIVE : `2026-10-${String(1 + (index % 30)).padStart(2, "0")}T10-00-${String(index).padStart(4, "0")}-sidecar`;
  if (state === "unreadable") return { id, state, summary: null, problem: "run.json: expected value at line 1 column 1: delete the folder or restore the file" };
  const summary = {
    version: 5, experiment: index % 3 === 0 ? "istio-performance/sidecar" : "egress/gateway", question: index === 7 ? HTML : view.run.question, form: index % 2 === 0 ? "quick" : "full",
    progress: "complete", started_unix_us: 1_795_645_000_000_000 - index * 3_600_000_000, took_ns: 23e9 + index * 1e9, verdict: view.verdict, blocks_complete: state === "complete" ? 3 : 1,
    blocks_planned: 3, trials: 15, trials_fit: 14, machine: "AMD EPYC, 2 cores, 25.3 GB", tare: "0.1.0",
  };
  return { id, state, summary, problem: null };
}

const position = (block, arm) => ({ block, blocks: 3, arm, level: "2000/s", aa_copy: 0, attempt: 0, left_ns: (4 - block) * 30e9 });
const wave = (x, low, high) => Math.round(low + (high - low) * (0.5 + 0.5 * Math.sin(x * 1.7)));

function sample(second) {
  return {
    offset_ns: second * 1e9, length_ns: 1e9, intended: 2000, released: 2000, ok: wave(second, 1960, 2000), errors: second % 7 === 0 ? 2 : 0, latency_p50_ns: wave(second, 300_000, 900_000),
    latency_p99_ns: wave(second + 1, 2_000_000, 9_000_000), latency_max_ns: wave(second + 2, 9_000_000, 30_000_000), lateness_p99_ns: wave(second, 9_000, 30_000), in_flight: 8, connections: 16,
  };
}

function usage(second) {
  const part = (instance, role, cpu) => ({ instance, role, cpu_ns: wave(second, cpu * 0.8, cpu), rss_bytes: wave(second, 60e6, 70e6), disk_write_bytes: role === "app" ? 4096 * second : 0, packets: role === "agent" ? null : wave(second, 3000, 4000) });
  return { length_ns: 1e9, parts: [part("server", "app", 4e7), part("client-sidecar", "sidecar", 2e8), part("server-sidecar", "sidecar", 1.8e8), part("client", "agent", 9e7), part("conductor", "conductor", 4e6)], background_cpu_ns: wave(second, 1e8, 4e8) };
}

/** Events of a run: as many of its seconds as have passed. */
export function events(seconds) {
  if (EVENTS !== undefined) return readFileSync(EVENTS, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const all = [{ event: "preparing", what: "looking at this machine" }, { event: "note", text: "other programs use 30 % of core 0 now: intervals will be wider" }, { event: "started", folder: `/runs/${LIVE}`, trials: 6, done: 0 }];
  for (let trial = 1; trial <= 6; trial += 1) {
    const at = position(Math.ceil(trial / 2), ARMS[trial % 2].name);
    all.push({ event: "trial-started", at }, { event: "starting", at, instance: "server", waited_ns: 2e8 });
    for (let second = 1; second <= 8; second += 1) all.push({ event: "sample", at, source: "client", sample: sample(second + trial) }, { event: "usage", at, ...usage(second + trial) });
    const status = trial === 3 ? { status: "unfit", reasons: ["bunched starts 14 %, more than 10 %"] } : { status: "fit" };
    all.push({ event: "trial-done", trial, block: at.block, arm: at.arm, level: at.level, aa_copy: 0, attempt: 0, status });
    if (trial % 2 === 0) all.push({ event: "block-done", block: at.block, blocks: 3 });
  }
  return all.slice(0, seconds);
}

function figures(index) {
  const value = (base) => Math.round(base * (1 + index * 0.07));
  const percentiles = [[50, 400_000], [75, 600_000], [90, 900_000], [99, 4_000_000], [99.9, 9_000_000]].map(([percentile, base]) => ({ percentile, value_ns: value(base), is_lower_bound: false }));
  const curve = [[0, 90_000], ...percentiles.map((one) => [one.percentile, one.value_ns]), [99.99, value(14_000_000)]].map(([percentile, value_ns]) => ({ percentile, value_ns, is_lower_bound: false }));
  return { percentiles, curve, min_ns: value(90_000), mean_ns: value(480_000), max_ns: value(15_000_000) };
}

/** Buckets as Tare makes them, four to a doubling, or as Fortio does: of one width. */
function histogram(index) {
  const bounds = Array.from({ length: 31 }, (_, step) => Math.round(index % 2 ? (step + 1) * 5e5 : 9e4 * 2 ** (step / 4)));
  const counts = bounds.slice(1).map((_, step) => Math.round(900 * Math.exp(-((step - 9) ** 2) / 12) + 40 * Math.exp(-((step - 22) ** 2) / 8)));
  const all = counts.reduce((sum, one) => sum + one, 0);
  let below = 0;
  return counts.map((one, step) => ({ start_ns: bounds[step], end_ns: bounds[step + 1], count: one, cumulative_percent: ((below += one) / all) * 100 }));
}

function load(index) {
  const isRunning = index === 0;
  const own = { tool: index % 2 ? "fortio 1.68.0" : "tare 0.1.0", target: "http://127.0.0.1:8080/echo", labels: index % 3 ? `try ${index}` : "", started_unix_us: index % 4 ? 1_795_645_000_000_000 - index * 6e7 : null, window_ns: 1e10, offered_per_s: index % 2 ? null : 400, achieved_per_s: 399.2, connections: 8, quantity: index % 2 ? "service time" : "latency", ok: 3992, errors: index % 5, histogram: histogram(index), statuses: [{ status: "200", count: 3992 }, { status: "503", count: index % 5 }], ...figures(index) };
  return { id: `2026-11-25T21-00-${String(index).padStart(4, "0")}`, running: isRunning, figures: isRunning ? null : own, problem: null };
}

function overlay(ids) {
  const cell = (index, arm) => ({ level: "2000/s", arm, ...figures(index + (arm === "direct" ? 0 : 4)), throughput: 1990 - index, throughput_unit: "per-second" });
  const runs = ids.map((id, index) => ({ id, experiment: "istio-performance/sidecar", started: "2026-11-25T22:26:51Z", cells: ARMS.map((arm) => cell(index, arm.name)) }));
  const verdict = [{ kind: "finding", text: "Of 12 primary figures, 2 differ between the runs, 8 change by less than the margin, 2 are undecided and 0 have no verdict." }];
  const rows = [{ level: "2000/s", arm: "direct", metric: "median", before: "75.5 µs", after: "81.2 µs", ratio_text: "+8 % (4 to 12)", outcome_text: "differs" }];
  return { runs, changed: ids.slice(1).map((_, index) => (index ? [] : ["kernel: 6.1.0 → 6.18.44", "envoy: 1.38.3 → 1.40.0"])), comparison: ids.length === 2 ? { verdict, rows } : null, refused: ids.length === 2 ? null : "a verdict is about two runs" };
}

/** Entries of the audit log: each kind, with what a stranger may have sent. */
function audit(many) {
  const session = { kind: "session", id: "3f2a91c0" };
  const kinds = [
    { caller: session, method: "DELETE", path: "/api/v1/kafka/clusters/prod/topics/orders", status: 204 },
    { caller: { kind: "token" }, method: "POST", path: "/api/v1/loads", status: 409, subject: "http://127.0.0.1:8080", problem: "2026-11-25T22-26-51-sidecar is being measured, and what is measured at the same time spoils each other's results: wait until it ends, or stop it (this server measures 1 at a time: `tare serve --parallel N`)" },
    { caller: { kind: "unknown" }, address: "2001:db8:85a3:8d3:1319:8a2e:370:7348", method: "GET", path: "/", status: 401, problem: "a wrong password" },
    { caller: { kind: "password" }, address: "192.0.2.17", method: "POST", path: "/api/v1/kafka/clusters/prod/groups/r%C3%A9aders/reset", status: 200, subject: "orders, payments (only checked)" },
    { caller: session, method: "POST", path: `/api/v1/runs/${HTML}/stop`, status: null },
    { caller: session, method: "GET", path: "/", status: 303 },
  ];
  const one = (index) => ({ at_unix_us: 1_795_645_611_284_587 - index * 71e6, address: "127.0.0.1", subject: null, problem: null, ...kinds[index % kinds.length] });
  return Array.from({ length: Math.min(many, 1000) }, (_, index) => one(index));
}

const RECORD = {
  version: 5, trial: 1, block: 1, arm: "both-sidecars-mtls", level: "2000/s", aa_copy: 0, attempt: 0, started_unix_us: 1_795_645_611_284_587, took_ns: 1_532_173_283, status: { status: "unfit", reasons: ["bunched starts 14 %, more than 10 %"] }, saturated: true, superseded: false,
  load: [{ version: 5, role: "client", ended: "completed", window_start_unix_us: 0, window_ns: 8e8, offered_per_s: 2000, intended: 1600, released: 1600, sent: 1600, ok: 1598, errors: 2, unfinished: 0, ok_by_status: [{ status: 200, count: 1598 }], overflow: 0, outcomes: [{ request: "echo", class: "ok", error_source: "none", count: 1598, example: null }, { request: "echo", class: "status 503", error_source: "target", count: 2, example: HTML }], requests_sent_total: 2000, connections: { opened: 16, reconnects: 0, failed: 0, peak: 16 }, bytes_sent: 120000, bytes_received: 1767504, queue_waits: [{ cause: "connection", count: 336, total_ns: 1867863268 }], generator: { lateness: { count: 1600, p50_ns: 334, p99_ns: 28991, max_ns: 643583 }, receive_lag: { count: 1600, p50_ns: 35743, p99_ns: null, max_ns: 165759 }, cpu_ns: 131569136, worker_cpu_ns: [], worker_spun_ns: [], peak_rss_bytes: 30392320, kernel_timestamps: 1600, user_timestamps: 0, timestamp_upper_bounds: 0, timestamps_before_send: 0, out_of_range: 0, clock_steps: 0 } }],
  instances: [{ instance: "server", role: "app", software: "origin 0.1.0", cpu_ns: 27766917, user_ns: 1e7, system_ns: 3e7, run_queue_wait_ns: 66611937, rss_mean_bytes: 22097920, rss_peak_bytes: 22097920, switches_voluntary: 743, switches_involuntary: 5, disk_write_bytes: 0, packets: null, processes: 1 }],
  machine: { window_ns: 8e8, core_busy: [1, 0.4], steal_share: 0.006, softirq_share: 0.03, background_cpu_ns: 1052118830, other_arms_cpu_ns: 0, load_average: 6.11, pods: [{ pod: "server", packets_in: 1638, packets_out: 1599, bytes_in: 267608, bytes_out: 1870830, tcp_opened: 0, tcp_retransmits: 0 }] },
  proofs: [{ instance: "client-sidecar", edge: "client->server", check: "requests", expected: "2000", actual: "2000", passed: true }, { instance: "server-sidecar", edge: null, check: "requests", expected: "2000", actual: "1998", passed: false }], not_proved: [{ edge: "client->server", part: "server", reason: "it has no counters" }],
  audits: [], endpoints: [{ addresses: ["127.0.0.2:8080"], host: "server" }], faults: [{ at_ns: 2e8, action: "kill", subjects: ["server"], result: "killed", failed: false }], target_counters: [{ instance: "server", name: "x-hits", label: null, value: 2000 }],
};

const MACHINE = {
  version: 5, tare: "0.1.0", environment: "local", addressing: "namespaces", kernel: "6.18.44", os: "Debian GNU/Linux 12", cpu_model: "AMD EPYC", cores: 2, memory_bytes: 25276510208, boot_id: "a", fingerprint: "8e75653383c1",
  targets: { envoy: { version: "1.40.0", source: "https://github.com/envoyproxy/envoy", path: "/opt/envoy", sha256: null } },
  checks: [{ name: "others", found: "other programs use 30 % of core 0 now", grade: "warning", advice: "stop them" }, { name: "clock", found: "tsc", grade: "ok" }, { name: "files", found: "64 open files", grade: "error", advice: "ulimit -n 65536" }], facts: { "net.core.somaxconn": "4096", LANG: "" },
  calibration: { measured_unix_s: 1795645611, boot_id: "b", paths: [{ between: "pods", plain: { round_trip_p50_ns: 21000, round_trip_p99_ns: null, bits_per_s: 2.1e10 }, tls: { round_trip_p50_ns: 25000, round_trip_p99_ns: 41000, bits_per_s: 8e9 } }], disk: { folder: "/runs", write_bytes_per_s: 4e8, read_bytes_per_s: 1e9 } },
};

const PLAN = { plan: { estimate: { trials_min: 15, trials_max: 15, block_ns: 8e9, total_min_ns: 25e9, total_max_ns: 25e9 }, minimum_detectable: { run: "r", differences: [{ level: "2000/s", metric: "median", relative: 0.04 }] }, not_run: [] }, text: "workload   echo\ntime       about 0:25", arms: ARMS };

/** Serves on a free port, or on `port`; `many` runs and loads. */
export async function serveMock({ many = 12, readOnly = false, port = 0 } = {}) {
  const runs = Array.from({ length: many }, (_, index) => entry(index));
  const loads = Array.from({ length: many }, (_, index) => load(index));
  const kafka = kafkaMock({ many });
  const history = historyMock({ many, runs: process.env.HISTORY === undefined ? undefined : Number(process.env.HISTORY) });
  const asked = [];
  const state = { stopped: new Set(), polls: 0 };
  const start = () => ({ id: "s1", state: state.polls++ < 2 ? "preparing" : "running", folder: state.polls > 2 ? `/runs/${LIVE}` : null, exit_code: null, output: ["looking at this machine", HTML], command: ["tare", "run", "sidecar", "--quick"] });

  const answer = (method, path, query, body) => {
    const [kind, id, what, rest] = path.split("/").map(decodeURIComponent);
    const run = kind === "runs" ? runs.find((one) => one.id === id) : undefined;
    if (method === "POST" && path === "plan") {
      if (String(body.yaml ?? "").includes("wrong")) return [422, { message: "unknown key “wrong”; did you mean “workload”?", line: 2, column: 1 }];
      return [200, PLAN];
    }
    if (method === "POST" && (path === "runs" || path === "loads" || what === "resume")) return [201, start()];
    if (method === "POST" && path.endsWith("import")) return [201, { id: (kind === "runs" ? runs : loads)[1]?.id ?? "" }];
    if (method === "POST" && what === "stop") return state.stopped.add(kind), [202, {}];
    if (method === "DELETE" && kind === "runs") return runs.splice(runs.indexOf(run), 1), [204];
    if (method === "DELETE" && kind === "loads") return loads.splice(loads.findIndex((one) => one.id === id), 1), [204];
    if (path === "server") return [200, { tare: "0.1.0", version: 5, runs: "/home/user/tare/runs", read_only: readOnly, files: ["/etc/tare"], parallel: 1, caller: { kind: "session", id: "3f2a91c0" } }];
    if (path === "runs") return [200, { runs }];
    if (run !== undefined && what === undefined) return [200, { entry: run, bytes: 4_100_000, plan_text: "", arms: ARMS }];
    if (run !== undefined && what === "view") return [200, { ...shown, run: { ...shown.run, id } }];
    if (run !== undefined && what === "trials" && Number(rest) < 1000) return [200, { record: { ...RECORD, trial: Number(rest) }, files: [{ path: "testbeds/b1/server/output.log", bytes: 512 }, { path: "testbeds/b1/client-sidecar/envoy.yaml", bytes: 3072 }] }];
    if (run !== undefined && what === "files") return [200, `first line\n${HTML}\n`];
    if (path === "compare") return [200, overlay(query.getAll("run"))];
    if (path === "library") return [200, { experiments: many === 0 ? [] : ["istio-performance/sidecar", "egress/gateway", "kafka/acks"].map((name) => ({ name, question: `What does ${name} cost?`, has_quick: name !== "kafka/acks" })) }];
    if (kind === "library") return [200, readFileSync(at("../experiments/istio-performance/sidecar.yaml"), "utf8")];
    if (path === "schemas/experiment") return [200, JSON.parse(readFileSync(at("../docs/schema/experiment.json"), "utf8"))];
    if (kind === "starts") return [200, start()];
    if (path === "loads") return [200, { loads }];
    if (kind === "loads") return loads.some((one) => one.id === id) ? [200, { entry: loads.find((one) => one.id === id), report: null }] : [404, { message: `there is no load ${id}` }];
    if (path === "machine") return [200, MACHINE];
    if (path === "audit") return [200, { file: "/home/user/tare/runs/.serve/audit.jsonl", entries: many === 0 ? [] : audit(many) }];
    if (method === "DELETE" && path === "session") return [204];
    return history.answer(path, query) ?? [404, { message: `there is no ${path}` }];
  };

  /** The first half at once, the rest one by one, until it is stopped. */
  const stream = (response, kind, all) => {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    let next = 0;
    const send = () => {
      if (next < all.length) response.write(`id: ${next}\ndata: ${JSON.stringify(all[next++])}\n\n`);
    };
    while (next < all.length / 2) send();
    const timer = setInterval(() => {
      send();
      if (state.stopped.has(kind)) {
        if (kind === "runs") runs[0] = { ...runs[0], state: "interrupted" };
        else loads[0] = { ...load(2), id: loads[0].id };
        response.end("event: ended\ndata: {}\n\n");
        clearInterval(timer);
      }
    }, 250);
    response.on("close", () => clearInterval(timer));
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://mock");
    if (!url.pathname.startsWith("/api/v1/")) {
      const name = url.pathname.startsWith("/assets/") ? url.pathname.slice(8) : "index.html";
      try {
        const text = readFileSync(at(`dist/app/${name.replaceAll("/", "")}`));
        response.writeHead(200, { "content-type": TYPES[name.split(".").pop()] ?? "application/octet-stream", "content-security-policy": POLICY }).end(text);
      } catch {
        response.writeHead(404).end();
      }
      return;
    }
    const path = url.pathname.slice(8);
    asked.push(`${request.method} ${path}`);
    if (path.startsWith("kafka/") && path.endsWith("/events")) return kafka.stream(response, path, url.searchParams);
    if (path.endsWith("/events")) {
      const kind = path.split("/")[0];
      stream(response, kind, kind === "runs" ? events(1000) : Array.from({ length: 40 }, (_, second) => ({ event: "sample", ...sample(second + 1) })));
      return;
    }
    let text = "";
    for await (const piece of request) text += piece;
    let body = {};
    try {
      body = JSON.parse(text);
    } catch {
      // A tar, or nothing.
    }
    const [status, reply] = path.startsWith("kafka/") ? await kafka.answer(request.method, path, url.searchParams, body) : answer(request.method, path, url.searchParams, body);
    response.writeHead(status, { "content-type": typeof reply === "string" ? "text/plain; charset=utf-8" : "application/json" }).end(typeof reply === "string" ? reply : reply && JSON.stringify(reply));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const close = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, asked, reset: kafka.reset, close };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serveMock({ many: Number(process.env.MANY ?? 12), readOnly: process.env.READ_ONLY !== undefined, port: Number(process.argv[2] ?? 7980) });
  console.log(url);
}
