// One series: its values over the runs with their change points, what is known of each run, and a table of all.
import { effect, signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SeriesDetail, SeriesPoint } from "../../api";
import { MISSING, change as relative, count, percent, quantity, range } from "../../format";
import type { LegendEntry } from "../../legend";
import { BESIDE, INK, trendPicture, type TrendPicture } from "../../plot/trend";
import { Picture, Source } from "../../section/Picture";
import { Choice, Section } from "../../section/Section";
import { Await, Heading } from "../pieces";
import { useResource } from "../resource";
import { at, go } from "../router";
import type { Order } from "../rows";
import { VirtualTable, type Column } from "../VirtualTable";
import { moment, plural } from "../words";
import { RUNS_MIN, TOO_FEW, date, measuredAt, seriesName, stepWords, versionSteps, versionsAt, versionWords, versionsWords } from "./changes";
import { experimentAt, pointsPath, type SeriesFilter } from "./filter";

type Kind = ReturnType<typeof measuredAt>;

/** The name of a run, as a link where it has a page. */
function RunName({ kind, run }: { kind: Kind; run: string }): JSX.Element {
  return kind === null ? <span title={run}>{run}</span> : <a href={at(kind, run)} title={run}>{run}</a>;
}

function open(kind: Kind, run: string): void {
  if (kind !== null) go(at(kind, run));
}

const KEYS: readonly LegendEntry[] = [
  { label: "run", color: INK.line, shape: "line" },
  { label: "lowest to highest block", color: INK.range, shape: "swatch" },
  { label: "mean between change points", color: INK.mean, shape: "line" },
  { label: "change for the worse", color: INK.worse, shape: "line", dash: "5 3" },
  { label: "change for the better", color: INK.better, shape: "line", dash: "5 3" },
  { label: "a version changed", color: "var(--quiet)", shape: "zero" },
];

function valueOf(point: SeriesPoint, { unit }: SeriesDetail): string {
  return `${point.is_lower_bound ? "> " : ""}${quantity(point.value, unit)}`;
}

/** The run under the cursor: chosen by pointing at the chart or with the slider, whose keys are those of every slider. */
function Cursor({ detail, kind, place }: { detail: SeriesDetail; kind: Kind; place: Signal<number> }): JSX.Element | null {
  const steps = useMemo(() => versionSteps(detail.points), [detail]);
  const index = Math.min(place.value, detail.points.length - 1);
  const point = detail.points[index];
  if (point === undefined) return null;
  const versions = versionsAt(steps, index);
  return (
    <>
      {/* The middle of the thumb is below the run: half of it is outside of the frame at both ends. */}
      {detail.points.length > 1 && <div class="slider" style={{ marginLeft: `${BESIDE.left - 8}px`, marginRight: `${BESIDE.right - 8}px` }}>
        <input
          type="range" min={0} max={detail.points.length - 1} step={1} value={index} aria-label="Run" aria-valuetext={`${moment(point.started_unix_us / 1000)}: ${valueOf(point, detail)}`}
          onInput={(event) => {
            place.value = Number(event.currentTarget.value);
          }}
          onKeyDown={(event) => event.key === "Enter" && open(kind, point.run)}
        />
      </div>}
      <dl class="facts-line run-at">
        <div><dt>Run</dt><dd><RunName kind={kind} run={point.run} />, {moment(point.started_unix_us / 1000)}</dd></div>
        <div><dt>Value</dt><dd><b>{valueOf(point, detail)}</b>{point.low != null && ` (blocks ${range(point.low, point.high, detail.unit)})`}</dd></div>
        {point.changed.length > 0 && <div><dt>Changed</dt><dd>{versionsWords(point.changed)}</dd></div>}
        {versions.length > 0 && <div><dt>Versions</dt><dd class="quiet">{versions.map(({ axis, version }) => `${axis} ${version}`).join(", ")}</dd></div>}
      </dl>
    </>
  );
}

function Chart({ detail, kind }: { detail: SeriesDetail; kind: Kind }): JSX.Element {
  const [scale, setScale] = useState<"log" | "linear">("linear");
  const place = useMemo(() => signal(detail.points.length - 1), [detail]);
  const drawn = useRef<TrendPicture | null>(null);
  useEffect(() => effect(() => drawn.current?.show(place.value)), [place]);
  const name = seriesName(detail.label, detail.key, detail.unit);
  const words = detail.changes.map(({ change, changed }) => [`${relative(change)} ${versionsWords(changed)}`.trim(), ...changed.slice(0, 1).map((first) => `${relative(change)} ${versionWords(first)} …`), relative(change)]);
  const draw = (width: number) => {
    const made = trendPicture(detail, words, scale === "log", width);
    const { picture } = made;
    drawn.current = made;
    made.show(place.peek());
    const point = (event: PointerEvent) => {
      place.value = made.indexAt(event.clientX);
    };
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerdown", point);
    // A finger chooses a run; its report is a link below.
    picture.addEventListener("click", (event) => {
      const run = detail.points[made.indexAt(event.clientX)]?.run;
      if (run !== undefined && (event as PointerEvent).pointerType === "mouse") open(kind, run);
    });
    return picture;
  };
  return (
    <Section
      id="values"
      title="Values over the runs"
      tools={<Choice legend="Scale" name="scale" options={[{ value: "linear", label: "linear" }, { value: "log", label: "logarithmic" }]} value={scale} choose={setScale} />}
    >
      <div class="big-trend">
        <Picture
          title={name}
          notes={detail.left_out > 0 ? [`The last ${count(detail.points.length)} of ${count(detail.runs)} runs. Change points and means are of all runs.`] : []}
          how={`How to read: one value for each run, in order of time; ${detail.better} is better. The vertical axis does not begin at 0. A number is a change point of the list below. Point at a run for its figures, click for its report; with the keyboard, use the slider and Enter.`}
          keys={detail.changes.length > 0 ? KEYS : [...KEYS.slice(0, 2), ...KEYS.slice(5)]}
          file={`history-${detail.key.experiment}-${name}`}
          draw={draw}
        />
        <Cursor detail={detail} kind={kind} place={place} />
      </div>
    </Section>
  );
}

function Changes({ detail, kind }: { detail: SeriesDetail; kind: Kind }): JSX.Element {
  const margin = percent(detail.margin);
  return (
    <Section id="changes" title="Change points" lead={`From the named run on, the values have another mean. Changes smaller than ${margin}, the margin of the experiment, do not count. A version that changed there need not be the cause: compare both versions in one run.`}>
      {detail.changes.length === 0 ? <p class="none">{detail.runs < RUNS_MIN ? TOO_FEW : `None in ${plural(detail.runs, "run")}: no lasting change was found that is larger than ${margin}.`}</p> : (
        <ol class="changes">
          {detail.changes.map((change) => (
            <li key={change.index} class={change.is_worse ? "worse" : "better"}>
              <b>{stepWords(change, detail.unit)}</b> {change.is_worse ? "(worse)" : "(better)"} since {date(change.started_unix_us)}, run <RunName kind={kind} run={change.run} />
              {change.changed.length > 0 && `, with ${versionsWords(change.changed)}`}
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

interface Row {
  index: number;
  point: SeriesPoint;
}

function Runs({ detail, kind }: { detail: SeriesDetail; kind: Kind }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: "started", isDescending: true });
  const rows = useMemo(() => detail.points.map((point, index): Row => ({ index, point })), [detail]);
  const changes = useMemo(() => new Map(detail.changes.map((change) => [change.index - detail.left_out, change])), [detail]);
  const words = ({ index, point }: Row) => {
    const change = changes.get(index);
    return [...(change === undefined ? [] : [`change point: ${stepWords(change, detail.unit)}`]), ...(point.changed.length === 0 ? [] : [versionsWords(point.changed)])].join("; ");
  };
  const columns: Column<Row>[] = [
    { key: "started", label: "started", width: 22, cell: ({ point }) => moment(point.started_unix_us / 1000), sort: ({ index }) => index },
    { key: "value", label: "value", width: 13, kind: "n", cell: ({ point }) => valueOf(point, detail), sort: ({ point }) => point.value },
    { key: "blocks", label: "blocks", width: 20, kind: "n", cell: ({ point }) => range(point.low, point.high, detail.unit), sort: ({ point }) => point.low },
    { key: "run", label: "run", width: 38, cell: ({ point }) => <RunName kind={kind} run={point.run} />, sort: ({ point }) => point.run },
    { key: "changed", label: "changed", width: 56, cell: (row) => <span title={words(row)}>{words(row)}</span> },
  ];
  return (
    <Section id="runs" title="Runs" lead={`The value is the median over the blocks of a run; “${MISSING}”: not known.`}>
      <VirtualTable label="Runs of the series" rows={rows} columns={columns} keyOf={({ point }) => point.run} order={order} setOrder={setOrder} isMarked={({ index }) => changes.has(index)} />
    </Section>
  );
}

/** The page of one series. */
export function Series({ query, filter, kind }: { query: URLSearchParams; filter: SeriesFilter; kind: Kind }): JSX.Element {
  const series = useResource<SeriesDetail>(pointsPath(query));
  const back = experimentAt({ experiment: filter.experiment, form: filter.form, metric: filter.metric });
  return (
    <>
      <p class="crumb"><a href="/history">History</a> / <a href={back}>{filter.experiment}</a> / series</p>
      <Await of={series} what="series" back={<a href="/history">All experiments</a>}>
        {(detail) => {
          const name = seriesName(detail.label, detail.key, detail.unit);
          return (
            <Source.Provider value={`${detail.key.experiment}${detail.key.form === "quick" ? " (quick)" : ""}, ${detail.machine}`}>
              <Heading title={name} name={`History: ${name}`} lead={`${detail.key.experiment}${detail.key.form === "quick" ? " (quick)" : ""}, ${plural(detail.runs, "run")} on ${detail.machine} (${detail.key.machine.slice(0, 6)})`} />
              <Chart detail={detail} kind={kind} />
              <Changes detail={detail} kind={kind} />
              <Runs detail={detail} kind={kind} />
            </Source.Provider>
          );
        }}
      </Await>
    </>
  );
}
