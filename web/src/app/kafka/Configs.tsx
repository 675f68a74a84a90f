// A configuration: values, where they come from, what they mean, and changing single keys.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MISSING, count } from "../../format";
import type { Config, ConfigSource, ConfigsRequest } from "../../kafka-api";
import { Table } from "../../section/Section";
import { post } from "../client";
import { Confirm, Do, useAction } from "../pieces";
import { searched } from "../words";
import { Tick } from "./parts";
import { plain } from "../rows";

const SOURCES: Record<ConfigSource, string> = {
  "dynamic-topic": "this topic",
  "dynamic-broker": "this broker, while it runs",
  "dynamic-default-broker": "all brokers, while they run",
  "static-broker": "the broker’s file",
  default: "Kafka",
  "dynamic-group": "this group",
  other: "something newer",
};

/** Keys drawn at first. */
const FIRST = 40;

function valueOf(config: Config): string {
  if (config.is_sensitive) return "secret";
  return config.value == null ? MISSING : config.value === "" ? "(empty)" : config.value;
}

/** Changes one key. */
function Edit({ config, isOwn, post: send, done, cancel }: { config: Config; isOwn: boolean; post: (request: ConfigsRequest) => Promise<void>; done: () => void; cancel: () => void }): JSX.Element {
  const [value, setValue] = useState(config.is_sensitive ? "" : (config.value ?? ""));
  const action = useAction();
  const reset = useAction();
  const yes = async () => {
    await send({ set: { [config.name]: value } });
    done();
  };
  const back = async () => {
    await send({ delete: [config.name] });
    done();
  };
  const isLong = value.length > 60;
  return (
    <Confirm title={config.name} yes="Set" onYes={yes} onNo={cancel} action={reset.problem === null ? action : { ...action, problem: reset.problem }} isBlocked={reset.isBusy || (!config.is_sensitive && value === config.value)} extra={isOwn && <Do action={reset} run={back}>Reset to the default</Do>}>
      {config.documentation != null && <p>{plain(config.documentation)}</p>}
      <p class="quiet">Now {valueOf(config)}, set by {SOURCES[config.source]}. Default: {config.is_sensitive ? "secret" : config.default ?? "not known"}.</p>
      <label class="tall">
        <span>New value</span>
        {isLong ? <textarea rows={3} value={value} spellcheck={false} onInput={(event) => setValue(event.currentTarget.value)} /> : <input type="text" value={value} spellcheck={false} autocomplete="off" onInput={(event) => setValue(event.currentTarget.value)} />}
      </label>
    </Confirm>
  );
}

/** Adds a key that has no value of its own yet. */
function Add({ send, done, cancel }: { send: (request: ConfigsRequest) => Promise<void>; done: () => void; cancel: () => void }): JSX.Element {
  const [form, change] = useState({ key: "", value: "" });
  const action = useAction();
  const yes = async () => {
    await send({ set: { [form.key.trim()]: form.value } });
    done();
  };
  return (
    <Confirm title="Set a key" yes="Set" onYes={yes} onNo={cancel} action={action} isBlocked={form.key.trim() === ""}>
      <label class="tall"><span>Key</span><input type="text" value={form.key} spellcheck={false} autocomplete="off" onInput={(event) => change({ ...form, key: event.currentTarget.value })} /></label>
      <label class="tall"><span>Value</span><input type="text" value={form.value} spellcheck={false} autocomplete="off" onInput={(event) => change({ ...form, value: event.currentTarget.value })} /></label>
    </Confirm>
  );
}

/** A configuration; `own` are the sources that are changed here, `path` is where changes go, `null` where nothing can be changed. */
export function Configs({ label, configs, own, path, reload, isPartial = false }: { label: string; configs: readonly Config[]; own: readonly ConfigSource[]; path: string | null; reload: () => void; isPartial?: boolean }): JSX.Element {
  const [text, setText] = useState("");
  const [isChanged, setChanged] = useState(false);
  const [isAll, showAll] = useState(false);
  const [editing, edit] = useState<Config | "new" | null>(null);
  const isOwn = (config: Config) => own.includes(config.source);
  const changed = configs.filter(isOwn).length;
  const found = searched(configs.filter((config) => !isChanged || isOwn(config)), text, (config) => `${config.name} ${config.value ?? ""} ${config.documentation ?? ""}`);
  const shown = isAll ? found : found.slice(0, FIRST);
  const send = async (request: ConfigsRequest) => {
    if (path !== null) await post(path, request);
  };
  const done = () => {
    edit(null);
    reload();
  };
  return (
    <>
      <search class="filters">
        <label>Text <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        {!isPartial && <Tick label={`only what is changed (${count(changed)})`} isOn={isChanged} change={setChanged} />}
        {path !== null && isPartial && <button type="button" class="plain" onClick={() => edit("new")}>Set a key …</button>}
      </search>
      {found.length === 0 ? <p class="none">{configs.length === 0 ? "No key is set." : "No key is like that."}</p> : (
        <Table label={label} class="configs">
          <thead><tr><th scope="col">key</th><th scope="col">value</th><th scope="col">default</th><th scope="col">set by</th>{path !== null && <td />}</tr></thead>
          <tbody>
            {shown.map((config) => (
              <tr key={config.name} class={isOwn(config) ? "changed" : undefined}>
                <th scope="row">{config.name}{config.documentation != null && <span class="range clamp" title={plain(config.documentation)}>{plain(config.documentation)}</span>}</th>
                <td class="words">{valueOf(config)}</td>
                <td class="words quiet">{config.is_sensitive ? "secret" : config.default ?? MISSING}</td>
                <td>{isOwn(config) ? <b>{SOURCES[config.source]}</b> : SOURCES[config.source]}</td>
                {path !== null && <td>{config.is_read_only ? <span class="quiet">file only</span> : <button type="button" onClick={() => edit(config)} aria-label={`Edit ${config.name}`}>Edit …</button>}</td>}
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {found.length > shown.length && <p class="found"><button type="button" class="plain" onClick={() => showAll(true)}>Show all {count(found.length)}</button></p>}
      {editing === "new" && <Add send={send} done={done} cancel={() => edit(null)} />}
      {editing !== null && editing !== "new" && <Edit config={editing} isOwn={isOwn(editing)} post={send} done={done} cancel={() => edit(null)} />}
    </>
  );
}
