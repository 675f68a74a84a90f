// Draws the report of the run whose view this file carries.
import { render, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { readView } from "./data";
import { layoutOf } from "./layout";
import { Assertions } from "./section/Assertions";
import { Consumption } from "./section/Consumption";
import { Machine, Plan, Trials } from "./section/Evidence";
import { Faults } from "./section/Faults";
import { Factors } from "./section/Factors";
import { Figures } from "./section/Figures";
import { Head, Verdict } from "./section/Head";
import { Generator, Scatter } from "./section/Generator";
import { Latency, OverTime } from "./section/Latency";
import { Network, hasNetwork } from "./section/Network";
import { Overheads } from "./section/Overheads";
import { Source } from "./section/Picture";
import { StudySummary, Published } from "./section/Published";
import { Requests, Throughput, hasRequests, hasThroughput } from "./section/Requests";
import { TargetCounters } from "./section/TargetCounters";
import { Waterfalls } from "./section/Waterfall";
import "./style.css";
import { follow, themeOf } from "./theme";
import type { View } from "./view";

const CONTENTS: readonly (readonly [string, string])[] = [
  ["assertions", "Assertions"],
  ["faults", "Faults"],
  ["latency", "Latency"],
  ["overhead", "Overhead"],
  ["waterfall", "Waterfall"],
  ["factor", "By factor"],
  ["throughput", "Throughput"],
  ["requests", "Requests"],
  ["figures", "Figures"],
  ["over-time", "Over time"],
  ["parts", "CPU and memory"],
  ["network", "Network and host"],
  ["target-counters", "Target counters"],
  ["generator", "Load generator"],
  ["published", "Published figures"],
  ["study-summary", "Study's statistics"],
  ["noise", "Detectable difference"],
  ["trials", "Trials"],
  ["machine", "Machine"],
  ["plan", "Reproduce"],
];

function Report({ view }: { view: View }): JSX.Element {
  const layout = useMemo(() => layoutOf(view), [view]);
  const there = (id: string): boolean =>
    (id !== "network" || hasNetwork(view)) &&
    (id !== "throughput" || hasThroughput(view)) &&
    (id !== "requests" || hasRequests(view)) &&
    (id !== "assertions" || (view.assertions ?? []).length > 0) &&
    (id !== "faults" || (view.faults ?? []).length > 0) &&
    (id !== "published" || view.published.length > 0) &&
    (id !== "study-summary" || view.study_summary != null) &&
    (id !== "factor" || (view.factors ?? []).length > 0) &&
    (id !== "target-counters" || view.levels.some((level) => level.cells.some((cell) => (cell.target_counters?.rows ?? []).length > 0))) &&
    (id !== "waterfall" || (view.waterfalls ?? []).length > 0);
  // Where levels are compared, how they go with the factor is the answer.
  const first = (id: string): boolean => view.compare === "levels" && id === "factor";
  const shown = CONTENTS.filter(([id]) => there(id));
  const contents = [...shown.filter(([id]) => first(id)), ...shown.filter(([id]) => !first(id))];
  const source = `${view.run.experiment} · run ${view.run.id} · Tare ${view.run.tare}`;
  return (
    <Source.Provider value={source}>
      <a class="skip" href="#verdict">Skip to the verdict</a>
      <Head view={view} />
      <main>
        <Verdict view={view} />
        <nav aria-label="Contents">
          <ul>{contents.map(([id, title]) => <li key={id}><a href={`#${id}`}>{title}</a></li>)}</ul>
        </nav>
        <Assertions view={view} />
        {view.compare === "levels" && <Factors view={view} />}
        <Faults view={view} />
        <Latency layout={layout} />
        <Overheads view={view} layout={layout} />
        <Waterfalls view={view} />
        <Throughput view={view} />
        <Requests view={view} />
        {view.compare === "arms" && <Factors view={view} />}
        <Figures view={view} />
        <OverTime layout={layout} />
        <Consumption layout={layout} />
        <Network view={view} layout={layout} />
        <TargetCounters layout={layout} />
        <Generator layout={layout} />
        <Published view={view} />
        <StudySummary view={view} />
        <Scatter view={view} />
        <Trials view={view} />
        <Machine view={view} />
        <Plan view={view} />
      </main>
    </Source.Provider>
  );
}

follow(themeOf(location.hash));
const read = readView(document.getElementById("tare-view")?.textContent);
const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  if ("view" in read) {
    document.title = `${read.view.run.experiment} · Tare`;
    render(<Report view={read.view} />, root);
  } else {
    render(<p class="problem">{read.problem}</p>, root);
  }
}
