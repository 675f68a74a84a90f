// Requests to the server: what it answers, what it refuses, and whether it answers at all.
import { signal } from "@preact/signals";
import type { ErrorReply } from "../api";

/** Where the API is. */
export const API = "/api/v1";

/** Whether the server answers. */
export type Connection = "ok" | "gone" | "not-signed-in";

/** Whether the server answers now. */
export const connection = signal<Connection>("ok");

/** How often the server was found again; what was loaded before is loaded again. */
export const revision = signal(0);

const RETRY_MS = 2000;

/** The server refused a request, and says why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly error: ErrorReply,
  ) {
    super(error.message);
  }
}

/** The server did not answer. */
export class Gone extends Error {}

let retrying: ReturnType<typeof setTimeout> | undefined;

function lost(state: Connection): void {
  connection.value = state;
  retrying ??= setTimeout(() => {
    retrying = undefined;
    void get("server").then(
      () => {
        connection.value = "ok";
        revision.value += 1;
      },
      () => undefined,
    );
  }, RETRY_MS);
}

async function refusal(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => "");
  try {
    const error = JSON.parse(text) as ErrorReply;
    if (typeof error.message === "string") return new Refused(response.status, error);
  } catch {
    // Not of this server's making; said below.
  }
  return new Refused(response.status, { message: `the server answered with status ${response.status} and no reason` });
}

async function send(method: string, path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${API}/${path}`, { method, ...init });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    lost("gone");
    throw new Gone("the server does not answer");
  }
  if (response.status === 401) lost("not-signed-in");
  if (!response.ok) throw await refusal(response);
  return response;
}

async function body(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
}

/** What the server has at a path below the API. */
export async function get<T>(path: string, stop?: AbortSignal): Promise<T> {
  return (await body(await send("GET", path, { signal: stop }))) as T;
}

/** A file or a report as text. */
export async function getText(path: string, stop?: AbortSignal): Promise<string> {
  return (await send("GET", path, { signal: stop })).text();
}

/** Sends something; a file goes as it is, anything else as JSON. */
export async function post<T>(path: string, data?: unknown, stop?: AbortSignal): Promise<T> {
  const isTar = data instanceof File;
  const headers = { "content-type": isTar ? "application/x-tar" : "application/json" };
  return (await body(await send("POST", path, { headers, body: isTar ? data : JSON.stringify(data ?? {}), signal: stop }))) as T;
}

/** Deletes what is at a path. */
export async function remove(path: string): Promise<void> {
  await send("DELETE", path, { headers: { "content-type": "application/json" } });
}

/** Why something failed, as a sentence. */
export function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Asks whether the server is there, after a stream of events ended early. */
export function probe(): void {
  void get("server").catch(() => undefined);
}
