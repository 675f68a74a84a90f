// Data of a view: loaded when the view appears, again when asked or when the server was found again.
import { useEffect, useState } from "preact/hooks";
import { Gone, Refused, get, getText, reason, revision } from "./client";

/** What is known of something on the server. */
export interface Resource<T> {
  data: T | null;
  /** Why there is none, or why it could not be loaded again. */
  problem: string | null;
  /** Whether it does not exist. */
  isMissing: boolean;
  reload: () => void;
}

interface Held<T> {
  path: string | null;
  data: T | null;
  problem: string | null;
  isMissing: boolean;
}

/** Lists as they were last, so that going back to one shows it at once. */
const lists = new Map<string, unknown>();
const LISTS: readonly string[] = ["runs", "loads", "library", "history", "kafka/clusters"];

/** What a function loads; again when the key changes, and nothing without one. */
export function useLoaded<T>(path: string | null, load: (stop: AbortSignal) => Promise<T>): Resource<T> {
  const [held, hold] = useState<Held<T>>(() => ({ path, data: (lists.get(path ?? "") as T | undefined) ?? null, problem: null, isMissing: false }));
  const [asked, ask] = useState(0);
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    load(stop.signal).then(
      (data) => {
        if (LISTS.includes(path)) lists.set(path, data);
        hold({ path, data, problem: null, isMissing: false });
      },
      (error: unknown) => {
        // Without a server the page says so once, and loads again by itself.
        if (stop.signal.aborted || error instanceof Gone || (error instanceof Refused && error.status === 401)) return;
        const isMissing = error instanceof Refused && error.status === 404;
        hold((before) => ({ path, data: before.path === path && !isMissing ? before.data : null, problem: reason(error), isMissing }));
      },
    );
    return () => stop.abort();
  }, [path, asked, revision.value]);
  const reload = () => ask((count) => count + 1);
  // What was loaded for another address is not shown for this one.
  return held.path === path ? { ...held, reload } : { data: null, problem: null, isMissing: false, reload };
}

/** JSON at a path below the API; `null` as path: nothing yet. */
export function useResource<T>(path: string | null): Resource<T> {
  return useLoaded(path, (stop) => get<T>(path ?? "", stop));
}

/** Text at a path below the API. */
export function useText(path: string | null): Resource<string> {
  return useLoaded(path, (stop) => getText(path ?? "", stop));
}

/** Does something again and again while the view is there. */
export function useInterval(action: () => void, ms: number | null): void {
  useEffect(() => {
    if (ms === null) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") action();
    }, ms);
    return () => clearInterval(timer);
  });
}
