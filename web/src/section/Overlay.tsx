// Things measured at different times, beside each other: a table, a chart from one to the next, and their curves on one pair of axes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CurvePoint, LatencyBucket, LoadPercentile } from "../api";
import { quantity, time } from "../format";
import { lineKey } from "../legend";
import { inks } from "../palette";
import { percentileLabel } from "../scale";
import { boundsOf, histogramPicture } from "../plot/histogram";
import { curveAxes, curvesPicture } from "../plot/percentiles";
import { severalPicture, type SeveralLine } from "../plot/several";
import { Picture } from "./Picture";
import { Choice, Table } from "./Section";

/** One thing that was measured. */
export interface Measured {
  name: string;
  href: string;
  curve: readonly CurvePoint[];
  histogram?: readonly LatencyBucket[];
  min_ns?: number | null;
  mean_ns?: number | null;
  percentiles: readonly LoadPercentile[];
  max_ns?: number | null;
  throughput: number | null;
  throughputUnit: "per-second" | "bytes-per-second";
  errors?: string;
}

/** The name of a percentile. */
export function percentileName(percentile: number): string {
  return percentile === 50 ? "median" : `p${percentileLabel(percentile)}`;
}

/** Percentiles that one of them has, in order. */
export function percentilesOf(all: readonly Pick<Measured, "percentiles">[]): number[] {
  return [...new Set(all.flatMap((one) => one.percentiles.map((item) => item.percentile)))].sort((a, b) => a - b);
}

function find(one: Measured, percentile: number): LoadPercentile | undefined {
  return one.percentiles.find((item) => item.percentile === percentile);
}

function throughput(one: Measured): string {
  return quantity(one.throughput, one.throughputUnit);
}

function Percentile({ of }: { of: LoadPercentile | undefined }): JSX.Element {
  return <td class="n">{of?.is_lower_bound === true && of.value_ns != null ? "> " : ""}{time(of?.value_ns)}</td>;
}

/** The statistics, a line for each. */
export function statistics(all: readonly Measured[]): SeveralLine[] {
  const rows: [string, (number | null)[]][] = [
    ["min", all.map((one) => one.min_ns ?? null)],
    ["mean", all.map((one) => one.mean_ns ?? null)],
    ...percentilesOf(all).map((percentile): [string, (number | null)[]] => [percentileName(percentile), all.map((one) => find(one, percentile)?.value_ns ?? null)]),
    ["max", all.map((one) => one.max_ns ?? null)],
  ];
  const ink = inks(rows.map(([name]) => name), "mean");
  return rows.map(([name, values]) => ({ name, values, ink: ink.get(name) ?? { color: "var(--ink)", dash: "", width: 2 } }));
}

/** Table and pictures of what was measured; `what` is what the latencies are. */
export function Overlay({ all, what, title }: { all: readonly Measured[]; what: string; title: string }): JSX.Element {
  const [scale, setScale] = useState<"log" | "linear">("log");
  const ink = inks(all.map((one) => one.name), undefined);
  const lines = statistics(all);
  const names = all.map((one) => one.name);
  const unit = all[0]?.throughputUnit ?? "per-second";
  const rates = [{ name: "throughput", ink: { color: "var(--ink)", dash: "", width: 2 }, values: all.map((one) => one.throughput) }];
  const axes = curveAxes(all.flatMap((one) => one.curve));
  const buckets = (all.length === 1 ? all[0]?.histogram : undefined) ?? [];
  const bounds = boundsOf(buckets, scale === "log");
  const hasErrors = all.some((one) => one.errors !== undefined);
  return (
    <>
      <Table label={`Figures, ${title}`}>
        <thead>
          <tr>
            <th scope="col">{what}</th><th scope="col" class="n">min</th><th scope="col" class="n">mean</th>
            {percentilesOf(all).map((percentile) => <th scope="col" class="n" key={percentile}>{percentileName(percentile)}</th>)}
            <th scope="col" class="n">max</th><th scope="col" class="n">throughput</th>{hasErrors && <th scope="col" class="n">errors</th>}
          </tr>
        </thead>
        <tbody>
          {all.map((one, index) => (
            <tr key={index}>
              <th scope="row"><a href={one.href}>{one.name}</a></th>
              <td class="n">{time(one.min_ns)}</td>
              <td class="n">{time(one.mean_ns)}</td>
              {percentilesOf(all).map((percentile) => <Percentile key={percentile} of={find(one, percentile)} />)}
              <td class="n">{time(one.max_ns)}</td>
              <td class="n">{throughput(one)}</td>
              {hasErrors && <td class="n">{one.errors}</td>}
            </tr>
          ))}
        </tbody>
      </Table>
      <div class="overlay-tools"><Choice legend="Scale" name={`scale-${title}`} options={[{ value: "log", label: "logarithmic" }, { value: "linear", label: "linear" }]} value={scale} choose={setScale} /></div>
      <div class="grid wide">
        {all.length > 1 && (
          <Picture
            title={`Latency from one to the next, ${title}`}
            how="How to read: one line for each statistic; where a line is level, nothing changed."
            keys={lines.map((line) => lineKey(line.name, line.ink))}
            file={`overlay-${title}`}
            draw={(width) => severalPicture(names, lines, "nanoseconds", scale === "log", width)}
          />
        )}
        {axes !== null && (
          <Picture
            title={`Latency by percentile, ${title}`}
            how="How to read: each step to the right leaves a tenth of the answers beyond it; lower is faster. Both axes are logarithmic."
            keys={all.map((one) => lineKey(one.name, ink.get(one.name)))}
            file={`curves-${title}`}
            draw={(width) => curvesPicture(all.map((one) => ({ name: one.name, ink: ink.get(one.name) ?? { color: "var(--ink)", dash: "", width: 2 }, curve: one.curve })), what, axes, width, false)}
          />
        )}
        {bounds !== null && (
          <Picture
            title={`Histogram, ${title}`}
            how="How to read: a bar is the number of answers in its bucket; the line is the percentage of all answers up to there."
            keys={[{ label: "answers", color: "var(--hue-0)", shape: "swatch" }, { label: "cumulative percentage", color: "var(--ink)", shape: "line" }]}
            file={`histogram-${title}`}
            draw={(width) => histogramPicture(buckets, bounds, what, scale === "log", width)}
          />
        )}
        {all.length > 1 && all.some((one) => one.throughput !== null) && (
          <Picture
            title={`Throughput, ${title}`}
            how="How to read: successful responses per second, from one to the next. At a given rate it can only be as high as that."
            keys={rates.map((line) => lineKey(line.name, line.ink))}
            file={`throughput-${title}`}
            draw={(width) => severalPicture(names, rates, unit, scale === "log", width)}
          />
        )}
      </div>
    </>
  );
}

