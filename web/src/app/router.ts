// Where the reader is: addresses of the application's views, and moving between them without loading the page again.
import { signal } from "@preact/signals";

/** A view with what its address says. */
export type Route =
  | { view: "runs" }
  | { view: "new" }
  | { view: "run"; id: string }
  | { view: "trial"; id: string; trial: number }
  | { view: "compare"; runs: string[] }
  | { view: "loads" }
  | { view: "new-load" }
  | { view: "load"; id: string }
  | { view: "compare-loads"; loads: string[] }
  | { view: "machine" }
  | { view: "audit" }
  | { view: "kafka"; parts: string[] }
  | { view: "history"; page: string; query: URLSearchParams }
  | { view: "unknown" };

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** The view at an address; `unknown` for addresses that are none. */
export function routeOf(path: string, search = ""): Route {
  const parts = path.split("/").filter((part) => part !== "").map(decoded);
  if (parts.includes(null)) return { view: "unknown" };
  const [first, second, third, fourth, ...rest] = parts as string[];
  if (first === "kafka") return { view: "kafka", parts: parts.slice(1) as string[] };
  if (rest.length > 0) return { view: "unknown" };
  const query = new URLSearchParams(search);
  if (first === "history" && third === undefined) return { view: "history", page: second ?? "", query };
  if (first === undefined) return { view: "runs" };
  if (first === "runs" && second !== undefined && third === undefined) return { view: "run", id: second };
  if (first === "runs" && second !== undefined && third === "trials" && fourth !== undefined && /^\d{1,9}$/.test(fourth)) {
    return { view: "trial", id: second, trial: Number(fourth) };
  }
  if (first === "loads" && third === undefined) {
    if (second === undefined) return { view: "loads" };
    if (second === "new") return { view: "new-load" };
    return second === "compare" ? { view: "compare-loads", loads: query.getAll("load") } : { view: "load", id: second };
  }
  if (second !== undefined) return { view: "unknown" };
  if (first === "new") return { view: "new" };
  if (first === "compare") return { view: "compare", runs: query.getAll("run") };
  return first === "machine" || first === "audit" ? { view: first } : { view: "unknown" };
}

/** An address from parts that may hold any character. */
export function at(...parts: (string | number)[]): string {
  return `/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

/** An address with one name given several times. */
export function withEach(path: string, name: string, values: readonly string[]): string {
  return `${path}?${values.map((value) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
}

/** Path and query of where the reader is. */
export const address = signal({ path: "/", search: "" });

function read(): void {
  const { pathname: path, search } = location;
  // A change of the part behind "#" is within a view.
  if (path !== address.value.path || search !== address.value.search) address.value = { path, search };
}

/** Goes to a view. */
export function go(href: string): void {
  history.pushState(null, "", href);
  scrollTo(0, 0);
  read();
}

/** Writes the query of the present view into its address, so that the way back and a copied address lead to it as it is. */
export function keepQuery(path: string): void {
  history.replaceState(null, "", path);
}

function isOwn(link: HTMLAnchorElement): boolean {
  const elsewhere = link.origin !== location.origin || link.hasAttribute("download") || (link.target !== "" && link.target !== "_self");
  const hash = link.hash !== "" && link.pathname === location.pathname && link.search === location.search;
  return !elsewhere && !hash && !link.pathname.startsWith("/api/") && !link.pathname.startsWith("/assets/");
}

/** Begins to follow links and the browser's own buttons. */
export function begin(): void {
  read();
  addEventListener("popstate", read);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || !isOwn(link)) return;
    event.preventDefault();
    go(`${link.pathname}${link.search}${link.hash}`);
  });
}
