// The newest records of a topic: asked for by a click, as text or in hexadecimal.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { RecordBytes, RecordPage } from "../../kafka-api";
import { Choice, Table } from "../../section/Section";
import { get } from "../client";
import { Do, Problem, mayChange, useAction } from "../pieces";
import { moment, sentence, size } from "../words";
import type { Cluster } from "./parts";
import { apiOf } from "./route";

type Form = "text" | "hex";

function Bytes({ of, form }: { of: RecordBytes | null | undefined; form: Form }): JSX.Element {
  if (of == null) return <span class="quiet">null</span>;
  if (of.size_bytes === 0) return <span class="quiet">empty</span>;
  const text = form === "text" ? of.text : null;
  const shown = of.hex.length / 2;
  return (
    <>
      <code>{text ?? of.hex.replaceAll(/(.{8})/g, "$1 ").trim()}</code>
      {form === "text" && text == null && <span class="range">not text: in hexadecimal</span>}
      {of.size_bytes > shown && <span class="range">the first {size(shown)} of {size(of.size_bytes)}</span>}
    </>
  );
}

function Rows({ page, form }: { page: RecordPage; form: Form }): JSX.Element {
  return (
    <>
      {page.problems.map((one) => <Problem key={one}>{one}</Problem>)}
      {page.notes.map((one) => <p key={one} class="how" role="status">{sentence(one)}</p>)}
      {page.records.length === 0 ? <p class="none">There are no records.</p> : (
        <Table label="Newest records" class="records">
          <thead><tr><th scope="col" class="n">partition</th><th scope="col" class="n">offset</th><th scope="col">time</th><th scope="col">key</th><th scope="col">value</th><th scope="col">headers</th></tr></thead>
          <tbody>
            {page.records.map((one) => (
              <tr key={`${one.partition} ${one.offset}`}>
                <td class="n">{one.partition}</td><td class="n">{count(one.offset)}{one.transaction != null && one.transaction !== "committed" && <span class="range"><b class="warn">{one.transaction === "aborted" ? "aborted" : "not committed yet"}</b></span>}</td><td>{moment(one.timestamp_ms)}</td>
                <td class="words"><Bytes of={one.key} form={form} /></td><td class="words"><Bytes of={one.value} form={form} /></td>
                <td class="words">{one.headers.length === 0 ? MISSING : one.headers.map(([name, value], index) => <span key={index} class="value">{name}: <Bytes of={value} form={form} /></span>)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {page.records.some((one) => one.transaction === "aborted") && <p class="how">Aborted: consumers with isolation.level=read_committed do not see these records.</p>}
    </>
  );
}

/** The records, or how to switch them on. */
export function Records({ cluster, topic, partitions }: { cluster: Cluster; topic: string; partitions: number }): JSX.Element {
  const [page, setPage] = useState<RecordPage | null>(null);
  const [wanted, want] = useState({ partition: "", count: "20" });
  const [form, setForm] = useState<Form>("text");
  const action = useAction();
  if (!cluster.entry.show_records) {
    return (
      <p class="none">
        Records of this cluster are not shown.{" "}
        {cluster.entry.origin === "server" ? <>Whoever may change this server can switch them on: <a href="/kafka">settings of the cluster</a>, “records can be shown”.</> : "Add the cluster to this server, under a name of its own, with “records can be shown”."}
        {!mayChange() && " This server is read-only."}
      </p>
    );
  }
  const show = async () => {
    const partition = wanted.partition === "" ? "" : `&partition=${wanted.partition}`;
    setPage(await get<RecordPage>(`${apiOf(cluster.name, "topics", topic, "records")}?count=${wanted.count}${partition}`));
  };
  return (
    <>
      <div class="filters">
        <label>Partition <select value={wanted.partition} onChange={(event) => want({ ...wanted, partition: event.currentTarget.value })}><option value="">all</option>{Array.from({ length: partitions }, (_, number) => <option key={number} value={number}>{number}</option>)}</select></label>
        <label>Records <select value={wanted.count} onChange={(event) => want({ ...wanted, count: event.currentTarget.value })}>{["10", "20", "50", "100"].map((one) => <option key={one}>{one}</option>)}</select></label>
        <Do action={action} run={show}>{action.isBusy ? "Reading …" : page === null ? "Show the newest records" : "Read again"}</Do>
        {page !== null && <Choice legend="As" name="record-form" options={[{ value: "text", label: "text" }, { value: "hex", label: "hexadecimal" }]} value={form} choose={setForm} />}
      </div>
      {action.problem !== null && <Problem>{action.problem}</Problem>}
      {page !== null && <Rows page={page} form={form} />}
    </>
  );
}
