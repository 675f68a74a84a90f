// The application of `tare serve`: the frame round all views.
import { effect } from "@preact/signals";
import { render, type JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ServerInfo } from "../api";
import { ThemeButton } from "../section/Head";
import "../style.css";
import "./app.css";
import { follow } from "../theme";
import { connection, get, remove, revision } from "./client";
import { Heading, Lazy, server, useAction } from "./pieces";
import { address, begin, routeOf, type Route } from "./router";
import { remember, remembered } from "./settings";
import { Loads } from "./view/Loads";
import { Runs } from "./view/Runs";

const VIEWS: readonly { href: string; title: string; views: readonly Route["view"][] }[] = [
  { href: "/", title: "Runs", views: ["runs", "run", "trial", "compare"] },
  { href: "/new", title: "New run", views: ["new"] },
  { href: "/loads", title: "Loads", views: ["loads", "load", "new-load", "compare-loads"] },
  { href: "/history", title: "History", views: ["history"] },
  { href: "/kafka", title: "Kafka", views: ["kafka"] },
  { href: "/machine", title: "Machine", views: ["machine"] },
];

function View({ route }: { route: Route }): JSX.Element {
  switch (route.view) {
    case "runs":
      return <Runs />;
    case "loads":
      return <Loads />;
    case "run":
      return <Lazy key={route.id} what="run" load={async () => (await import("./view/Run")).Run} props={{ id: route.id }} />;
    case "trial":
      return <Lazy key={`${route.id} ${route.trial}`} what="trial" load={async () => (await import("./view/Trial")).Trial} props={{ id: route.id, trial: route.trial }} />;
    case "new":
      return <Lazy key="new" what="form" load={async () => (await import("./view/New")).New} props={{}} />;
    case "compare":
      return <Lazy key={route.runs.join()} what="comparison" load={async () => (await import("./view/Compare")).CompareRuns} props={{ runs: route.runs }} />;
    case "compare-loads":
      return <Lazy key={route.loads.join()} what="comparison" load={async () => (await import("./view/Compare")).CompareLoads} props={{ loads: route.loads }} />;
    case "new-load":
      return <Lazy key="new-load" what="form" load={async () => (await import("./view/NewLoad")).NewLoad} props={{}} />;
    case "load":
      return <Lazy key={route.id} what="load" load={async () => (await import("./view/Load")).Load} props={{ id: route.id }} />;
    case "kafka":
      return <Lazy key="kafka" what="page" load={async () => (await import("./kafka/Kafka")).Kafka} props={{ parts: route.parts }} />;
    case "history":
      return <Lazy key="history" what="page" load={async () => (await import("./history/History")).History} props={{ page: route.page, query: route.query }} />;
    case "machine":
      return <Lazy key="machine" what="machine" load={async () => (await import("./view/Machine")).Machine} props={{}} />;
    case "audit":
      return <Lazy key="audit" what="audit log" load={async () => (await import("./view/Audit")).Audit} props={{}} />;
    case "unknown":
      return <><Heading title="Not found" name="Not found" /><p class="none">There is nothing at this address. <a href="/">All runs</a></p></>;
  }
}

function Banner(): JSX.Element | null {
  if (connection.value === "ok") return null;
  return (
    <p class="banner" role="alert">
      {connection.value === "gone"
        ? "The server does not answer. Runs go on without it; this page asks every two seconds. Is “tare serve” running?"
        : "This browser is not signed in, or no longer: open a new link. “kill -USR1” and the number of the server’s process print one."}
    </p>
  );
}

/** Ends the session of this browser. */
function SignOut(): JSX.Element {
  const action = useAction();
  const leave = async () => {
    await remove("session");
    // What was loaded is forgotten with the page.
    location.assign("/");
  };
  return <button type="button" class="theme" disabled={action.isBusy} title={action.problem ?? undefined} onClick={() => action.run(leave)}>Sign out</button>;
}

function Application(): JSX.Element {
  const route = routeOf(address.value.path, address.value.search);
  const main = useRef<HTMLElement>(null);
  const before = useRef(address.value);
  useEffect(() => {
    // After the first view: the heading of the new one is where reading goes on.
    if (before.current !== address.value) main.current?.focus({ preventScroll: true });
    before.current = address.value;
  }, [address.value]);
  const info = server.value;
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <a class="name" href="/">Tare</a>
        <nav aria-label="Views">
          <ul>
            {VIEWS.filter((view) => view.href !== "/new" || info?.read_only !== true).map((view) => (
              <li key={view.href}><a href={view.href} aria-current={view.views.includes(route.view) ? "page" : undefined}>{view.title}</a></li>
            ))}
          </ul>
        </nav>
        {info?.read_only === true && <span class="quiet">read-only</span>}
        {info?.caller.kind === "session" && <SignOut />}
        <ThemeButton begin={remembered()} remember={remember} />
      </header>
      <Banner />
      <main id="main" ref={main} tabIndex={-1}><View route={route} /></main>
      <footer class="bottom">
        <span>{info === null ? "Tare" : `Tare ${info.tare} · ${info.runs}`}</span>
        <span class="more">
          <a href="/audit">Audit log</a>
          <a href="/assets/licences.txt" target="_blank" rel="noreferrer">Licences</a>
        </span>
      </footer>
    </>
  );
}

follow(remembered());
begin();
effect(() => {
  revision.value;
  void get<ServerInfo>("server").then(
    (info) => {
      server.value = info;
    },
    () => undefined,
  );
});
const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  render(<Application />, root);
}
