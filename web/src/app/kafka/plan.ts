// Reassignments as text: the JSON of kafka-reassign-partitions, lists of brokers, throttles.
import type { ReplicaAssignment, PartitionReassignment } from "../../kafka-api";
import { plural } from "../words";

/** A broker list as somebody types it, `1, 2, 3`; or what is wrong with it. */
export function brokersOf(text: string): number[] | string {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "");
  const wrong = parts.find((part) => !/^\d{1,9}$/.test(part));
  if (wrong !== undefined) return `“${wrong}” is not the number of a broker`;
  const brokers = parts.map(Number);
  return new Set(brokers).size < brokers.length ? `“${text.trim()}” names a broker twice` : brokers;
}

/** What a file of kafka-reassign-partitions asks for. */
export interface Imported {
  partitions: ReplicaAssignment[];
  /** What of it is not followed. */
  notes: string[];
}

function partitionOf(item: unknown, index: number): ReplicaAssignment {
  const { topic, partition, replicas } = (item ?? {}) as Record<string, unknown>;
  const where = `partitions[${index}]`;
  if (typeof topic !== "string" || topic === "") throw new Error(`${where}: “topic” is not a name`);
  if (!Number.isSafeInteger(partition) || (partition as number) < 0) throw new Error(`${where}: “partition” is not a number of a partition`);
  if (!Array.isArray(replicas) || replicas.length === 0 || !replicas.every((id) => Number.isSafeInteger(id) && id >= 0)) throw new Error(`${where}: “replicas” is not a list of brokers`);
  if (new Set(replicas).size < replicas.length) throw new Error(`${where}: “replicas” names a broker twice`);
  return { topic, partition: partition as number, replicas: replicas as number[] };
}

/** Before the JSON that `--generate` proposes, and that of what is now, which `--execute` prints too. */
const PRINTED = ["Proposed partition reassignment configuration", "Current partition replica assignment"];

/** The JSON in what kafka-reassign-partitions prints: the line after its words. */
function printed(text: string): string {
  const mark = PRINTED.find((one) => text.includes(one));
  if (mark === undefined) return text;
  const rest = text.slice(text.indexOf(mark) + mark.length).trim();
  return rest.split("\n", 1)[0] ?? "";
}

/** Reads the JSON of kafka-reassign-partitions (`--reassignment-json-file`), or all that it has printed. Throws what is wrong. */
export function fromTool(text: string): Imported {
  let file: unknown;
  try {
    file = JSON.parse(printed(text));
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { version, partitions } = (file ?? {}) as Record<string, unknown>;
  if (version !== undefined && version !== 1) throw new Error(`“version” is ${JSON.stringify(version)}: only 1 is known`);
  if (!Array.isArray(partitions)) throw new Error("“partitions” is missing: the file is {\"version\": 1, \"partitions\": [{\"topic\", \"partition\", \"replicas\"}]}");
  const all = partitions.map(partitionOf);
  const seen = new Set<string>();
  for (const one of all) {
    const name = `${one.topic}-${one.partition}`;
    if (seen.has(name)) throw new Error(`${name} is there twice`);
    seen.add(name);
  }
  const dirs = partitions.filter((one: { log_dirs?: unknown }) => Array.isArray(one.log_dirs) && one.log_dirs.some((dir) => dir !== "any")).length;
  return { partitions: all, notes: dirs === 0 ? [] : [`Log directories of ${plural(dirs, "partition")} are not followed: brokers choose.`] };
}

/** Writes the JSON of kafka-reassign-partitions: the assignment after a plan, or the one before it to go back. */
export function toTool(reassignments: readonly PartitionReassignment[], side: "from" | "to"): string {
  const partitions = reassignments.map((one) => ({ topic: one.topic, partition: one.partition, replicas: one[side], log_dirs: one[side].map(() => "any") }));
  return `${JSON.stringify({ version: 1, partitions })}\n`;
}

/** A throttle in MB/s as bytes per second; `null` without one, or what is wrong with it. */
export function throttleOf(text: string): number | null | string {
  if (text.trim() === "") return null;
  const value = Number(text) * 1e6;
  return Number.isFinite(value) && value >= 1 ? Math.round(value) : `Throttle: a number above 0, not “${text}”`;
}

/** Partitions by topic, as requests name them. */
export function byTopic(partitions: readonly { topic: string; partition: number }[]): { [topic: string]: number[] } {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of partitions) {
    const list = topics.get(topic);
    if (list === undefined) topics.set(topic, [partition]);
    else list.push(partition);
  }
  return Object.fromEntries(topics);
}

/** Brokers that get a new replica. */
export function addingOf({ from, to }: PartitionReassignment): number[] {
  return to.filter((broker) => !from.includes(broker));
}

/** Seconds that copying takes at least at a throttle, for the broker that gets most; `null` where sizes are not known. */
export function leastSeconds(moves: readonly PartitionReassignment[], copyBytes: readonly (number | null)[], throttle: number): number | null {
  const bytes = new Map<number, number>();
  for (const [index, move] of moves.entries()) {
    const adding = addingOf(move);
    const all = copyBytes[index] ?? null;
    if (adding.length === 0) continue;
    if (all === null) return null;
    for (const broker of adding) bytes.set(broker, (bytes.get(broker) ?? 0) + all / adding.length);
  }
  return Math.max(0, ...bytes.values()) / throttle;
}
