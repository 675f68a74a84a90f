// The Kafka pages: which one, and the frame round those of a cluster.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ClusterEntry, ClusterEvent, ClusterList, ClusterOverview } from "../../kafka-api";
import { Heading, Lazy, Problem, adopt, mayChange } from "../pieces";
import { useResource } from "../resource";
import { useStream } from "../stream";
import { Strip } from "./Strip";
import style from "./kafka.css?inline";
import { History, take, unknownCluster, type LiveCluster } from "./live";
import { later, type Cluster } from "./parts";
import { apiOf, eventsOf, pageAt, pageOf, type Page } from "./route";

adopt(style);

type ClusterPage = Exclude<Page, { page: "clusters" }>;

const EVENTS = ["overview", "topics", "topic", "groups", "group", "reassignments", "metrics", "problem"];

/** What the stream of a cluster tells, for the page that is shown. */
function useLive(page: ClusterPage): LiveCluster {
  const events = eventsOf(page);
  const building = useRef(unknownCluster());
  const about = useRef(events);
  const [, show] = useState(0);
  if (about.current !== events) {
    about.current = events;
    const { overview, problem, rates, brokers } = building.current;
    building.current = { ...unknownCluster(), overview, problem, rates, brokers, lags: new History() };
  }
  useStream<ClusterEvent>(`${apiOf(page.cluster, "events")}${events}`, {
    restart: () => undefined,
    take: (batch) => {
      for (const event of batch) take(building.current, event);
      show((count) => count + 1);
    },
    end: () => undefined,
  }, EVENTS);
  return building.current;
}

function PageOf({ page, cluster }: { page: ClusterPage; cluster: Cluster }): JSX.Element {
  switch (page.page) {
    case "overview":
      return <Lazy key="overview" what="overview" load={async () => (await import("./Overview")).Overview} props={{ cluster }} />;
    case "topics":
      return <Lazy key="topics" what="list of topics" load={async () => (await import("./Topics")).Topics} props={{ cluster }} />;
    case "topic":
      return <Lazy key={`topic ${page.topic}`} what="topic" load={async () => (await import("./Topic")).Topic} props={{ cluster, name: page.topic }} />;
    case "groups":
      return <Lazy key="groups" what="list of groups" load={async () => (await import("./Groups")).Groups} props={{ cluster }} />;
    case "group":
      return <Lazy key={`group ${page.group}`} what="group" load={async () => (await import("./Group")).Group} props={{ cluster, name: page.group }} />;
    case "broker":
      return <Lazy key={`broker ${page.broker}`} what="broker" load={async () => (await import("./Broker")).Broker} props={{ cluster, id: page.broker }} />;
    case "reassign":
      return <Lazy key="reassign" what="assignments" load={async () => (await import("./Assignments")).Assignments} props={{ cluster }} />;
  }
}

const LINKS = [
  { title: "Overview", parts: [], pages: ["overview", "broker"] },
  { title: "Topics", parts: ["topics"], pages: ["topics", "topic"] },
  { title: "Groups", parts: ["groups"], pages: ["groups", "group"] },
  { title: "Assignments", parts: ["reassign"], pages: ["reassign"] },
] as const;

function Crumb({ page }: { page: ClusterPage }): JSX.Element {
  const last = page.page === "topic" ? page.topic : page.page === "group" ? page.group : page.page === "broker" ? `broker ${page.broker}` : null;
  return (
    <p class="crumb">
      <a href="/kafka">Kafka</a> / <a href={pageAt(page.cluster)}>{page.cluster}</a>
      {page.page === "topic" && <> / <a href={pageAt(page.cluster, "topics")}>topics</a></>}
      {page.page === "group" && <> / <a href={pageAt(page.cluster, "groups")}>groups</a></>}
      {last !== null && ` / ${last}`}
    </p>
  );
}

/** A page of a cluster that is known. */
function Frame({ page, entry }: { page: ClusterPage; entry: ClusterEntry }): JSX.Element {
  const live = useLive(page);
  const first = useResource<ClusterOverview>(apiOf(page.cluster, "overview"));
  const overview = later(live.overview, first.data);
  const mayEdit = mayChange() && !entry.read_only;
  const isLost = first.problem !== null && overview === null;
  return (
    <>
      <Crumb page={page} />
      <nav class="tabs" aria-label={`Cluster ${page.cluster}`}>
        <ul>
          {LINKS.map((link) => (
            <li key={link.title}><a href={pageAt(page.cluster, ...link.parts)} aria-current={(link.pages as readonly string[]).includes(page.page) ? "page" : undefined}>{link.title}</a></li>
          ))}
        </ul>
        {mayChange() && entry.read_only && <span class="quiet">read-only cluster</span>}
      </nav>
      {isLost ? (
        <>
          <Heading title={page.cluster} name={page.cluster} />
          <Problem again={first.reload}>{`Cluster ${page.cluster} cannot be read: ${first.problem ?? ""}`}</Problem>
          <p class="none">Bootstrap brokers: {entry.cluster.bootstrap.join(", ")}. This page asks again by itself. <a href="/kafka">Settings of the cluster</a></p>
        </>
      ) : (
        <>
          <Strip cluster={page.cluster} overview={overview} problem={live.problem} />
          <PageOf page={page} cluster={{ name: page.cluster, entry, mayEdit, live, overview }} />
        </>
      )}
    </>
  );
}

function InCluster({ page }: { page: ClusterPage }): JSX.Element {
  const clusters = useResource<ClusterList>("kafka/clusters");
  const entry = clusters.data?.clusters.find((one) => one.name === page.cluster);
  if (entry !== undefined) return <Frame page={page} entry={entry} />;
  if (clusters.problem !== null) return <Problem again={clusters.reload}>{clusters.problem}</Problem>;
  if (clusters.data === null) return <p class="none" role="status">Loading the cluster …</p>;
  return <><Heading title="Not found" name="Not found" /><p class="none">This server knows no cluster {page.cluster}: it was removed, or its test bed has ended. <a href="/kafka">All clusters</a></p></>;
}

/** The page at an address below `/kafka`. */
export function Kafka({ parts }: { parts: readonly string[] }): JSX.Element {
  const page = pageOf(parts);
  if (page === null) return <><Heading title="Not found" name="Not found" /><p class="none">There is nothing at this address. <a href="/kafka">All clusters</a></p></>;
  if (page.page === "clusters") return <Lazy key="clusters" what="list of clusters" load={async () => (await import("./Clusters")).Clusters} props={{}} />;
  return <InCluster key={page.cluster} page={page} />;
}
