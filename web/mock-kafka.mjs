// A stand-in for the server's part about Kafka: three brokers whose topics, groups and moves are made up and can be changed.
//
// Clusters: `prod` (everything works), `lab` (a test bed, read-only, little is known), `gone` (no broker answers), `new` (empty).

const started = Date.now();
const HTML = `<img src=x onerror="document.title='broken'">`;
const PARTITION_BYTES = 3_100_000;

const wave = (seconds, low, high, phase = 0) => low + (high - low) * (0.5 + 0.5 * Math.sin(seconds / 7 + phase));
const seconds = () => (Date.now() - started) / 1000;

/** Documentation and defaults of a few keys. */
const TOPIC_KEYS = [
  ["cleanup.policy", "delete", "What is done with old segments: deleted, compacted (the last record of each key is kept), or both."],
  ["compression.type", "producer", "Compression of batches in the log; “producer” keeps what producers sent."],
  ["max.message.bytes", "1048588", "Largest batch that is accepted, after compression."],
  ["min.insync.replicas", "1", "Replicas that must be in sync for a producer with acks=all; with fewer its writes fail."],
  ["retention.bytes", "-1", "Size of a partition beyond which old segments are deleted; −1 is no limit."],
  ["retention.ms", "604800000", "Age beyond which segments are deleted; −1 keeps them for ever."],
  ["segment.bytes", "1073741824", "Size of a segment file."],
  ["unclean.leader.election.enable", "false", "Whether a replica that is not in sync may become leader, which loses records."],
];
const BROKER_KEYS = [
  ["advertised.listeners", null, "Addresses that clients get.", true],
  ["background.threads", "10", "Threads for tasks in the background."],
  ["default.replication.factor", "1", "Replicas of topics that are created without a number.", true],
  ["log.cleaner.threads", "1", "Threads that compact."],
  ["log.dirs", "/tmp/kafka-logs", "Directories of the log.", true],
  ["min.insync.replicas", "1", "Default of topics."],
  ["num.io.threads", "8", "Threads that handle requests."],
  ["num.partitions", "1", "Partitions of topics that are created without a number.", true],
  ["ssl.keystore.password", null, "Password of the key store.", false, true],
];

function topicOf(index, partitions) {
  const named = ["orders", "payments", "clicks", "audit.log", "inventory", "a-topic-with-a-name-that-is-as-long-as-names-of-topics-are-where-every-team-puts-its-department-in-front"];
  const name = named[index] ?? `topic-${String(index).padStart(4, "0")}`;
  const place = (partition) => (index < 3 ? [0, 1, 2] : [0, 1]).map((offset) => 1 + ((index + partition + offset) % 3));
  return {
    name, isInternal: false, configs: index === 0 ? { "min.insync.replicas": "2", "retention.ms": "3600000" } : index === 4 ? { "cleanup.policy": "compact" } : {}, rate: index % 4 === 3 ? 0 : 40 + (index % 7) * 13,
    partitions: Array.from({ length: partitions }, (_, partition) => ({ replicas: place(partition), behind: [], leader: place(partition)[index === 1 && partition < 2 ? 1 : 0], base: 1000 * (partition + 1) + index })),
  };
}

function cluster(many) {
  const count = many > 100 ? 2000 : many === 0 ? 0 : 8;
  const topics = Array.from({ length: count }, (_, index) => topicOf(index, many > 100 ? 10 : 3 + index * 2));
  const offsets = { ...topicOf(9, 5), name: "__consumer_offsets", isInternal: true, rate: 2 };
  if (count > 0) topics.push(offsets);
  const [, payments, clicks] = topics;
  if (payments !== undefined) Object.assign(payments.partitions[2], { behind: [payments.partitions[2].replicas[2]] });
  if (clicks !== undefined) Object.assign(clicks.partitions[1], { leader: null, behind: clicks.partitions[1].replicas });
  return { topics: new Map(topics.map((topic) => [topic.name, topic])), moves: new Map(), throttle: null, rate: many > 100 ? 90_000 : 900, brokerConfigs: {}, defaults: {}, jobs: new Map() };
}

const end = (topic, one) => Math.floor(one.base + topic.rate * (one.leader === null ? 0 : seconds()) / topic.partitions.length);
const rateOf = (topic) => Math.round(wave(seconds(), topic.rate * 0.7, topic.rate * 1.2, topic.name.length) * 10) / 10;
const inSync = (one) => one.replicas.filter((broker) => !one.behind.includes(broker));

const all = (state) => [...state.topics.values()].flatMap((topic) => topic.partitions.map((one, partition) => ({ topic, one, partition })));

function advance(state) {
  for (const [key, move] of state.moves) {
    move.copied = Math.min(move.total, ((Date.now() - move.begun) / (state.throttle === null ? 12_000 : 45_000)) * move.total);
    if (move.copied < move.total) continue;
    move.one.replicas = move.to;
    move.one.leader = move.to.includes(move.one.leader) ? move.one.leader : move.to[0];
    state.moves.delete(key);
  }
  if (state.moves.size === 0) state.throttle = null;
}

function brokers(state, isBare) {
  const rows = [1, 2, 3].map((id) => ({ id, address: `127.199.0.${id}:9092`, rack: isBare ? null : `rack-${id}`, leaders: 0, preferred: 0, replicas: 0, out_of_sync_replicas: 0, log_bytes: isBare ? null : 0, usable_bytes: isBare ? null : 44e9 - id * 14e9, total_bytes: isBare ? null : 270e9, records_in_per_s: isBare ? null : 0 }));
  for (const { topic, one } of all(state)) {
    for (const broker of one.replicas) {
      const row = rows[broker - 1];
      row.replicas += 1;
      if (!isBare) row.log_bytes += PARTITION_BYTES;
      if (one.behind.includes(broker)) row.out_of_sync_replicas += 1;
    }
    rows[one.replicas[0] - 1].preferred += 1;
    if (one.leader === null) continue;
    rows[one.leader - 1].leaders += 1;
    if (!isBare) rows[one.leader - 1].records_in_per_s += rateOf(topic) / topic.partitions.length;
  }
  return rows;
}

function overview(state, isBare = false) {
  advance(state);
  const partitions = all(state);
  const named = (rows) => rows.slice(0, 3).map(({ topic, partition }) => `${topic.name}-${partition}`);
  const offline = partitions.filter(({ one }) => one.leader === null);
  const short = partitions.filter(({ one }) => one.behind.length > 0);
  const odd = partitions.filter(({ one }) => one.leader !== null && one.leader !== one.replicas[0]);
  const problem = (kind, text, rows) => (rows.length === 0 ? [] : [{ kind, text, count: rows.length, examples: named(rows) }]);
  const rows = brokers(state, isBare);
  const problems = [
    ...problem("offline", "Partitions have no leader: start the brokers that have their replicas.", offline),
    ...problem("under-replicated", "Replicas are down or behind: look at the brokers that have them.", short),
    ...(partitions.length === 0 || isBare ? [] : [{ kind: "disk", text: "Less than 15 % of a file system is free: delete records or add disks.", count: 1, examples: ["broker 3"] }, { kind: "lag", text: "Groups are more than 10,000 records behind: add consumers.", count: 1, examples: ["readers"] }]),
    ...problem("leader-imbalance", "Partitions are not led by their preferred leader: elect.", odd),
    ...(isBare ? [{ kind: "unreadable", text: "Log directories: not authorised (Describe on the cluster); sizes are not known.", count: 3, examples: [] }] : []),
  ];
  return {
    at_ms: Date.now(), took_ms: 23, id: "dGFyZS1rYWZrYS1jbHVzdA", controller: 1, voters: [1, 2, 3], metadata_version: isBare ? null : 25, release: isBare ? null : "4.1", brokers: rows, topics: state.topics.size, partitions: partitions.length,
    replicas: rows.reduce((sum, row) => sum + row.replicas, 0), offline_partitions: offline.length, under_replicated_partitions: short.length, below_min_isr_partitions: offline.length, leader_imbalance: odd.length,
    records_in_per_s: isBare || partitions.length === 0 ? null : wave(seconds(), state.rate * 0.8, state.rate), bytes_in_per_s: isBare ? null : wave(seconds(), state.rate * 90, state.rate * 110), bytes_out_per_s: isBare ? null : wave(seconds(), state.rate * 150, state.rate * 230, 2), reassigning: state.moves.size, problems,
  };
}

function topicRow(topic, isBare) {
  const offline = topic.partitions.filter((one) => one.leader === null).length;
  const records = topic.partitions.reduce((sum, one) => sum + end(topic, one), 0);
  const known = (value) => (isBare ? null : value);
  return {
    name: topic.name, id: "80b8aa32-2dd3-4448-90f9-5ee70866ec74", is_internal: topic.isInternal, partitions: topic.partitions.length, replicas: Math.max(...topic.partitions.map((one) => one.replicas.length)), offline, under_replicated: topic.partitions.filter((one) => one.behind.length > 0).length,
    leader_imbalance: topic.partitions.filter((one) => one.leader !== null && one.leader !== one.replicas[0]).length, size_bytes: known(topic.partitions.reduce((sum, one) => sum + one.replicas.length, 0) * PARTITION_BYTES), records, records_in_per_s: known(rateOf(topic)),
    retention_ms: known(Number(topic.configs["retention.ms"] ?? 604_800_000)), lag: topic.isInternal ? null : known(topic.name === "orders" ? 12_345 : topic.partitions.length * 3),
  };
}

const topics = (state, isBare) => ({ at_ms: Date.now(), topics: [...state.topics.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map((topic) => topicRow(topic, isBare)) });

function lags(topic, factor) {
  return topic.partitions.map((one, partition) => {
    const lag = Math.round(wave(seconds(), 5, 900, partition) * factor);
    const last = end(topic, one);
    return { topic: topic.name, partition, committed: Math.max(0, last - lag), end: last, lag: Math.min(last, lag), member: factor > 1 ? `reader-${1 + (partition % 2)}-b41c` : null };
  });
}

const GROUPS = [["readers", "Stable", "classic", 2], ["billing", "Empty", "classic", 1], ["new-protocol", "Stable", "consumer", 1.5], [HTML, "Empty", "classic", 0.5]];

function group(state, name) {
  const found = GROUPS.find(([one]) => one === name);
  const topic = [...state.topics.values()][GROUPS.indexOf(found)];
  if (found === undefined || topic === undefined) return null;
  const [, groupState, type, factor] = found;
  const isActive = groupState === "Stable";
  const partitions = lags(topic, factor).map((one) => ({ ...one, ...(state.resets?.[name]?.[one.partition] !== undefined && { committed: state.resets[name][one.partition], lag: one.end - state.resets[name][one.partition] }) }));
  const members = isActive ? [1, 2].map((number) => ({ id: `reader-${number}-b41c`, group_instance_id: number === 1 ? "static-1" : null, client_id: `reader-${number}`, host: `/10.0.0.${number}`, assignment: [[topic.name, topic.partitions.map((_, partition) => partition).filter((partition) => partition % 2 === number - 1)]] })) : [];
  return { at_ms: Date.now(), group: { name, state: groupState, group_type: type, assignor: isActive ? (type === "consumer" ? "uniform" : "range") : null, coordinator: 2, members }, partitions, lag: partitions.reduce((sum, one) => sum + one.lag, 0) };
}

function groups(state) {
  const rows = GROUPS.flatMap(([name, groupState, type]) => {
    const one = group(state, name);
    return one === null || state.deleted?.has(name) ? [] : [{ name, state: groupState, group_type: type, protocol_type: "consumer", coordinator: 2, topics: [...new Set(one.partitions.map((row) => row.topic))], lag: one.lag, beyond_end: one.partitions.filter((row) => row.commit === "beyond-end").length, before_start: 0, consumed_per_s: groupState === "Stable" ? wave(seconds(), 80, 120) : 0 }];
  });
  return { at_ms: Date.now(), groups: rows };
}

function topicLive(state, topic, isBare) {
  const partitions = topic.partitions.map((one, partition) => ({ partition, leader: one.leader, leader_epoch: 4, replicas: one.replicas, in_sync: inSync(one), offline: one.leader === null ? one.replicas : [], first: one.leader === null ? null : 0, end: one.leader === null ? null : end(topic, one), size_bytes: isBare ? null : PARTITION_BYTES, records_in_per_s: isBare || one.leader === null ? null : rateOf(topic) / topic.partitions.length }));
  const readers = GROUPS.map(([name]) => group(state, name)).filter((one) => one?.partitions[0]?.topic === topic.name);
  return { at_ms: Date.now(), partitions, records_in_per_s: isBare ? null : rateOf(topic), groups: readers.map((one) => ({ name: one.group.name, state: one.group.state, lag: one.lag, partitions: one.partitions })) };
}

function configs(keys, own, source) {
  return keys.map(([name, value, documentation, isReadOnly = false, isSensitive = false]) => ({ name, value: isSensitive ? null : own[name] ?? value, source: own[name] !== undefined ? source : isReadOnly ? "static-broker" : "default", is_read_only: isReadOnly, is_sensitive: isSensitive, default: value, documentation }));
}

const detail = (state, topic, isBare) => ({ name: topic.name, id: "80b8aa32-2dd3-4448-90f9-5ee70866ec74", is_internal: topic.isInternal, configs: configs(TOPIC_KEYS, topic.configs, "dynamic-topic"), min_in_sync: Number(topic.configs["min.insync.replicas"] ?? 1), live: topicLive(state, topic, isBare), problems: [] });

function broker(state, id, isBare) {
  const row = brokers(state, isBare)[id - 1];
  if (row === undefined) return null;
  const partitions = all(state).filter(({ one }) => one.replicas.includes(id)).map(({ topic, one, partition }) => ({ topic: topic.name, partition, is_leader: one.leader === id, is_preferred: one.replicas[0] === id, is_in_sync: !one.behind.includes(id), size_bytes: isBare ? null : PARTITION_BYTES }));
  const own = { ...state.defaults, ...(state.brokerConfigs[id] ?? {}) };
  const dir = { broker: id, path: "/var/lib/kafka/data", error: null, total_bytes: row.total_bytes, usable_bytes: row.usable_bytes, partitions: partitions.map((one) => ({ topic: one.topic, partition: one.partition, size_bytes: PARTITION_BYTES, lag: one.is_in_sync ? 0 : 812, is_future: false })) };
  const broken = { ...dir, path: "/mnt/second", total_bytes: null, usable_bytes: null, partitions: [], error: { code: 56, name: "KafkaStorageError", message: "The directory is offline" } };
  return { broker: row, configs: isBare ? null : configs(BROKER_KEYS, own, "dynamic-broker"), log_dirs: isBare ? [] : id === 3 ? [dir, broken] : [dir], partitions, problems: isBare ? ["Log directories: not authorised (Describe on the cluster)."] : [] };
}

function metrics() {
  const rate = (per_s) => ({ per_s, total: 1e6 + per_s * seconds() });
  const brokers = [1, 2, 3].map((id) => {
    const at = `127.199.0.${id}:8778`;
    if (id === 3) return { at, error: `${at}: connection refused; start the agent`, metrics: null };
    const kind = (base) => ({ rate: rate(wave(seconds(), base, base * 2, id)), mean_ms: { Total: wave(seconds(), 0.4, 2.6, base), Local: 0.3 } });
    return { at, error: null, metrics: { seconds: 2, restarted: false, messages_in: rate(wave(seconds(), 200, 400, id)), bytes_in: rate(wave(seconds(), 2e5, 4e5, id)), bytes_out: rate(wave(seconds(), 3e5, 7e5)), bytes_rejected: rate(0), replication_bytes_in: rate(wave(seconds(), 1e5, 4e5)), replication_bytes_out: rate(3e5), failed_produce_requests: rate(0), requests: { produce: kind(30), "fetch-consumer": kind(60), "fetch-follower": kind(90) }, under_replicated_partitions: 1, isr_shrinks: rate(0.01), isr_expands: rate(0), log_flushes: rate(wave(seconds(), 1, 3)), log_flush_mean_ms: wave(seconds(), 2, 9), heap_bytes: wave(seconds(), 3e8, 6e8), gc_pauses: rate(0.5), gc_ms: rate(wave(seconds(), 1, 14)), topics: {}, missing: ["bytes-rejected"] } };
  });
  return { at_ms: Date.now(), brokers, problem: null };
}

function moves(state) {
  advance(state);
  const reassignments = [...state.moves.values()].map(({ topic, partition, one, to, copied, total }) => ({ topic: topic.name, partition, replicas: one.replicas, adding: to.filter((id) => !one.replicas.includes(id)), removing: one.replicas.filter((id) => !to.includes(id)), copied_bytes: Math.round(copied), total_bytes: total }));
  const throttles = state.throttle === null ? { brokers: {}, topics: {} } : { brokers: { 1: state.throttle, 2: state.throttle, 3: state.throttle }, topics: Object.fromEntries([...state.moves.values()].map(({ topic }) => [topic.name, { leader_replicas: ["0:1"], follower_replicas: ["0:2"] }])) };
  return { at_ms: Date.now(), reassignments, throttles };
}

function plan(state, body) {
  const named = new Map((body.by_hand ?? []).map((one) => [`${one.topic} ${one.partition}`, one.replicas]));
  const free = [1, 2, 3].filter((id) => !(body.drain ?? []).includes(id));
  const wanted = body.replicas ?? null;
  if (wanted !== null && wanted > free.length) return [422, { message: `orders-0 is to have ${wanted} replicas and there are ${free.length} brokers to put them on: use more brokers or fewer replicas` }];
  const share = () => ({ 1: { replicas: 0, leaders: 0 }, 2: { replicas: 0, leaders: 0 }, 3: { replicas: 0, leaders: 0 } });
  const [before, after] = [share(), share()];
  const reassignments = [];
  for (const { topic, one, partition } of all(state)) {
    if (named.size === 0 && (body.topics == null ? topic.isInternal : !body.topics.includes(topic.name))) continue;
    const kept = one.replicas.filter((id) => free.includes(id)).slice(0, wanted ?? 3);
    const to = named.size > 0 ? (named.get(`${topic.name} ${partition}`) ?? one.replicas) : [...kept, ...free.filter((id) => !kept.includes(id))].slice(0, Math.min(free.length, wanted ?? one.replicas.length));
    for (const [side, list] of [[before, one.replicas], [after, to]]) list.forEach((id, place) => side[id] !== undefined && ((side[id].replicas += 1), (side[id].leaders += place === 0 ? 1 : 0)));
    if (to.join() !== one.replicas.join()) reassignments.push({ topic: topic.name, partition, from: one.replicas, to });
  }
  const copies = reassignments.map((move) => move.to.filter((id) => !move.from.includes(id)).length);
  return [200, { plan: { reassignments, replicas_to_copy: copies.reduce((a, b) => a + b, 0), before, after }, copy_bytes: copies.map((copies) => copies * PARTITION_BYTES), total_bytes: copies.reduce((a, b) => a + b, 0) * PARTITION_BYTES }];
}

function job(state, id) {
  const one = state.jobs.get(id);
  if (one === undefined) return null;
  const done = Math.min(one.partitions, Math.floor((Date.now() - one.begun) / 1200));
  const results = Array.from({ length: done }, (_, partition) => {
    const isOdd = partition === 1;
    const batch = { offset: 4096, next_offset: 4160, leader_epoch: 4, crc: 0x1bad_cafe, size_bytes: 4242, records: 64, is_marker: false };
    return { topic: one.topic, partition, result: isOdd ? "different" : "identical", replicas: [1, 2, 3].map((broker) => ({ broker, is_leader: broker === 1, first: 0, end: 8000, corrupt: isOdd && broker === 2 ? 1 : 0 })), from: 0, to: 8000, batches: 130, records: 8000, markers: 0, size_bytes: PARTITION_BYTES, differences: isOdd ? [{ offset: 4096, batches: { 1: batch, 2: { ...batch, crc: 0x00c0_ffee }, 3: null } }] : [], notes: [] };
  });
  return { id, topic: one.topic, state: one.isStopped ? "stopped" : done === one.partitions ? "done" : "running", partitions: one.partitions, done, compared_bytes: done * PARTITION_BYTES, total_bytes: one.partitions * PARTITION_BYTES, results, problem: null };
}

function records(topic, query) {
  const hex = (text) => ({ text, hex: Buffer.from(text).toString("hex"), size_bytes: Buffer.byteLength(text) });
  const wanted = Number(query.get("count") ?? 20);
  const rows = Array.from({ length: wanted }, (_, index) => ({ partition: index % topic.partitions.length, offset: 100_000 - index, timestamp_ms: Date.now() - index * 1000, key: index % 3 === 2 ? null : hex(`customer-${index}`), value: index % 5 === 4 ? { text: null, hex: "00ff10a0".repeat(16), size_bytes: 9000 } : hex(index === 1 ? HTML : `{"order": ${index}, "state": "paid"}`), headers: index % 4 === 0 ? [["trace", hex("b41c")], ["empty", null]] : [] }));
  return { records: rows, notes: [], problems: query.get("partition") === null ? [`Partition 1 of ${topic.name} has no leader.`] : [] };
}

function reset(state, name, body) {
  const one = group(state, name);
  if (one.group.members.length > 0) return [422, { message: `group ${name} has members: stop them first` }];
  const to = (row) => ({ earliest: 0, latest: row.end, time: Math.round(row.end / 2), offset: Math.min(row.end, body.to.offset ?? 0), shift: Math.max(0, Math.min(row.end, row.committed + (body.to.records ?? 0))) })[body.to.kind];
  const resets = one.partitions.filter((row) => (body.topics ?? []).length === 0 || body.topics.includes(row.topic)).map((row) => ({ topic: row.topic, partition: row.partition, from: row.committed, to: to(row) }));
  if (body.validate_only !== true) state.resets = { ...state.resets, [name]: Object.fromEntries(resets.map((row) => [row.partition, row.to])) };
  return [200, { resets, problems: [], applied: body.validate_only !== true }];
}

function changeConfigs(own, body) {
  const wrong = Object.entries(body.set ?? {}).find(([name, value]) => /\.(ms|bytes|threads|replicas)$/.test(name) && !/^-?\d+$/.test(value));
  if (wrong !== undefined) return [422, { message: `Invalid value ${wrong[1]} for configuration ${wrong[0]}: Not a number (InvalidConfig)` }];
  if (body.validate_only !== true) {
    Object.assign(own, body.set ?? {});
    for (const name of body.delete ?? []) delete own[name];
  }
  return [204];
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** The API below `kafka/clusters`: answers, and streams of events. */
export function kafkaMock({ many = 12 } = {}) {
  const begin = () => ({ prod: cluster(many), lab: cluster(many > 100 ? 12 : many), gone: null, new: cluster(0) });
  let states = begin();
  const entry = (name, over = {}) => ({ name, origin: "server", cluster: { bootstrap: [`${name}-1:9092`, `${name}-2:9092`] }, read_only: false, show_records: false, lag_limit: null, ...over });
  let clusters = many === 0 ? [] : [
    entry("gone", { cluster: { bootstrap: ["10.1.2.3:9093"], tls: { ca: "/etc/tare/ca.pem" }, sasl: { mechanism: "scram-sha-512", user: "ann", password_env: "KAFKA_PASSWORD" } } }),
    entry("lab", { origin: "test-bed", read_only: true }),
    entry("new", { origin: "command-line" }),
    entry("prod", { show_records: true, lag_limit: 10_000, cluster: { bootstrap: ["127.199.0.1:9092", "127.199.0.2:9092"], metrics: { jolokia: [1, 2, 3].map((id) => `127.199.0.${id}:8778`) } } }),
  ];

  const about = async (method, state, isBare, parts, query, body) => {
    const [what, name, action] = parts;
    const topic = what === "topics" && name !== undefined ? state.topics.get(name) : undefined;
    if (what === "overview") return [200, overview(state, isBare)];
    if (what === "topics" && name === undefined && method === "GET") return [200, topics(state, isBare)];
    if (what === "topics" && name === undefined) {
      if (state.topics.has(body.name)) return [200, { results: [{ name: body.name, error: { code: 36, name: "TopicAlreadyExists", message: `Topic '${body.name}' already exists.` } }] }];
      await wait(300);
      if (body.validate_only !== true) state.topics.set(body.name, { ...topicOf(6, body.assignment?.length ?? body.partitions ?? 3), name: body.name, configs: body.configs ?? {}, rate: 0 });
      return [201, { results: [{ name: body.name, error: null }] }];
    }
    if (what === "topics" && topic === undefined) return [404, { message: `there is no topic ${name}` }];
    if (what === "topics" && method === "DELETE") return await wait(200), state.topics.delete(name), [204];
    if (what === "topics" && action === "partitions") return topic.partitions.push(...topicOf(6, body.partitions).partitions.slice(topic.partitions.length)), [204];
    if (what === "topics" && action === "configs") return changeConfigs(topic.configs, body);
    if (what === "topics" && action === "records") return [200, records(topic, query)];
    if (what === "topics") return [200, detail(state, topic, isBare)];
    if (what === "brokers" && action === "configs") return changeConfigs((state.brokerConfigs[name] ??= {}), body);
    if (what === "brokers") return broker(state, Number(name), isBare) === null ? [404, { message: `there is no broker ${name}` }] : [200, broker(state, Number(name), isBare)];
    if (what === "configs") return method === "POST" ? changeConfigs(state.defaults, body) : [200, { configs: configs(Object.keys(state.defaults).map((key) => [key, null, null]), state.defaults, "dynamic-default-broker") }];
    if (what === "groups" && name === undefined) return [200, groups(state)];
    if (what === "groups" && (group(state, name) === null || state.deleted?.has(name))) return [404, { message: `there is no group ${name}` }];
    if (what === "groups" && method === "DELETE") return (state.deleted ??= new Set()).add(name), [204];
    if (what === "groups" && action === "reset") return reset(state, name, body);
    if (what === "groups") return [200, group(state, name)];
    if (what === "reassignments" && name === "plan") return plan(state, body);
    if (what === "reassignments" && name === "cancel") {
      const keys = [...state.moves.keys()].filter((key) => body.topics == null || (body.topics[key.split(" ")[0]] ?? []).includes(Number(key.split(" ")[1])));
      keys.forEach((key) => state.moves.delete(key));
      return [200, { results: keys.map((key) => ({ name: key.replace(" ", "-"), error: null })) }];
    }
    if (what === "reassignments" && name === "unthrottle") return (state.throttle = null), [200, { brokers: {}, topics: {} }];
    if (what === "reassignments" && method === "POST") {
      state.throttle = body.throttle_bytes_per_s ?? null;
      for (const move of body.reassignments) {
        const one = state.topics.get(move.topic).partitions[move.partition];
        state.moves.set(`${move.topic} ${move.partition}`, { topic: state.topics.get(move.topic), partition: move.partition, one, to: move.to, begun: Date.now(), copied: 0, total: PARTITION_BYTES });
      }
      return [201, moves(state)];
    }
    if (what === "reassignments") return [200, moves(state)];
    if (what === "elect") {
      for (const { topic, one, partition } of all(state)) {
        const asked = body.topics == null ? true : body.topics[topic.name] !== undefined && (body.topics[topic.name].length === 0 || body.topics[topic.name].includes(partition));
        if (asked && one.leader !== null && !one.behind.includes(one.replicas[0])) one.leader = one.replicas[0];
      }
      return [200, { results: [] }];
    }
    if (what === "verify" && method === "POST") return state.jobs.set(state.jobs.size + 1, { topic: body.topic, partitions: state.topics.get(body.topic).partitions.length, begun: Date.now() }), [201, job(state, state.jobs.size)];
    if (what === "verify" && method === "DELETE") return (state.jobs.get(Number(name)).isStopped = true), [204];
    if (what === "verify") return [200, job(state, Number(name))];
    return [404, { message: `there is no ${what}` }];
  };

  /** The answer at a path below the API. */
  const answer = async (method, path, query, body) => {
    const [name, ...parts] = path.split("/").slice(2).map(decodeURIComponent);
    if (name === undefined && method === "GET") return [200, { clusters, environment: ["KAFKA_PASSWORD", "JMX_PASSWORD"] }];
    if (name === "test") return body.cluster.bootstrap.some((one) => one.startsWith("10.")) ? [502, { message: "10.1.2.3:9093 does not answer: is the broker started, and the address right?" }] : [200, { id: "dGFyZS1rYWZrYS1jbHVzdA", brokers: body.cluster.bootstrap }];
    if (name === undefined) {
      const { name: own, ...rest } = body;
      states[own] ??= cluster(0);
      clusters = [...clusters.filter((one) => one.name !== own), entry(own, rest)].sort((a, b) => (a.name < b.name ? -1 : 1));
      return [201, clusters.find((one) => one.name === own)];
    }
    if (!clusters.some((one) => one.name === name)) return [404, { message: `there is no cluster ${name}` }];
    if (method === "DELETE" && parts.length === 0) return (clusters = clusters.filter((one) => one.name !== name)), [204];
    if (states[name] == null) return await wait(200), [502, { message: "10.1.2.3:9093 does not answer: is the broker started, and the address right?" }];
    return about(method, states[name], name === "lab", parts, query, body);
  };

  /** Events of a cluster, every two seconds. */
  const stream = (response, path, query) => {
    const name = decodeURIComponent(path.split("/")[2]);
    const state = states[name];
    const isBare = name === "lab";
    if (state == null) return response.writeHead(502, { "content-type": "application/json" }).end(JSON.stringify({ message: "no broker answers" }));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const send = (event, data) => data != null && response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const all = () => {
      send("overview", overview(state, isBare));
      if (query.has("topics")) send("topics", topics(state, isBare));
      if (query.has("topic") && state.topics.has(query.get("topic"))) send("topic", topicLive(state, state.topics.get(query.get("topic")), isBare));
      if (query.has("groups")) send("groups", groups(state));
      if (query.has("group")) send("group", group(state, query.get("group")));
      if (query.has("reassignments")) send("reassignments", moves(state));
      if (query.has("metrics") && name === "prod") send("metrics", metrics());
    };
    all();
    const timer = setInterval(all, Number(process.env.EVERY_MS ?? 2000));
    response.on("close", () => clearInterval(timer));
  };
  return { answer, stream, reset: () => void (states = begin()) };
}
