// The charts of a run or a load that is being measured.
import type { JSX } from "preact";
import type { Sample } from "../../api";
import { scaleFor, type Scale } from "../../format";
import { inks, shades, type SeriesStyle } from "../../palette";
import { Chart } from "./Chart";
import { backgroundLine, partLines, sampleLines, type Lines, type LiveRun, type PartFigure } from "./state";

const perSecond = (count: number, sample: Sample): number => (count / sample.length_ns) * 1e9;

const RATE = [
  { name: "offered", of: (sample: Sample) => perSecond(sample.intended, sample) },
  { name: "successful", of: (sample: Sample) => perSecond(sample.ok, sample) },
];
const LATENCY = [
  { name: "p50", of: (sample: Sample) => sample.latency_p50_ns },
  { name: "p99", of: (sample: Sample) => sample.latency_p99_ns },
  { name: "maximum", of: (sample: Sample) => sample.latency_max_ns },
];
const ERRORS = [{ name: "errors", of: (sample: Sample) => perSecond(sample.errors, sample) }];
const LATENESS = [{ name: "p99", of: (sample: Sample) => sample.lateness_p99_ns }];

function largest(lines: Lines): number {
  return lines.lines.reduce((most, line) => line.values.reduce<number>((high, value) => Math.max(high, value ?? 0), most), 0);
}

/** The unit for a chart: that of its largest value. */
function unitOf(lines: Lines, unit: "nanoseconds" | "bytes" | "bytes-per-second"): Scale {
  const end = largest(lines);
  if (unit === "bytes-per-second" && end < 1e5) return { label: "kB/s", per: 1e3 };
  return scaleFor(unit, end);
}

function inksOf(lines: Lines, neutral?: string): Map<string, SeriesStyle> {
  return inks(lines.lines.map((line) => line.name), neutral);
}

/** What the agents counted: rate, latency, errors, lateness. */
export function SampleCharts({ run }: { run: Pick<LiveRun, "seconds"> }): JSX.Element {
  const rate = sampleLines(run, RATE);
  const latency = sampleLines(run, LATENCY);
  const errors = sampleLines(run, ERRORS);
  const lateness = sampleLines(run, LATENESS);
  const time = unitOf(latency, "nanoseconds");
  const late = unitOf(lateness, "nanoseconds");
  return (
    <div class="grid live">
      <Chart title="Rate" unit="per second" lines={rate} inks={inksOf(rate, "offered")} how="Requests that were to start and successful responses, each second, over the seconds of load so far. A gap is between two trials." />
      <Chart title="Latency" unit={`${time.label} (logarithmic)`} per={time.per} lines={latency} inks={inksOf(latency)} isLog how="From release to answer, of each second; warm-up included. The verdict takes the window only." />
      <Chart title="Errors" unit="per second" lines={errors} inks={inksOf(errors)} how="Exchanges that failed, each second." />
      <Chart title="Lateness" unit={late.label} per={late.per} lines={lateness} inks={inksOf(lateness)} how="How late the generator itself was (p99 of each second). It is in no latency." />
    </div>
  );
}

/** Part inks: a hue for each part, Tare's own grey. */
function partInks(run: LiveRun): Map<string, SeriesStyle> {
  const parts = [...run.parts].map(([instance, role]) => ({ instance, role }));
  const own = shades(parts);
  const others = inks(parts.filter((part) => !(own.get(part.instance) ?? "").includes("--tare-")).map((part) => part.instance), undefined);
  return new Map(parts.map(({ instance }) => [instance, others.get(instance) ?? { color: "var(--baseline)", dash: instance === "conductor" ? "2 2.5" : "", width: 1.5 }]));
}

/** What the parts used: CPU, memory, packets, disk; and what other programs used. */
export function PartCharts({ run }: { run: LiveRun }): JSX.Element {
  const ink = partInks(run);
  const lines = (figure: PartFigure) => {
    const all = partLines(run, figure);
    return { ...all, lines: all.lines.filter((line) => line.values.some((value) => value !== null)) };
  };
  const [cpu, memory, packets, disk] = [lines("cpu"), lines("memory"), lines("packets"), lines("disk")];
  const background = backgroundLine(run);
  const bytes = unitOf(memory, "bytes");
  const written = unitOf(disk, "bytes-per-second");
  if (run.parts.size === 0) return <p class="none">Nothing was observed yet: the parts are looked at within the windows of trials.</p>;
  return (
    <div class="grid live">
      {cpu.lines.length > 0 && <Chart title="CPU of each part" unit="cores" lines={cpu} inks={ink} how="CPU time in each second; 1 is one core for the whole second." />}
      {memory.lines.length > 0 && <Chart title="Memory of each part" unit={bytes.label} per={bytes.per} lines={memory} inks={ink} how="Resident memory at the end of each second." />}
      {packets.lines.length > 0 && <Chart title="Packets of each part" unit="per second" lines={packets} inks={ink} how="Packets in and out of its pod. Parts that share a pod have none of their own." />}
      {disk.lines.length > 0 && <Chart title="Written to disk by each part" unit={written.label} per={written.per} lines={disk} inks={ink} how="Bytes that were written in each second." />}
      <Chart title="Background load" unit="cores" lines={background} inks={inksOf(background)} how="CPU that programs outside of the run used. It widens intervals; it does not spoil the run." />
    </div>
  );
}
