// The form of a load: what was written into it, as what the server is asked for.
import type { KafkaLoadMode, LoadRequest } from "../api";

/** What stands in the form's fields, as text. */
export interface LoadForm {
  url: string;
  pace: "rate" | "clients" | "maximum";
  rate: string;
  clients: string;
  stop: "duration" | "count" | "stopped";
  seconds: string;
  requests: string;
  connections: string;
  warmup: string;
  timeout: string;
  http2: boolean;
  method: string;
  headers: string;
  body: string;
  bodyBytes: string;
  cacert: string;
  cert: string;
  key: string;
  insecure: boolean;
  labels: string;
  /** Of a load on a topic: what is measured, the cluster whose settings are used, acknowledgements, and the consumer group. */
  mode: KafkaLoadMode;
  cluster: string;
  acks: string;
  group: string;
}

/** The form at first. */
export const FIRST: LoadForm = {
  url: "", pace: "rate", rate: "100", clients: "8", stop: "duration", seconds: "10", requests: "1000", connections: "", warmup: "", timeout: "", http2: false, method: "GET",
  headers: "", body: "", bodyBytes: "", cacert: "", cert: "", key: "", insecure: false, labels: "", mode: "produce", cluster: "", acks: "", group: "",
};

/** Fields of the form that an address of it may give: where the load goes. */
export function given(search: string): Partial<LoadForm> {
  const query = new URLSearchParams(search);
  return Object.fromEntries((["url", "cluster"] as const).flatMap((name) => (query.get(name) === null ? [] : [[name, query.get(name)]])));
}

/** Whether a URL names a topic of a Kafka cluster. */
export function isKafka(url: string): boolean {
  return /^kafka(\+tls)?:/i.test(url.trim());
}

/** What is wrong with a field. */
export interface Wrong {
  field: keyof LoadForm;
  message: string;
}

function number(form: LoadForm, field: keyof LoadForm, name: string, isWhole: boolean, wrong: Wrong[]): number | null {
  const text = String(form[field]).trim();
  if (text === "") return null;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0 && (!isWhole || Number.isInteger(value))) return value;
  wrong.push({ field, message: `${name}: ${isWhole ? "a whole number" : "a number"}, not “${text}”` });
  return null;
}

function needed(value: number | null, field: keyof LoadForm, name: string, wrong: Wrong[]): number {
  if (value !== null && value > 0) return value;
  if (!wrong.some((one) => one.field === field)) wrong.push({ field, message: `${name}: a number above 0` });
  return 0;
}

/** The request, or what is wrong with the form. The server checks everything again. */
export function requestOf(form: LoadForm): LoadRequest | Wrong[] {
  const wrong: Wrong[] = [];
  const url = form.url.trim();
  const isTopic = isKafka(url);
  if (isTopic && !/^kafka(\+tls)?:\/\/[^/]+\/[A-Za-z0-9._-]+$/i.test(url)) wrong.push({ field: "url", message: "URL: kafka://host:port,host:port/topic, over TLS kafka+tls://" });
  if (!isTopic && !/^https?:\/\/[^/]/i.test(url)) wrong.push({ field: "url", message: "URL: http://host:port/path, https://host:port/path or kafka://host:port/topic" });
  const text = (value: string) => (value.trim() === "" ? null : value.trim());
  const pace = (): LoadRequest["pace"] => {
    if (form.pace === "rate") return { kind: "rate", per_s: needed(number(form, "rate", "Rate", false, wrong), "rate", "Rate", wrong) };
    if (form.pace === "clients") return { kind: "clients", clients: needed(number(form, "clients", "Clients", true, wrong), "clients", "Clients", wrong) };
    return { kind: "maximum" };
  };
  const stop = (): LoadRequest["stop"] => {
    if (form.stop === "duration") return { kind: "duration", seconds: needed(number(form, "seconds", "Duration", false, wrong), "seconds", "Duration", wrong) };
    if (form.stop === "count") return { kind: "count", requests: needed(number(form, "requests", "Requests", true, wrong), "requests", "Requests", wrong) };
    return { kind: "stopped" };
  };
  const headers = isTopic ? [] : form.headers.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  for (const header of headers) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(header)) wrong.push({ field: "headers", message: `Headers: “Name: value” on each line, not “${header}”` });
  }
  if (form.body !== "" && form.bodyBytes.trim() !== "") wrong.push({ field: "bodyBytes", message: "Body: a text or a size, not both" });
  if ((text(form.cert) === null) !== (text(form.key) === null)) wrong.push({ field: "cert", message: "Client certificate: the certificate and its key, or neither" });
  const request: LoadRequest = {
    url,
    pace: pace(),
    stop: stop(),
    connections: number(form, "connections", "Connections", true, wrong),
    warmup_s: number(form, "warmup", "Warm-up", false, wrong),
    timeout_s: number(form, "timeout", "Timeout", false, wrong),
    http2: form.http2 && !isTopic,
    method: isTopic ? null : text(form.method),
    headers,
    body: form.body === "" ? null : form.body,
    body_bytes: number(form, "bodyBytes", "Size of the body", true, wrong),
    cacert: text(form.cacert),
    cert: text(form.cert),
    key: text(form.key),
    insecure: form.insecure,
    labels: text(form.labels),
    ...(isTopic && {
      kafka: {
        mode: form.mode,
        cluster: text(form.cluster),
        acks: form.mode === "consume" ? null : text(form.acks),
        group: form.mode === "produce" ? null : text(form.group),
      },
    }),
  };
  return wrong.length > 0 ? wrong : request;
}
