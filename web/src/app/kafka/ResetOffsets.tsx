// The dialog that resets the offsets of a group: first what would be committed, then doing it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { GroupLive, ResetLimit, ResetReply, ResetRequest } from "../../kafka-api";
import { Table } from "../../section/Section";
import { post } from "../client";
import { Confirm, Problem, useAction } from "../pieces";
import { plural } from "../words";
import { Field } from "./parts";
import { FIRST, changesOf, targetOf, type Change, type ResetForm } from "./reset-form";
import { apiOf } from "./route";

/** Why it is another offset than asked for. */
const LIMITS: { [limit in ResetLimit]: string } = { "no-later-record": "the end: no record at or after that time", start: "the first record", end: "the end" };

/** Partitions of a preview that are drawn. */
const DRAWN = 500;

function signed(value: number): string {
  return value > 0 ? `+${count(value)}` : value < 0 ? `\u2212${count(-value)}` : "0";
}

function Preview({ changes }: { changes: readonly Change[] }): JSX.Element {
  const again = changes.reduce((sum, one) => sum + Math.max(0, -(one.by ?? 0)), 0);
  const skipped = changes.reduce((sum, one) => sum + Math.max(0, one.by ?? 0), 0);
  return (
    <>
      <p role="status">
        {plural(changes.length, "partition")}: {again > 0 && `${count(again)} records would be read again`}{again > 0 && skipped > 0 && ", "}{skipped > 0 && <b class="warn">{count(skipped)} records would be skipped</b>}{again + skipped === 0 && "nothing would change for committed offsets"}.
      </p>
      <Table label="Offsets before and after" class="preview">
        <thead><tr><th scope="col">partition</th><th scope="col" class="n">committed</th><th scope="col" class="n">would be</th><th scope="col" class="n">change</th><th scope="col" class="n">lag then</th></tr></thead>
        <tbody>
          {changes.slice(0, DRAWN).map(({ reset, by, lag }) => (
            <tr key={`${reset.topic}-${reset.partition}`}><th scope="row">{reset.topic}-{reset.partition}</th><td class="n">{count(reset.from)}</td><td class="n">{count(reset.to)}{reset.limit != null && <span class="range">{LIMITS[reset.limit]}</span>}</td><td class="n">{by === null ? MISSING : signed(by)}</td><td class="n">{count(lag)}</td></tr>
          ))}
        </tbody>
      </Table>
      {changes.length > DRAWN && <p class="how">The first {count(DRAWN)} of {count(changes.length)}.</p>}
    </>
  );
}

/** The dialog. */
export function ResetOffsets({ cluster, group, done, cancel }: { cluster: string; group: GroupLive; done: () => void; cancel: () => void }): JSX.Element {
  const [form, change] = useState<ResetForm>(FIRST);
  const [preview, setPreview] = useState<{ request: ResetRequest; changes: Change[]; problems: readonly string[] } | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const action = useAction();
  const topics = [...new Set(group.partitions.map((one) => one.topic))].sort();
  const path = apiOf(cluster, "groups", group.group.name, "reset");
  const set = (next: Partial<ResetForm>) => {
    setPreview(null);
    change({ ...form, ...next });
  };
  const show = async () => {
    const to = targetOf(form);
    setWrong(typeof to === "string" ? to : null);
    if (typeof to === "string") return;
    const request: ResetRequest = { topics: form.topic === "" ? [] : [form.topic], to, validate_only: true };
    const reply = await post<ResetReply>(path, request);
    setPreview({ request, changes: changesOf(reply.resets, group.partitions), problems: reply.problems });
  };
  const apply = async () => {
    if (preview === null) return;
    await post<ResetReply>(path, { ...preview.request, validate_only: false });
    done();
  };
  return (
    <Confirm title={`Reset offsets of ${group.group.name}`} yes={preview === null ? "Show what would change" : "Reset"} onYes={preview === null ? show : apply} onNo={cancel} action={action} isWide isBlocked={preview !== null && (preview.changes.length === 0 || preview.problems.length > 0)}>
      <fieldset>
        <label>
          <span>Topic</span>
          <select value={form.topic} onChange={(event) => set({ topic: event.currentTarget.value })}>
            <option value="">all of the group</option>
            {topics.map((topic) => <option key={topic} value={topic}>{topic}</option>)}
          </select>
        </label>
        <label>
          <span>To</span>
          <select value={form.to} onChange={(event) => set({ to: event.currentTarget.value as ResetForm["to"] })}>
            <option value="earliest">the earliest record</option>
            <option value="latest">the end</option>
            <option value="time">a time</option>
            <option value="offset">an offset</option>
            <option value="shift">the committed offset, shifted</option>
          </select>
        </label>
        {form.to === "time" && <Field label="First record at or after" type="datetime-local" value={form.time} change={(time) => set({ time })} unit="of this browser’s zone" />}
        {form.to === "offset" && <Field label="Offset" type="number" value={form.offset} change={(offset) => set({ offset })} />}
        {form.to === "shift" && <Field label="By" type="number" value={form.shift} change={(shift) => set({ shift })} unit="records" />}
      </fieldset>
      <p class="how">An offset beyond an end of a partition becomes that end.</p>
      {wrong !== null && <Problem>{wrong}</Problem>}
      {preview?.problems.map((one) => <Problem key={one}>{`Nothing can be reset: ${one}`}</Problem>)}
      {preview !== null && (preview.changes.length === 0 && preview.problems.length === 0 ? <Problem>There is no partition to reset: the group has no committed offsets of it.</Problem> : <Preview changes={preview.changes} />)}
    </Confirm>
  );
}
