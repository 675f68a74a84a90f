// Draws the report of the run whose view this file carries.
import { render, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { readView } from "./data";
import { layoutOf } from "./layout";
import { Assertions } from "./part/Assertions";
import { Consumption } from "./part/Consumption";
import { Machine, Plan, Trials } from "./part/Evidence";
import { Disturbances } from "./part/Disturbance";
import { Factors } from "./part/Factors";
import { Figures } from "./part/Figures";
import { Head, Verdict } from "./part/Head";
import { Instrument, Scatter } from "./part/Instrument";
import { Latency, OverTime } from "./part/Latency";
import { Network, hasNetwork } from "./part/Network";
import { Overheads } from "./part/Overheads";
import { Source } from "./part/Picture";
import { AsPublished, Published } from "./part/Published";
import { Requests, Throughput, hasRequests, hasThroughput } from "./part/Requests";
import { Told } from "./part/Told";
import { Waterfalls } from "./part/Waterfall";
import "./style.css";
import { follow, themeOf } from "./theme";
import type { View } from "./view";

const CONTENTS: readonly (readonly [string, string])[] = [
  ["assertions", "Assertions"],
  ["disturbance", "Faults"],
  ["latency", "Latency"],
  ["overhead", "Overhead"],
  ["waterfall", "Part by part"],
  ["factor", "By factor"],
  ["throughput", "Throughput"],
  ["requests", "Requests"],
  ["figures", "Figures"],
  ["over-time", "Over time"],
  ["parts", "CPU and memory"],
  ["network", "Packets"],
  ["told", "Target counters"],
  ["instrument", "Instrument"],
  ["published", "Published"],
  ["as-published", "As published"],
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
    (id !== "disturbance" || (view.disturbances ?? []).length > 0) &&
    (id !== "published" || view.published.length > 0) &&
    (id !== "as-published" || view.as_published != null) &&
    (id !== "factor" || (view.factors ?? []).length > 0) &&
    (id !== "told" || view.levels.some((level) => level.cells.some((cell) => (cell.told?.rows ?? []).length > 0))) &&
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
        <Disturbances view={view} />
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
        <Told layout={layout} />
        <Instrument layout={layout} />
        <Published view={view} />
        <AsPublished view={view} />
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
