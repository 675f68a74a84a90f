// Draws the report of the run whose view this file carries.
import { render, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { readView } from "./data";
import { layoutOf } from "./layout";
import { Consumption } from "./part/Consumption";
import { Machine, Plan, Trials } from "./part/Evidence";
import { Disturbances } from "./part/Disturbance";
import { Figures } from "./part/Figures";
import { Head, Verdict } from "./part/Head";
import { Instrument, NoiseFloor } from "./part/Instrument";
import { Latency, OverTime } from "./part/Latency";
import { Network, hasNetwork } from "./part/Network";
import { Overheads } from "./part/Overheads";
import { Source } from "./part/Picture";
import { AsPublished, Published } from "./part/Published";
import { Requests, Throughput, hasRequests, hasThroughput } from "./part/Requests";
import { Waterfalls } from "./part/Waterfall";
import "./style.css";
import { follow, themeOf } from "./theme";
import type { View } from "./view";

const CONTENTS: readonly (readonly [string, string])[] = [
  ["disturbance", "What was done"],
  ["latency", "Latency"],
  ["overhead", "What it adds"],
  ["waterfall", "Part by part"],
  ["throughput", "Throughput"],
  ["requests", "Requests"],
  ["figures", "Figures"],
  ["over-time", "Over time"],
  ["parts", "CPU and memory"],
  ["network", "Packets"],
  ["instrument", "Instrument"],
  ["published", "Published"],
  ["as-published", "As published"],
  ["noise", "Noise"],
  ["trials", "Trials"],
  ["machine", "Machine"],
  ["plan", "Repeat it"],
];

function Report({ view }: { view: View }): JSX.Element {
  const layout = useMemo(() => layoutOf(view), [view]);
  const there = (id: string): boolean =>
    (id !== "network" || hasNetwork(view)) &&
    (id !== "throughput" || hasThroughput(view)) &&
    (id !== "requests" || hasRequests(view)) &&
    (id !== "disturbance" || (view.disturbances ?? []).length > 0) &&
    (id !== "published" || view.published.length > 0) &&
    (id !== "as-published" || view.as_published != null) &&
    (id !== "waterfall" || (view.waterfalls ?? []).length > 0);
  const contents = CONTENTS.filter(([id]) => there(id));
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
        <Disturbances view={view} />
        <Latency layout={layout} />
        <Overheads view={view} layout={layout} />
        <Waterfalls view={view} />
        <Throughput view={view} />
        <Requests view={view} />
        <Figures view={view} />
        <OverTime layout={layout} />
        <Consumption layout={layout} />
        <Network view={view} layout={layout} />
        <Instrument layout={layout} />
        <Published view={view} />
        <AsPublished view={view} />
        <NoiseFloor view={view} />
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
