// A run or a load that was started here: what its process writes until its folder exists.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { StartReply } from "../api";
import { get, post } from "./client";
import { Do, Problem, mayChange, useAction } from "./pieces";
import { commandLine, idOf } from "./start";

const POLL_MS = 700;

/** Watches a start; `ready` is called once, when its folder exists and it runs or has ended; `failed` when it ended without one. */
export function Starting({ start, ready, failed: gaveUp }: { start: StartReply; ready: (id: string) => void; failed?: () => void }): JSX.Element {
  const [now, setNow] = useState(start);
  const isReady = useRef(false);
  const stopping = useAction();
  const hasFolder = now.folder != null && now.state !== "preparing";
  useEffect(() => {
    if (hasFolder && now.folder != null && !isReady.current) {
      isReady.current = true;
      ready(idOf(now.folder));
    }
  }, [hasFolder]);
  useEffect(() => {
    if (hasFolder || now.state === "ended") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // Without an answer the page says that the server is gone; this asks again.
      get<StartReply>(`starts/${encodeURIComponent(start.id)}`, stop.signal).then(setNow, () => !stop.signal.aborted && setNow({ ...now }));
    }, POLL_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [now]);
  const failed = now.state === "ended" && now.folder == null;
  useEffect(() => {
    if (failed) gaveUp?.();
  }, [failed]);
  return (
    <section aria-labelledby="starting-title">
      <header class="bar">
        <h2 id="starting-title">{failed ? "It did not start" : now.state === "ended" ? "Ended" : "Starting"}</h2>
        {mayChange() && now.state !== "ended" && (
          <Do action={stopping} run={async () => { await post(`starts/${encodeURIComponent(start.id)}/stop`); }}>Stop</Do>
        )}
      </header>
      {stopping.problem !== null && <Problem>{stopping.problem}</Problem>}
      {failed && <Problem>The command ended{now.exit_code == null ? "" : ` with exit code ${now.exit_code}`} before it had a folder. Its last lines say why.</Problem>}
      <p class="lead" role="status">{now.state === "preparing" ? "Preparing: the first time, targets are fetched and built, which takes minutes." : ""}</p>
      <pre class="output" tabIndex={0} aria-label="Output of the command">{now.output.length === 0 ? "No output yet." : now.output.join("\n")}</pre>
      <p class="how">The same in a terminal: <code>{commandLine(now.command)}</code></p>
    </section>
  );
}
