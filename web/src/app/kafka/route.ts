// Addresses of the Kafka pages, of what they ask the server for, and of the form of a load; topics that go from one page to another.
import { signal } from "@preact/signals";
import type { ClusterEntry } from "../../kafka-api";
import { at } from "../router";

/** A page of a cluster, or the list of clusters. */
export type Page =
  | { page: "clusters" }
  | { page: "overview" | "topics" | "groups" | "reassign"; cluster: string }
  | { page: "topic"; cluster: string; topic: string }
  | { page: "broker"; cluster: string; broker: number }
  | { page: "group"; cluster: string; group: string };

/** The page at an address, from its parts behind `/kafka`; `null` for addresses that are none. */
export function pageOf(parts: readonly string[]): Page | null {
  const [cluster, what, name, ...rest] = parts;
  if (rest.length > 0) return null;
  if (cluster === undefined) return { page: "clusters" };
  if (what === undefined) return { page: "overview", cluster };
  if (name === undefined) return what === "topics" || what === "groups" || what === "reassign" ? { page: what, cluster } : null;
  if (what === "topics") return { page: "topic", cluster, topic: name };
  if (what === "groups") return { page: "group", cluster, group: name };
  return what === "brokers" && /^\d{1,10}$/.test(name) ? { page: "broker", cluster, broker: Number(name) } : null;
}

/** The address of a page of a cluster. */
export function pageAt(cluster: string, ...parts: (string | number)[]): string {
  return at("kafka", cluster, ...parts);
}

/** A path below the API about a cluster. */
export function apiOf(cluster: string, ...parts: (string | number)[]): string {
  return `kafka/clusters${at(cluster, ...parts)}`;
}

/** The address by which a topic is deleted: as it was shown, not one that was made again with its name. */
export function deletionOf(cluster: string, topic: { name: string; id?: string | null }): string {
  const at = apiOf(cluster, "topics", topic.name);
  return topic.id == null ? at : `${at}?id=${encodeURIComponent(topic.id)}`;
}

/** What a page wants to hear of besides the overview. */
export function eventsOf(page: Page): string {
  switch (page.page) {
    case "topics":
      return "?topics=true";
    case "topic":
      return `?topic=${encodeURIComponent(page.topic)}`;
    case "groups":
      return "?groups=true";
    case "group":
      return `?group=${encodeURIComponent(page.group)}`;
    case "reassign":
      return "?reassignments=true";
    case "broker":
    case "overview":
      return "?metrics=true";
    default:
      return "";
  }
}

/** The topics of a cluster that are to be reassigned; none: not chosen yet. */
export const chosenTopics = signal<{ cluster: string; topics: readonly string[] }>({ cluster: "", topics: [] });

/** The URL of a topic as `tare load` takes it. */
export function urlOf({ cluster }: Pick<ClusterEntry, "cluster">, topic: string): string {
  return `kafka${cluster.tls == null ? "" : "+tls"}://${cluster.bootstrap.join(",")}/${topic}`;
}

/** The form of a load on a topic, with the settings of its cluster. */
export function loadAt({ entry }: { entry: Pick<ClusterEntry, "cluster" | "name"> }, topic: string): string {
  return `/loads/new?url=${encodeURIComponent(urlOf(entry, topic))}&cluster=${encodeURIComponent(entry.name)}`;
}
