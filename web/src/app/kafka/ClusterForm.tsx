// The dialog that adds or edits a cluster.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ClusterEntry, ClusterTest } from "../../kafka-api";
import { Choice } from "../../section/Section";
import { post } from "../client";
import { Confirm, Do, Problem, server, useAction } from "../pieces";
import { FIRST, formOf, requestOf, type ClusterForm } from "./cluster-form";
import { Field, Tick } from "./parts";

interface Props {
  form: ClusterForm;
  change: (form: ClusterForm) => void;
}

type Text = { [K in keyof ClusterForm]: ClusterForm[K] extends boolean ? never : K }[keyof ClusterForm];

/** Where a password is: in a variable that this server may read, or in a file. */
function Password({ form, change, environment, whose }: Props & { environment: readonly string[]; whose: "sasl" | "metrics" }): JSX.Element {
  const names = whose === "sasl" ? (["passwordIn", "passwordEnv", "passwordFile"] as const) : (["metricsPasswordIn", "metricsPasswordEnv", "metricsPasswordFile"] as const);
  const [where, env, file] = names;
  return (
    <>
      <Choice legend="Password in" name={`${whose}-password`} options={[{ value: "env", label: "variable" }, { value: "file", label: "file" }]} value={form[where]} choose={(value) => change({ ...form, [where]: value })} />
      {form[where] === "file" ? <Field label="File on the server" value={form[file]} change={(value) => change({ ...form, [file]: value })} /> : (
        <label>
          <span>Environment variable</span>
          <select value={form[env]} onChange={(event) => change({ ...form, [env]: event.currentTarget.value })}>
            <option value="">–</option>
            {[...new Set([...environment, ...(form[env] === "" ? [] : [form[env]])])].map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
    </>
  );
}

function Fields({ form, change, environment, isNew }: Props & { environment: readonly string[]; isNew: boolean }): JSX.Element {
  const files = server.value?.files ?? [];
  const text = (field: Text, label: string, more: { hint?: string; isWide?: boolean; type?: "number" } = {}) => (
    <Field label={label} value={String(form[field])} change={(value) => change({ ...form, [field]: value })} {...more} />
  );
  return (
    <>
      {isNew && text("name", "Name", { hint: "prod" })}
      {text("bootstrap", "Bootstrap brokers, HOST:PORT", { isWide: true, hint: "kafka-1:9092, kafka-2:9092" })}
      <fieldset>
        <Choice legend="Connection" name="security" options={[{ value: "plaintext", label: "plaintext" }, { value: "tls", label: "TLS" }, { value: "mtls", label: "mTLS" }]} value={form.security} choose={(security) => change({ ...form, security })} />
        {form.security !== "plaintext" && (
          <>
            {text("ca", "CA certificates", { isWide: true, hint: "file on the server; default: the system’s" })}
            {form.security === "mtls" && text("cert", "Client certificate", { isWide: true, hint: "file on the server" })}
            {form.security === "mtls" && text("key", "Its key", { isWide: true, hint: "file on the server" })}
            {text("serverName", "Name in certificates", { hint: "default: host" })}
            <Tick label="accept any certificate (test beds)" isOn={form.insecure} change={(insecure) => change({ ...form, insecure })} />
          </>
        )}
      </fieldset>
      <fieldset>
        <label>
          <span>SASL</span>
          <select value={form.sasl} onChange={(event) => change({ ...form, sasl: event.currentTarget.value as ClusterForm["sasl"] })}>
            <option value="">none</option>
            <option value="scram-sha-512">SCRAM-SHA-512</option>
            <option value="scram-sha-256">SCRAM-SHA-256</option>
            <option value="plain">PLAIN</option>
          </select>
        </label>
        {form.sasl !== "" && <>{text("user", "User")}<Password form={form} change={change} environment={environment} whose="sasl" /></>}
      </fieldset>
      <fieldset>
        <label>
          <span>Metrics of brokers</span>
          <select value={form.metrics} onChange={(event) => change({ ...form, metrics: event.currentTarget.value as ClusterForm["metrics"] })}>
            <option value="">none</option>
            <option value="jolokia">Jolokia</option>
            <option value="prometheus">Prometheus exporter</option>
            <option value="jmx">JMX</option>
          </select>
        </label>
        {form.metrics !== "" && (
          <>
            {text("metricsAddresses", "One address for each broker, in the order of their numbers", { isWide: true, hint: "kafka-1:8778, kafka-2:8778" })}
            {text("metricsUser", "User", { hint: "none" })}
            {form.metricsUser.trim() !== "" && <Password form={form} change={change} environment={environment} whose="metrics" />}
          </>
        )}
      </fieldset>
      <p class="how">
        Passwords and keys stay on the server: name where they are.{" "}
        {files.length === 0 ? "It may read no files: start it with --files DIRECTORY." : `Files may lie in: ${files.join(", ")}.`}{" "}
        {environment.length === 0 ? "No variable may be named: start it with --env NAME." : `Variables: ${environment.join(", ")}.`}
      </p>
      <fieldset>
        <Tick label="read-only: nothing can be changed in it" isOn={form.readOnly} change={(readOnly) => change({ ...form, readOnly })} />
        <Tick label="records can be shown" isOn={form.showRecords} change={(showRecords) => change({ ...form, showRecords })} />
        {text("lagLimit", "A group is a problem from a lag of", { type: "number", hint: "never" })}
      </fieldset>
    </>
  );
}

/** The dialog; it closes when the server has taken the cluster. */
export function EditCluster({ entry, environment, done, cancel }: { entry: ClusterEntry | null; environment: readonly string[]; done: () => void; cancel: () => void }): JSX.Element {
  const [form, change] = useState<ClusterForm>(entry === null ? FIRST : formOf(entry));
  const [wrong, setWrong] = useState<readonly string[]>([]);
  const [tested, setTested] = useState<ClusterTest | null>(null);
  const action = useAction();
  const test = useAction();
  const request = () => {
    const made = requestOf(form);
    setWrong(Array.isArray(made) ? made : []);
    return Array.isArray(made) ? null : made;
  };
  const yes = async () => {
    const made = request();
    if (made === null) return;
    await post("kafka/clusters", made);
    done();
  };
  const tryIt = async () => {
    setTested(null);
    const made = request();
    if (made !== null) setTested(await post<ClusterTest>("kafka/clusters/test", made));
  };
  return (
    <Confirm title={entry === null ? "Add a cluster" : `Settings of ${entry.name}`} yes="Save" onYes={yes} onNo={cancel} action={action} isWide extra={<Do action={test} run={tryIt}>{test.isBusy ? "Testing …" : "Test"}</Do>}>
      <Fields form={form} change={change} environment={environment} isNew={entry === null} />
      {wrong.map((one) => <Problem key={one}>{one}</Problem>)}
      {test.problem !== null && <Problem>{test.problem}</Problem>}
      {tested !== null && <p role="status">● It answers: cluster {tested.id ?? "without an id"}, brokers {tested.brokers.join(", ")}</p>}
    </Confirm>
  );
}
