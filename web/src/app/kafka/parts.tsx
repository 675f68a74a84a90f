// What the Kafka pages are made of: a cluster, dialogs with a form, bars, charts of what is live.
import type { ComponentChildren, JSX } from "preact";
import { MISSING, count, present, scaleFor, significant, type Maybe } from "../../format";
import type { ClusterEntry, ClusterOverview, ElectRequest, ItemResults } from "../../kafka-api";
import { inks } from "../../palette";
import { Chart } from "../live/Chart";
import type { Lines } from "../live/state";
import { post } from "../client";
import { Confirm, useAction } from "../pieces";
import { size } from "../words";
import type { LiveCluster } from "./live";
import { apiOf } from "./route";

/** The cluster that a page is about. */
export interface Cluster {
  name: string;
  entry: ClusterEntry;
  /** Whether something can be changed in it from here. */
  mayEdit: boolean;
  live: LiveCluster;
  overview: ClusterOverview | null;
}

/** The one that was read later. */
export function later<T extends { at_ms: number }>(one: T | null | undefined, other: T | null | undefined): T | null {
  if (one == null || other == null) return one ?? other ?? null;
  return one.at_ms >= other.at_ms ? one : other;
}

/** A rate. */
export function perSecond(value: Maybe): string {
  return present(value) ? `${significant(value)}/s` : MISSING;
}

/** A rate of bytes. */
export function bytesPerSecond(value: Maybe): string {
  if (!present(value)) return MISSING;
  const scale = value < 999_500 ? { label: "kB/s", per: 1e3 } : value < 999_500_000 ? { label: "MB/s", per: 1e6 } : { label: "GB/s", per: 1e9 };
  return `${significant(value / scale.per)}\u202f${scale.label}`;
}

/** A size of another one; one dash where neither is known. */
export function sizeOf(part: Maybe, whole: Maybe): string {
  return present(part) || present(whole) ? `${size(part)} of ${size(whole)}` : MISSING;
}

/** Milliseconds since 1970 as time of day with seconds, in the reader's zone. */
export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** `retention.ms` and the like in the largest whole unit. */
export function duration(ms: Maybe): string {
  if (!present(ms)) return MISSING;
  if (ms < 0) return "for ever";
  const units: [string, number][] = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]];
  const unit = units.find(([, length]) => ms >= length && ms % length === 0);
  return unit === undefined ? `${count(ms)}\u202fms` : `${count(ms / unit[1])}\u202f${unit[0]}`;
}

/** Throws the errors of single items, if there are any. */
export function checked(reply: ItemResults): void {
  const wrong = reply.results.filter((one) => one.error != null);
  if (wrong.length === 0) return;
  const words = wrong.slice(0, 5).map((one) => `${one.name}: ${one.error?.message ?? one.error?.name ?? ""}`);
  throw new Error(`${count(wrong.length)} of ${count(reply.results.length)} failed: ${words.join("; ")}${wrong.length > words.length ? "; …" : ""}`);
}

/** A field for text or a number. */
export function Field({ label, value, change, unit, hint, type = "text", isWide = false, list }: {
  label: string; value: string; change: (value: string) => void; unit?: string; hint?: string; type?: "text" | "number" | "datetime-local"; isWide?: boolean; list?: string;
}): JSX.Element {
  return (
    <label class={isWide ? "wide tall" : undefined}>
      <span>{label}</span>
      <input type={type} value={value} placeholder={hint} spellcheck={false} autocomplete="off" list={list} step={type === "number" ? "any" : undefined} onInput={(event) => change(event.currentTarget.value)} />
      {unit}
    </label>
  );
}

/** A box to tick. */
export function Tick({ label, isOn, change }: { label: ComponentChildren; isOn: boolean; change: (isOn: boolean) => void }): JSX.Element {
  return <label><input type="checkbox" checked={isOn} onChange={(event) => change(event.currentTarget.checked)} /> {label}</label>;
}

/** The field that makes somebody type a name before it is deleted. */
export function TypeName({ name, value, change }: { name: string; value: string; change: (value: string) => void }): JSX.Element {
  return <label class="tall"><span>Type <b>{name}</b> to go on</span><input type="text" value={value} spellcheck={false} autocomplete="off" onInput={(event) => change(event.currentTarget.value)} /></label>;
}

/** A share of the largest as a bar beside its figure, which says the same. */
export function Bar({ value, most, children }: { value: Maybe; most: number; children: ComponentChildren }): JSX.Element {
  const share = present(value) && most > 0 ? Math.min(1, value / most) : 0;
  return <span class="share"><span class="share-of" aria-hidden="true"><span style={{ width: `${share * 100}%` }} /></span>{children}</span>;
}

/** Brokers of a partition; those that are not in sync are struck out and said to be. */
export function Replicas({ of, inSync }: { of: readonly number[]; inSync: readonly number[] }): JSX.Element {
  return (
    <>
      {of.map((id, index) => (
        <span key={id}>{index > 0 && ", "}{inSync.includes(id) ? id : <s title="not in sync">{id}<span class="unseen"> (not in sync)</span></s>}</span>
      ))}
    </>
  );
}

/** A chart of lines over the seconds since the page was opened; nothing is drawn without a value. */
export function LiveChart({ title, kind, lines, how, neutral }: { title: string; kind: "per-second" | "bytes" | "bytes-per-second" | "ms" | "ms per second" | "records"; lines: Lines; how: string; neutral?: string }): JSX.Element | null {
  if (lines.lines.length === 0) return null;
  const largest = lines.lines.reduce((most, line) => line.values.reduce<number>((high, value) => Math.max(high, value ?? 0), most), 0);
  const small = kind === "bytes-per-second" && largest < 1e5;
  const scale = small ? { label: "kB/s", per: 1e3 } : kind === "ms" || kind === "ms per second" || kind === "records" ? { label: kind, per: 1 } : kind === "per-second" ? { label: "per second", per: 1 } : scaleFor(kind, largest);
  return <Chart title={title} unit={scale.label} per={scale.per} lines={lines} inks={inks(lines.lines.map((line) => line.name), neutral)} how={how} />;
}

/** Asks, elects the preferred leaders of these partitions (`null`: of all), and waits for the answer. */
export function Elect({ cluster, topics, done, cancel, children }: { cluster: string; topics: ElectRequest["topics"]; done: () => void; cancel: () => void; children: ComponentChildren }): JSX.Element {
  const action = useAction();
  const yes = async () => {
    checked(await post<ItemResults>(apiOf(cluster, "elect"), { topics } satisfies ElectRequest));
    done();
  };
  return <Confirm title="Elect preferred leaders?" yes="Elect" no="Cancel" onYes={yes} onNo={cancel} action={action}>{children}</Confirm>;
}

/** The proposals that brought the newer types of groups. */
const TYPES: { [type: string]: string } = { consumer: "KIP-848", share: "KIP-932", streams: "KIP-1071" };

/** The type of a group. */
export function typeOf(type: string): string {
  const proposal = TYPES[type];
  return proposal === undefined ? type : `${type} (${proposal})`;
}
