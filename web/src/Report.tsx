// The report of a run: its head, its verdict and its sections; the same in the report file and in the application.
import { Fragment, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { View } from "./api";
import { layoutOf, type Layout } from "./layout";
import { Consumption } from "./section/Consumption";
import { Machine, Plan } from "./section/Evidence";
import { Faults } from "./section/Faults";
import { Factors } from "./section/Factors";
import { Figures } from "./section/Figures";
import { Head, Verdict } from "./section/Head";
import { Generator } from "./section/Generator";
import { Latency, OverTime } from "./section/Latency";
import { Overheads } from "./section/Overheads";
import { Source } from "./section/Picture";
import { Profiles } from "./section/Profiles";
import { TableSection, anchorOf, sectionsOf } from "./section/Tables";
import { Throughput, hasThroughput } from "./section/Throughput";
import { Waterfalls } from "./section/Waterfall";

/** A section of the page: its title, and what draws it if it has more than tables. */
interface Part {
  title: string;
  id?: string;
  draw?: (view: View, layout: Layout) => JSX.Element | null;
  /** Whether there is something to draw. */
  there?: (view: View) => boolean;
}

const FACTORS: Part = { title: "By factor", id: "factor", draw: (view) => <Factors view={view} />, there: (view) => (view.factors ?? []).length > 0 };

/** The sections in order. A section of tables that is not among them stands behind the others, before the trials. */
const PARTS: readonly Part[] = [
  { title: "Assertions" },
  { title: "Faults", draw: (view) => <Faults view={view} />, there: (view) => (view.faults ?? []).length > 0 },
  { title: "Latency", draw: (_, layout) => <Latency layout={layout} /> },
  { title: "Overhead", draw: (view, layout) => <Overheads view={view} layout={layout} /> },
  { title: "Waterfall", draw: (view) => <Waterfalls view={view} />, there: (view) => (view.waterfalls ?? []).length > 0 },
  { title: "Throughput", draw: (view) => <Throughput view={view} />, there: hasThroughput },
  { title: "Requests" },
  FACTORS,
  { title: "Figures", draw: (view) => <Figures view={view} /> },
  { title: "Over time", draw: (_, layout) => <OverTime layout={layout} /> },
  { title: "CPU and memory per part", id: "parts", draw: (view, layout) => <Consumption view={view} layout={layout} /> },
  { title: "Profiles", draw: (view) => <Profiles view={view} />, there: (view) => (view.flame_graphs ?? []).length > 0 },
  { title: "Network and host" },
  { title: "Target counters" },
  { title: "Load generator", id: "generator", draw: (view, layout) => <Generator view={view} layout={layout} /> },
];

const LAST: readonly Part[] = [
  { title: "Trials" },
  { title: "Machine and versions", id: "machine", draw: (view) => <Machine view={view} /> },
  { title: "Reproduce", id: "plan", draw: (view) => <Plan view={view} /> },
];

/** The sections of a view. */
function partsOf(view: View): Part[] {
  const tables = sectionsOf(view);
  const known = [...PARTS, ...LAST].map((part) => part.title);
  const others = tables.filter((title) => !known.includes(title)).map((title) => ({ title }));
  const all: Part[] = [...PARTS, ...others, ...LAST];
  const present = all.filter((part) => (part.draw === undefined ? tables.includes(part.title) : (part.there?.(view) ?? true)));
  // Where levels are compared, how they go with the factor is the answer.
  const first = (part: Part): boolean => view.compare === "levels" && part === FACTORS;
  return [...present.filter(first), ...present.filter((part) => !first(part))];
}

/** Verdict, contents and sections of a view. */
export function Body({ view }: { view: View }): JSX.Element {
  const layout = useMemo(() => layoutOf(view), [view]);
  const parts = useMemo(() => partsOf(view), [view]);
  const source = `${view.run.experiment} · run ${view.run.id} · Tare ${view.run.tare}`;
  return (
    <Source.Provider value={source}>
      <Verdict view={view} />
      <nav class="contents" aria-label="Contents">
        <ul>{parts.map(({ title, id }) => <li key={title}><a href={`#${id ?? anchorOf(title)}`}>{title}</a></li>)}</ul>
      </nav>
      {parts.map(({ title, draw }) => (
        <Fragment key={title}>{draw === undefined ? <TableSection view={view} section={title} /> : draw(view, layout)}</Fragment>
      ))}
    </Source.Provider>
  );
}

/** The report as a page of its own. */
export function Report({ view }: { view: View }): JSX.Element {
  return (
    <>
      <a class="skip" href="#verdict">Skip to the verdict</a>
      <Head view={view} />
      <main><Body view={view} /></main>
    </>
  );
}

/** What is known while a run is being measured: figures and overhead. */
export function Provisional({ view }: { view: View }): JSX.Element {
  const layout = useMemo(() => layoutOf(view), [view]);
  return (
    <>
      <Figures view={view} />
      <Overheads view={view} layout={layout} />
    </>
  );
}
