import { describe, expect, it } from "vitest";
import type { BrokerRow, ClusterOverview, GroupLive, PartitionLag } from "../src/kafka-api";
import { FIRST as CLUSTER, formOf, requestOf as clusterOf } from "../src/app/kafka/cluster-form";
import { History, metricsAddress, take, unknownCluster } from "../src/app/kafka/live";
import { addingOf, brokersOf, byTopic, fromTool, leastSeconds, throttleOf, toTool } from "../src/app/kafka/plan";
import { FIRST as RESET, changesOf, targetOf } from "../src/app/kafka/reset-form";
import { apiOf, deletionOf, eventsOf, loadAt, pageAt, pageOf, urlOf } from "../src/app/kafka/route";
import { plain, sorted, spansOf } from "../src/app/rows";
import { FIRST as TOPIC, requestOf as topicOf } from "../src/app/kafka/topic-form";
import { FIRST as LOAD, given, requestOf as loadOf } from "../src/app/load-form";
import { routeOf } from "../src/app/router";
import { searched } from "../src/app/words";

describe("addresses", () => {
  const at = (path: string) => {
    const route = routeOf(path);
    return route.view === "kafka" ? pageOf(route.parts) : route.view;
  };
  it("name every page, with parts that may hold anything", () => {
    expect(at("/kafka")).toEqual({ page: "clusters" });
    expect(at(pageAt("prod"))).toEqual({ page: "overview", cluster: "prod" });
    expect(at(pageAt("prod", "topics", "a.b_c-1"))).toEqual({ page: "topic", cluster: "prod", topic: "a.b_c-1" });
    expect(at(pageAt("prod", "groups", "a/b ?%ü"))).toEqual({ page: "group", cluster: "prod", group: "a/b ?%ü" });
    expect(at(pageAt("prod", "brokers", 3))).toEqual({ page: "broker", cluster: "prod", broker: 3 });
    expect(["topics", "groups", "reassign"].map((page) => at(pageAt("c", page)))).toEqual(["topics", "groups", "reassign"].map((page) => ({ page, cluster: "c" })));
    for (const path of ["/kafka/c/x", "/kafka/c/brokers/x", "/kafka/c/topics/t/x", "/kafka/c/brokers"]) expect(at(path)).toBeNull();
  });
  it("delete the topic that was shown, and not one that was made again", () => {
    expect(deletionOf("prod", { name: "a.b", id: "80b8aa32" })).toBe("kafka/clusters/prod/topics/a.b?id=80b8aa32");
    expect(deletionOf("prod", { name: "old" })).toBe("kafka/clusters/prod/topics/old");
  });
  it("ask the server for the same names, and for events of the page alone", () => {
    expect(apiOf("prod", "groups", "a/b", "reset")).toBe("kafka/clusters/prod/groups/a%2Fb/reset");
    expect(eventsOf({ page: "overview", cluster: "c" })).toBe("?metrics=true");
    expect(eventsOf({ page: "group", cluster: "c", group: "a&b" })).toBe("?group=a%26b");
  });
});

describe("long lists", () => {
  const rows = [{ name: "b-10", lag: 3 }, { name: "b-9", lag: null }, { name: "a-1", lag: 20 }];
  it("are sorted by figure or name, what is not known last in both directions", () => {
    const names = (isDescending: boolean, of: (row: (typeof rows)[number]) => number | string | null) => sorted(rows, isDescending, of).map((row) => row.name);
    expect(names(false, (row) => row.name)).toEqual(["a-1", "b-9", "b-10"]);
    expect(names(true, (row) => row.name)).toEqual(["b-10", "b-9", "a-1"]);
    expect(names(false, (row) => row.lag)).toEqual(["b-10", "a-1", "b-9"]);
    expect(names(true, (row) => row.lag)).toEqual(["a-1", "b-10", "b-9"]);
    expect(sorted(rows, true, () => 1)).toEqual(rows);
  });
  it("are searched by all words", () => {
    expect(searched(rows, " B 9 ", (row) => row.name).map((row) => row.name)).toEqual(["b-9"]);
    expect(searched(rows, "", (row) => row.name)).toBe(rows);
  });
  it("draw what is in sight, and the row with the focus", () => {
    const window = { rows: 20_000, rowHeight: 31, top: 31_000, height: 620, focused: null };
    expect(spansOf(window)).toEqual([{ from: 988, to: 1032 }]);
    expect(spansOf({ ...window, focused: 1000 })).toEqual([{ from: 988, to: 1032 }]);
    expect(spansOf({ ...window, focused: 3 })).toEqual([{ from: 3, to: 4 }, { from: 988, to: 1032 }]);
    expect(spansOf({ ...window, focused: 19_999 })).toEqual([{ from: 988, to: 1032 }, { from: 19_999, to: 20_000 }]);
    expect(spansOf({ ...window, focused: 20_000 })).toEqual([{ from: 988, to: 1032 }]);
    // Rows went away below what was in sight: the end of those that are left.
    expect(spansOf({ ...window, rows: 100 })).toEqual([{ from: 80, to: 100 }]);
    expect(spansOf({ ...window, rows: 5 })).toEqual([{ from: 0, to: 5 }]);
    expect(spansOf({ ...window, rows: 0 })).toEqual([{ from: 0, to: 0 }]);
  });
  it("cover every row that can be in sight", () => {
    for (let top = 0; top <= 31 * 300 - 500; top += 17) {
      const [span] = spansOf({ rows: 300, rowHeight: 31, top, height: 500, focused: null });
      expect(span?.from).toBeLessThanOrEqual(top / 31);
      expect(span?.to).toBeGreaterThanOrEqual(Math.min(300, (top + 500) / 31));
    }
  });
});

describe("the JSON of kafka-reassign-partitions", () => {
  const moves = [{ topic: "orders", partition: 0, from: [1, 2], to: [2, 3] }, { topic: "__proto__", partition: 1, from: [1], to: [1, 3, 2] }];
  it("is what the tool writes, and comes back", () => {
    const text = toTool(moves, "to");
    expect(JSON.parse(text)).toEqual({ version: 1, partitions: [{ topic: "orders", partition: 0, replicas: [2, 3], log_dirs: ["any", "any"] }, { topic: "__proto__", partition: 1, replicas: [1, 3, 2], log_dirs: ["any", "any", "any"] }] });
    expect(fromTool(text)).toEqual({ partitions: moves.map(({ topic, partition, to }) => ({ topic, partition, replicas: to })), notes: [] });
    expect(fromTool(toTool(moves, "from")).partitions[0]?.replicas).toEqual([1, 2]);
  });
  it("may lack a version and directories, and says which directories are not followed", () => {
    expect(fromTool('{"partitions":[{"topic":"a","partition":0,"replicas":[1]}]}').partitions).toHaveLength(1);
    expect(fromTool('{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1],"log_dirs":["/data"]}]}').notes[0]).toContain("of 1 partition are");
  });
  it("may be pasted as --generate and --execute print it", () => {
    const json = (broker: number) => `{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[${broker}],"log_dirs":["any"]}]}`;
    const replicas = (text: string) => fromTool(text).partitions.map((one) => one.replicas);
    expect(replicas(`Current partition replica assignment\n${json(1)}\n\nProposed partition reassignment configuration\n${json(2)}\n`)).toEqual([[2]]);
    expect(replicas(`Current partition replica assignment\r\n\r\n${json(1)}\r\n\r\nSave this to use as the --reassignment-json-file option during rollback\r\n`)).toEqual([[1]]);
  });
  it("is refused with the place that is wrong", () => {
    const wrong = (partition: object) => () => fromTool(JSON.stringify({ version: 1, partitions: [{ topic: "a", partition: 0, replicas: [1], ...partition }] }));
    expect(wrong({ topic: 3 })).toThrow("partitions[0]: “topic”");
    expect(wrong({ partition: -1 })).toThrow("“partition”");
    for (const replicas of [[], ["1"], null, [1.5]]) expect(wrong({ replicas })).toThrow("“replicas”");
    expect(wrong({ replicas: [1, 1] })).toThrow("twice");
    expect(() => fromTool("[")).toThrow("not JSON");
    expect(() => fromTool("null")).toThrow("“partitions” is missing");
    expect(() => fromTool('{"version":2,"partitions":[]}')).toThrow("“version” is 2");
    const twice = { topic: "a", partition: 0, replicas: [1] };
    expect(() => fromTool(JSON.stringify({ partitions: [twice, twice] }))).toThrow("a-0 is there twice");
  });
});

describe("plans", () => {
  it("read broker lists and throttles as they are typed", () => {
    expect(brokersOf(" 1, 2 3;4 ")).toEqual([1, 2, 3, 4]);
    expect(brokersOf("")).toEqual([]);
    expect(brokersOf("1, x")).toContain("“x”");
    expect(brokersOf("1, 2, 1")).toContain("twice");
    expect([throttleOf(""), throttleOf("20"), throttleOf("0.5")]).toEqual([null, 20_000_000, 500_000]);
    for (const wrong of ["0", "-1", "x"]) expect(throttleOf(wrong)).toBeTypeOf("string");
  });
  it("gather partitions by topic", () => {
    expect(Object.entries(byTopic([{ topic: "a", partition: 1 }, { topic: "__proto__", partition: 0 }, { topic: "a", partition: 0 }]))).toEqual([["a", [1, 0]], ["__proto__", [0]]]);
  });
  it("take as long as the broker that gets most", () => {
    const moves = [{ topic: "a", partition: 0, from: [1], to: [2, 3] }, { topic: "a", partition: 1, from: [1], to: [3] }, { topic: "a", partition: 2, from: [1, 2], to: [2, 1] }];
    expect(moves.map(addingOf)).toEqual([[2, 3], [3], []]);
    // Broker 3 gets 100 of the first and 300 of the second.
    expect(leastSeconds(moves, [200, 300, 0], 10)).toBe(40);
    expect(leastSeconds(moves, [200, null, 0], 10)).toBeNull();
    expect(leastSeconds([], [], 10)).toBe(0);
  });
});

describe("forms", () => {
  it("of a cluster name where secrets are, and give what was stored back", () => {
    const form = {
      ...CLUSTER, name: "prod", bootstrap: "k1:9092, [::1]:9093", security: "mtls" as const, ca: "/e/ca.pem", cert: "/e/c.pem", key: "/e/k.pem", sasl: "scram-sha-256" as const, user: "ann", passwordEnv: "KAFKA_PASSWORD",
      metrics: "jolokia" as const, metricsAddresses: "k1:8778", metricsUser: "mon", metricsPasswordIn: "file" as const, metricsPasswordFile: "/e/p", showRecords: true, lagLimit: "100",
    };
    const request = clusterOf(form);
    expect(request).toEqual({
      name: "prod", read_only: false, show_records: true, lag_limit: 100,
      cluster: {
        bootstrap: ["k1:9092", "[::1]:9093"], tls: { ca: "/e/ca.pem", cert: "/e/c.pem", key: "/e/k.pem" }, sasl: { mechanism: "scram-sha-256", user: "ann", password_env: "KAFKA_PASSWORD" },
        metrics: { jolokia: ["k1:8778"], user: "mon", password_file: "/e/p" },
      },
    });
    if (Array.isArray(request)) throw new Error(request.join());
    const back = formOf({ ...request, origin: "server", read_only: false, show_records: true });
    expect(back).toEqual(form);
  });
  it("of a cluster leave out what is not given", () => {
    expect(clusterOf({ ...CLUSTER, name: "a", bootstrap: "h:1", cert: "left over", passwordEnv: "X" })).toEqual({ name: "a", cluster: { bootstrap: ["h:1"] }, read_only: false, show_records: false, lag_limit: null });
    expect(clusterOf({ ...CLUSTER, name: "a", bootstrap: "h:1", security: "tls" })).toMatchObject({ cluster: { tls: {} } });
    for (const over of [{ name: "a b" }, { name: ".." }, { bootstrap: "h" }, { bootstrap: "" }, { security: "mtls" as const }, { sasl: "plain" as const, user: "u" }, { sasl: "plain" as const, passwordEnv: "P" }, { metrics: "jmx" as const }, { lagLimit: "1.5" }]) {
      const wrong = clusterOf({ ...CLUSTER, name: "a", bootstrap: "h:1", ...over });
      expect(Array.isArray(wrong) ? wrong.length : 0).toBe(1);
    }
  });
  it("of a topic leave defaults to the cluster", () => {
    expect(topicOf({ ...TOPIC, name: "a" })).toEqual({ name: "a", partitions: null, replicas: null, assignment: null, configs: {} });
    expect(topicOf({ ...TOPIC, name: "a", partitions: "6", replicas: "3", configs: "retention.ms = 5\n\ncleanup.policy=compact,delete" })).toMatchObject({ partitions: 6, replicas: 3, configs: { "retention.ms": "5", "cleanup.policy": "compact,delete" } });
    expect(topicOf({ ...TOPIC, name: "a", placed: "by-hand", partitions: "6", assignment: "1, 2\n2 3\n" })).toEqual({ name: "a", partitions: null, replicas: null, assignment: [[1, 2], [2, 3]], configs: {} });
    for (const over of [{ name: "" }, { name: ".." }, { name: "a/b" }, { name: "x".repeat(250) }, { partitions: "0" }, { replicas: "x" }, { configs: "no value" }, { configs: "a=1\na=2" }, { placed: "by-hand" as const }, { placed: "by-hand" as const, assignment: "1,2\n3" }]) {
      expect(Array.isArray(topicOf({ ...TOPIC, name: "a", ...over }))).toBe(true);
    }
  });
  it("of a reset say where to, and what it changes", () => {
    expect(targetOf(RESET)).toEqual({ kind: "earliest" });
    expect(targetOf({ ...RESET, to: "time", time: "2026-11-26T10:00" })).toEqual({ kind: "time", time_ms: new Date("2026-11-26T10:00").getTime() });
    expect(targetOf({ ...RESET, to: "offset", offset: "7" })).toEqual({ kind: "offset", offset: 7 });
    expect(targetOf({ ...RESET, to: "shift", shift: "\u22125" })).toEqual({ kind: "shift", records: -5 });
    for (const over of [{ to: "time" as const }, { to: "offset" as const, offset: "-1" }, { to: "offset" as const, offset: "" }, { to: "shift" as const, shift: "0" }, { to: "shift" as const, shift: "x" }]) expect(targetOf({ ...RESET, ...over })).toBeTypeOf("string");
    const partitions: PartitionLag[] = [{ topic: "a", partition: 0, committed: 10, end: 30 }];
    expect(changesOf([{ topic: "a", partition: 0, from: 10, to: 4 }, { topic: "a", partition: 1, from: null, to: 5 }], partitions).map(({ by, lag }) => [by, lag])).toEqual([[-6, 26], [null, null]]);
  });
  it("of a load take a topic, without what HTTP has", () => {
    const prod = { cluster: { bootstrap: ["k1:9092", "k2:9092"] } };
    expect(urlOf(prod, "orders")).toBe("kafka://k1:9092,k2:9092/orders");
    const href = loadAt({ entry: { name: "prod", cluster: { bootstrap: ["k1:9093"], tls: {} } } }, "orders");
    expect(given(href.slice(href.indexOf("?")))).toEqual({ url: "kafka+tls://k1:9093/orders", cluster: "prod" });
    const consumed = loadOf({ ...LOAD, ...given(href.slice(href.indexOf("?"))), mode: "consume", group: "g", acks: "1" });
    expect(consumed).toMatchObject({ kafka: { mode: "consume", cluster: "prod", acks: null, group: "g" } });
    expect(given("?method=DELETE")).toEqual({});
    expect(loadOf({ ...LOAD, url: urlOf(prod, "orders"), headers: "A: b", http2: true })).toMatchObject({ url: "kafka://k1:9092,k2:9092/orders", method: null, headers: [], http2: false });
    for (const url of ["kafka://k1:9092", "kafka://k1:9092/", "kafka:///orders", "kafka://k1/a b"]) expect(loadOf({ ...LOAD, url })).toMatchObject([{ field: "url" }]);
  });
});

describe("a cluster while it is looked at", () => {
  const overview = (at_ms: number, records: number | null) => ({ at_ms, records_in_per_s: records, problems: [] }) as unknown as ClusterOverview;
  it("keeps the last of each kind, and rates over time with gaps", () => {
    const cluster = unknownCluster();
    for (const [at, rate] of [[1000, 5], [1000, 9], [3000, null], [5000, 7]] as const) take(cluster, { overview: overview(at, rate) });
    expect(cluster.overview?.at_ms).toBe(5000);
    expect(cluster.rates.lines([["records", "r"], ["bytes in", "b"]])).toEqual({ x: [0, 2, 4], lines: [{ name: "r", values: [5, null, 7] }] });
  });
  it("says that a reading failed until one succeeds", () => {
    const cluster = unknownCluster();
    take(cluster, { overview: overview(1, 1) });
    take(cluster, { problem: { kind: "unreachable", text: "no broker answers", count: 3, examples: [] } });
    expect([cluster.problem?.text, cluster.overview?.at_ms]).toEqual(["no broker answers", 1]);
    take(cluster, { overview: overview(2, 1) });
    expect(cluster.problem).toBeNull();
  });
  it("draws partitions that come later and go away", () => {
    const cluster = unknownCluster();
    const group = (at_ms: number, lags: number[]) => ({ at_ms, lag: lags.reduce((a, b) => a + b, 0), partitions: lags.map((lag, partition) => ({ topic: "a", partition, lag })) }) as unknown as GroupLive;
    take(cluster, { group: group(1, [4]) });
    take(cluster, { group: group(2, [4, 6]) });
    take(cluster, { group: group(3, [1]) });
    expect(cluster.lags.lines([["", "all"], ["a-1", "a-1"]]).lines).toEqual([{ name: "all", values: [4, 10, 1] }, { name: "a-1", values: [null, 6, null] }]);
  });
  it("drops old points of all lines together", () => {
    const history = new History();
    for (let at = 1; at <= 700; at += 1) history.add(at, [["a", at], ...(at > 650 ? [["b", at] as const] : [])]);
    const { x, lines } = history.lines([["a", "a"], ["b", "b"]]);
    expect([x.length, ...lines.map((line) => line.values.length)]).toEqual([600, 600, 600]);
    expect([lines[0]?.values[0], lines[1]?.values.at(-51), lines[1]?.values.at(-50)]).toEqual([101, null, 651]);
  });
  it("finds the metrics of a broker by its host, or by its place where hosts do not tell", () => {
    const broker = (id: number, address: string | null) => ({ id, address }) as BrokerRow;
    const apart = [broker(1, "k1:9092"), broker(2, "k2:9092")];
    expect(metricsAddress(2, apart, ["http://K2:8778/jolokia/", "k1:8778"])).toBe("http://K2:8778/jolokia/");
    const together = [broker(11, "h:1"), broker(2, null)];
    expect([metricsAddress(2, together, ["h:8001", "h:8002"]), metricsAddress(11, together, ["h:8001", "h:8002"])]).toEqual(["h:8001", "h:8002"]);
    expect(metricsAddress(2, together, ["h:8001"])).toBeNull();
  });
});

it("shows Kafka's documentation of a key as text", () => {
  expect(plain('A number in <code>[0...1]</code> &amp; more.<br>If x &lt; 3, then 1 < 2 &quot;holds&quot;')).toBe('A number in [0...1] & more.If x < 3, then 1 < 2 "holds"');
});
