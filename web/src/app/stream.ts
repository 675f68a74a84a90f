// Events of a run or a load as they are written, in batches, again from where they ended when the server was away.
import { useEffect } from "preact/hooks";
import { API, probe } from "./client";

/** A batch is at most this old when it is shown. */
const BATCH_MS = 100;
const REOPEN_MS = 2000;

interface Listener<E> {
  /** The stream begins from the first event. */
  restart: () => void;
  take: (events: readonly E[]) => void;
  /** The server has nothing more to send. */
  end: () => void;
}

/** Listens to a stream until the function that it returns is called; data of an event with one of the names come as `{name: data}`. */
export function listen<E>(path: string, listener: Listener<E>, names: readonly string[] = []): () => void {
  let source: EventSource | null = null;
  let waiting: E[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    timer = undefined;
    const events = waiting;
    waiting = [];
    if (events.length > 0) listener.take(events);
  };
  const close = () => {
    source?.close();
    source = null;
    clearTimeout(timer);
    clearTimeout(reopening);
  };
  const open = () => {
    waiting = [];
    listener.restart();
    const opened = new EventSource(`${API}/${path}`);
    source = opened;
    const hear = (message: MessageEvent<string>) => {
      try {
        const data: unknown = JSON.parse(message.data);
        waiting.push((message.type === "message" ? data : { [message.type]: data }) as E);
      } catch {
        // A line that was being written when its process was killed.
        return;
      }
      timer ??= setTimeout(flush, BATCH_MS);
    };
    opened.onmessage = hear;
    for (const name of names) opened.addEventListener(name, hear);
    opened.addEventListener("ended", () => {
      flush();
      close();
      listener.end();
    });
    opened.onerror = () => {
      probe();
      // The browser connects again by itself unless the server answered with an error.
      if (opened.readyState === EventSource.CLOSED) reopening = setTimeout(open, REOPEN_MS);
    };
  };
  open();
  return close;
}

/** Listens while the view is there; `null`: to nothing. */
export function useStream<E>(path: string | null, listener: Listener<E>, names?: readonly string[]): void {
  useEffect(() => (path === null ? undefined : listen(path, listener, names)), [path]);
}
