// The form of a load on one URL.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { StartReply } from "../../api";
import { Choice } from "../../section/Section";
import { Starting } from "../Starting";
import { post } from "../client";
import { FIRST, given, isKafka, requestOf, type LoadForm, type Wrong } from "../load-form";
import { Heading, Problem, mayChange, server, useAction } from "../pieces";
import { at, go } from "../router";

type Text = { [K in keyof LoadForm]: LoadForm[K] extends boolean ? never : K }[keyof LoadForm];

function Field(props: { form: LoadForm; change: (form: LoadForm) => void; field: Text; label: string; unit?: string; wrong: readonly Wrong[]; type?: "text" | "number"; wide?: boolean; hint?: string }): JSX.Element {
  const { form, field, wrong } = props;
  const mine = wrong.filter((one) => one.field === field);
  return (
    <label class={props.wide === true ? "wide tall" : undefined}>
      <span>{props.label}</span>
      <input
        // "any", so that a rate may have a fraction.
        {...(props.type === "number" ? { type: "number" as const, step: "any", min: "0" } : { type: "text" as const })}
        value={String(form[field])} placeholder={props.hint} aria-invalid={mine.length > 0} spellcheck={false}
        onInput={(event) => props.change({ ...form, [field]: event.currentTarget.value })}
      />
      {props.unit}
    </label>
  );
}

function Box({ form, change, field, label, children }: { form: LoadForm; change: (form: LoadForm) => void; field: Text; label: string; children?: ComponentChildren }): JSX.Element {
  return (
    <label class="tall">
      <span>{label}{children}</span>
      <textarea rows={3} value={String(form[field])} spellcheck={false} onInput={(event) => change({ ...form, [field]: event.currentTarget.value })} />
    </label>
  );
}

/** The view that starts a load. */
export function NewLoad(): JSX.Element {
  const [form, change] = useState<LoadForm>({ ...FIRST, ...given(location.search) });
  const [wrong, setWrong] = useState<readonly Wrong[]>([]);
  const [start, setStart] = useState<StartReply | null>(null);
  const action = useAction();
  const same = { form, change, wrong };
  const submit = (event: Event) => {
    event.preventDefault();
    const request = requestOf(form);
    setWrong(Array.isArray(request) ? request : []);
    if (!Array.isArray(request)) action.run(async () => setStart(await post<StartReply>("loads", request)));
  };
  const isTopic = isKafka(form.url);
  const files = server.value?.files ?? [];
  if (!mayChange()) return <><Heading title="New load" name="New load" /><p class="none">This server is read-only: it starts nothing.</p></>;
  return (
    <>
      <p class="crumb"><a href="/loads">Loads</a> / new</p>
      <Heading title="New load" name="New load" />
      <form class="form" onSubmit={submit}>
        <Field {...same} field="url" label="URL" wide hint="http://127.0.0.1:8080/" />
        <fieldset>
          <Choice legend="Pace" name="pace" options={[{ value: "rate", label: "rate" }, { value: "clients", label: "clients" }, { value: "maximum", label: "maximum" }]} value={form.pace} choose={(pace) => change({ ...form, pace })} />
          {form.pace === "rate" && <Field {...same} field="rate" label="Rate" unit="per second" type="number" />}
          {form.pace === "clients" && <Field {...same} field="clients" label="Clients" type="number" />}
          <Field {...same} field="connections" label="Connections" type="number" hint="as needed" />
        </fieldset>
        <fieldset>
          <Choice legend="Until" name="stop" options={[{ value: "duration", label: "a time" }, { value: "count", label: "a number" }, { value: "stopped", label: "stopped" }]} value={form.stop} choose={(stop) => change({ ...form, stop })} />
          {form.stop === "duration" && <Field {...same} field="seconds" label="Duration" unit="s" type="number" />}
          {form.stop === "count" && <Field {...same} field="requests" label="Requests" type="number" />}
          <Field {...same} field="warmup" label="Warm-up" unit="s" type="number" hint="default" />
          <Field {...same} field="timeout" label="Timeout" unit="s" type="number" hint="default" />
        </fieldset>
        {isTopic && (
          <fieldset>
            <Choice legend="Measure" name="mode" options={[{ value: "produce", label: "producing" }, { value: "consume", label: "consuming" }, { value: "end-to-end", label: "end to end" }]} value={form.mode} choose={(mode) => change({ ...form, mode })} />
            {form.mode !== "consume" && <Field {...same} field="acks" label="Acknowledgements" hint="all" />}
            {form.mode !== "produce" && <Field {...same} field="group" label="Consumer group" hint="none" />}
          </fieldset>
        )}
        {!isTopic && (
          <>
            <fieldset>
              <legend>Request</legend>
              <Field {...same} field="method" label="Method" />
              <label><input type="checkbox" checked={form.http2} onChange={() => change({ ...form, http2: !form.http2 })} /> HTTP/2</label>
            </fieldset>
            <Box form={form} change={change} field="headers" label="Headers, one on each line: Name: value" />
          </>
        )}
        {form.mode === "consume" && isTopic ? null : <><Box form={form} change={change} field="body" label={isTopic ? "Value of each record" : "Body"} />
        <Field {...same} field="bodyBytes" label={isTopic ? "or a generated value of" : "or a generated body of"} unit="bytes" type="number" hint={isTopic ? "100" : undefined} /></>}
        {isTopic && form.mode !== "consume" && <p class="how">Records that are produced stay in the topic.</p>}
        {form.cluster !== "" && isTopic ? <p class="how">Brokers, TLS and login are those of the cluster {form.cluster}.</p> : <fieldset>
          <legend>TLS</legend>
          <Field {...same} field="cacert" label="CA certificates" wide hint="file on the server" />
          <Field {...same} field="cert" label="Client certificate" wide hint="file on the server" />
          <Field {...same} field="key" label="Its key" wide hint="file on the server" />
          <label><input type="checkbox" checked={form.insecure} onChange={() => change({ ...form, insecure: !form.insecure })} /> accept any server certificate</label>
        </fieldset>}
        <p class="how">{files.length === 0 ? "This server may read no files: start it with --files DIRECTORY to name TLS files here." : `Files may lie in: ${files.join(", ")}.`}</p>
        <Field {...same} field="labels" label="Labels" wide hint="to find it again" />
        {wrong.map((one) => <Problem key={one.message}>{one.message}</Problem>)}
        {action.problem !== null && <Problem>{action.problem}</Problem>}
        <div class="tools"><button type="submit" class="strong" disabled={action.isBusy}>Start</button></div>
      </form>
      {start !== null && <Starting key={start.id} start={start} ready={(id) => go(at("loads", id))} />}
    </>
  );
}
