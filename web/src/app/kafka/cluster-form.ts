// The form of a cluster: what was written into it, as what the server is asked for, and back.
import type { ClusterEntry, ClusterRequest, MetricsSourceDef } from "../../kafka-api";

/** What stands in the form's fields. */
export interface ClusterForm {
  name: string;
  bootstrap: string;
  security: "plaintext" | "tls" | "mtls";
  ca: string;
  cert: string;
  key: string;
  serverName: string;
  insecure: boolean;
  sasl: "" | "plain" | "scram-sha-256" | "scram-sha-512";
  user: string;
  /** Where the password is: a variable or a file. */
  passwordIn: "env" | "file";
  passwordEnv: string;
  passwordFile: string;
  metrics: "" | "jolokia" | "prometheus" | "jmx";
  metricsAddresses: string;
  metricsUser: string;
  metricsPasswordIn: "env" | "file";
  metricsPasswordEnv: string;
  metricsPasswordFile: string;
  readOnly: boolean;
  showRecords: boolean;
  lagLimit: string;
}

/** The form at first. */
export const FIRST: ClusterForm = {
  name: "", bootstrap: "", security: "plaintext", ca: "", cert: "", key: "", serverName: "", insecure: false, sasl: "", user: "", passwordIn: "env", passwordEnv: "",
  passwordFile: "", metrics: "", metricsAddresses: "", metricsUser: "", metricsPasswordIn: "env", metricsPasswordEnv: "", metricsPasswordFile: "",
  readOnly: false, showRecords: false, lagLimit: "",
};

/** The form of a cluster that exists. */
export function formOf(entry: ClusterEntry): ClusterForm {
  const { cluster } = entry;
  const { tls, sasl, metrics } = cluster;
  const way = (["jolokia", "prometheus", "jmx"] as const).find((one) => (metrics?.[one] ?? []).length > 0) ?? "";
  return {
    name: entry.name,
    bootstrap: cluster.bootstrap.join(", "),
    security: tls == null ? "plaintext" : tls.cert == null ? "tls" : "mtls",
    ca: tls?.ca ?? "",
    cert: tls?.cert ?? "",
    key: tls?.key ?? "",
    serverName: tls?.server_name ?? "",
    insecure: tls?.insecure ?? false,
    sasl: (sasl?.mechanism.toLowerCase() ?? "") as ClusterForm["sasl"],
    user: sasl?.user ?? "",
    passwordIn: sasl?.password_file == null ? "env" : "file",
    passwordEnv: sasl?.password_env ?? "",
    passwordFile: sasl?.password_file ?? "",
    metrics: way,
    metricsAddresses: way === "" ? "" : (metrics?.[way] ?? []).join(", "),
    metricsUser: metrics?.user ?? "",
    metricsPasswordIn: metrics?.password_file == null ? "env" : "file",
    metricsPasswordEnv: metrics?.password_env ?? "",
    metricsPasswordFile: metrics?.password_file ?? "",
    readOnly: entry.read_only ?? false,
    showRecords: entry.show_records ?? false,
    lagLimit: entry.lag_limit == null ? "" : String(entry.lag_limit),
  };
}

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}

function text(value: string): string | null {
  return value.trim() === "" ? null : value.trim();
}

/** Fields without a value are left out, as in the file of clusters. */
function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== false)) as T;
}

/** The request, or what is wrong with the form. The server checks everything again. */
export function requestOf(form: ClusterForm): ClusterRequest | string[] {
  const wrong: string[] = [];
  const name = form.name.trim();
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(name) || /^\.+$/.test(name)) wrong.push("Name: letters, digits, “.”, “_” and “-”");
  const bootstrap = listOf(form.bootstrap);
  if (bootstrap.length === 0) wrong.push("Bootstrap brokers: at least one HOST:PORT");
  for (const address of bootstrap) if (!/^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):\d{1,5}$/.test(address)) wrong.push(`Bootstrap brokers: HOST:PORT each, not “${address}”`);
  if (form.security === "mtls" && (text(form.cert) === null || text(form.key) === null)) wrong.push("Client certificate: the certificate and its key");
  const isMutual = form.security === "mtls";
  const tls = form.security === "plaintext" ? null : given({
    ca: text(form.ca), cert: isMutual ? text(form.cert) : null, key: isMutual ? text(form.key) : null, server_name: text(form.serverName), insecure: form.insecure,
  });
  const password = (where: "env" | "file", env: string, file: string, whose: string) => {
    const own = { password_env: where === "env" ? text(env) : null, password_file: where === "file" ? text(file) : null };
    if (own.password_env === null && own.password_file === null) wrong.push(`Password of ${whose}: name the ${where === "env" ? "environment variable" : "file"} that holds it`);
    return own;
  };
  if (form.sasl !== "" && text(form.user) === null) wrong.push("SASL: a user");
  const sasl = form.sasl === "" ? null : given({ mechanism: form.sasl, user: form.user.trim(), ...password(form.passwordIn, form.passwordEnv, form.passwordFile, "the SASL user") });
  let metrics: MetricsSourceDef | null = null;
  if (form.metrics !== "") {
    const addresses = listOf(form.metricsAddresses);
    if (addresses.length === 0) wrong.push("Metrics: an address for each broker");
    const user = text(form.metricsUser);
    metrics = given({ [form.metrics]: addresses, user, ...(user === null ? {} : password(form.metricsPasswordIn, form.metricsPasswordEnv, form.metricsPasswordFile, "the metrics user")) });
  }
  const limit = text(form.lagLimit);
  if (limit !== null && !(Number.isSafeInteger(Number(limit)) && Number(limit) >= 0)) wrong.push(`Lag limit: a whole number, not “${limit}”`);
  if (wrong.length > 0) return wrong;
  return {
    name,
    cluster: { bootstrap, ...given({ tls, sasl, metrics }) },
    read_only: form.readOnly,
    show_records: form.showRecords,
    lag_limit: limit === null ? null : Number(limit),
  };
}
