// Loads of several kinds of requests: what is done a second from level to level, and each request by itself.
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { MISSING, count, present } from "../format";
import { inks } from "../palette";
import { throughputPicture, type Climb } from "../plot/throughput";
import type { CellView, LevelView, RequestView, View } from "../view";
import { Picture } from "./Picture";
import { Choice, Section, Table } from "./Section";

/** What the levels vary, if it is one number and there is no offered rate; a rate would be its own throughput. */
function varied(view: View): string | null {
  const cells = view.levels.flatMap((level) => level.cells);
  const keys = new Set(view.levels.flatMap((level) => level.values.map(([key]) => key)));
  const numbers = view.levels.every((level) => level.values.length === 1 && Number.isFinite(Number(level.values[0]?.[1])));
  const follows = cells.every((cell) => !present(cell.offered_per_s));
  return view.levels.length > 1 && keys.size === 1 && numbers && follows ? ([...keys][0] ?? null) : null;
}

function climbsOf(view: View): Climb[] {
  const ink = inks(view.arms.map((arm) => arm.name), view.arms.find((arm) => arm.baseline)?.name);
  const stepOf = (level: LevelView, cell: CellView | undefined) => {
    const figure = cell?.figures.find((item) => item.metric === "throughput");
    if (!present(figure?.value) || !present(figure.low) || !present(figure.high)) return [];
    return [{ x: Number(level.values[0]?.[1]), value: figure.value, low: figure.low, high: figure.high }];
  };
  return view.arms.flatMap((arm) => {
    const own = ink.get(arm.name);
    const steps = view.levels.flatMap((level) => stepOf(level, level.cells.find((cell) => cell.arm === arm.name)));
    return own === undefined || steps.length === 0 ? [] : [{ name: arm.name, ink: own, steps: steps.sort((a, b) => a.x - b.x) }];
  });
}

/** The section of throughput against what the levels vary. */
export function Throughput({ view }: { view: View }): JSX.Element | null {
  const what = varied(view);
  const climbs = useMemo(() => climbsOf(view), [view]);
  const word = (what ?? "").split(".").pop() ?? "";
  const draw = useCallback((width: number) => throughputPicture(climbs, word, width), [climbs, word]);
  if (!hasThroughput(view)) return null;
  const keys = climbs.map((climb) => ({ label: climb.name, color: climb.ink.color, dash: climb.ink.dash, shape: "line" as const }));
  return (
    <Section id="throughput" title="Throughput" lead="Right answers per second when each client waits for its answers.">
      <div class="grid wide">
        <Picture
          title={`Throughput against ${word}`}
          how="How to read: where a line goes flat, more only wait longer. Points are medians over blocks, with the lowest and the highest block."
          keys={keys}
          file="throughput"
          draw={draw}
        />
      </div>
    </Section>
  );
}

/** Whether there is anything to draw that is not drawn with its intervals against the factor. */
export function hasThroughput(view: View): boolean {
  if (view.compare === "levels" || (view.factors ?? []).some((one) => one.metric === "throughput")) return false;
  return varied(view) !== null && climbsOf(view).length > 0;
}

/** Levels with several kinds of requests. */
function levelsOf(view: View): LevelView[] {
  return view.levels.filter((level) => level.cells.some((cell) => (cell.requests ?? []).length > 0));
}

/** Whether there is more than one kind of request. */
export function hasRequests(view: View): boolean {
  return levelsOf(view).length > 0;
}

function Row({ request, arm, rows }: { request: RequestView; arm: string; rows: number }): JSX.Element {
  const wrong = request.errors + request.unfinished;
  return (
    <tr>
      {rows > 0 && (
        <th scope="rowgroup" rowSpan={rows}>
          {request.request}
          {request.whole_session && <span class="tag">whole</span>}
        </th>
      )}
      <th scope="row">{arm}</th>
      <td class="figure">{count(request.ok)}</td>
      <td class="figure">{count(wrong)}</td>
      {request.figures.map((figure) => <td class="figure" key={figure.column}>{figure.text}</td>)}
    </tr>
  );
}

/** The section of requests by themselves. */
export function Requests({ view }: { view: View }): JSX.Element | null {
  const levels = useMemo(() => levelsOf(view), [view]);
  const first = levels.find((level) => level.name === view.per_request_level) ?? levels[levels.length - 1];
  const [chosen, choose] = useState(first?.name ?? "");
  const level = levels.find((item) => item.name === chosen) ?? first;
  if (level === undefined) return null;
  const names = [...new Set(level.cells.flatMap((cell) => (cell.requests ?? []).map((request) => request.request)))];
  const heads = level.cells.flatMap((cell) => cell.requests ?? [])[0]?.figures.map((figure) => figure.column) ?? [];
  const options = levels.map((item) => ({ value: item.name, label: item.name }));
  const tools = levels.length > 1 ? <Choice legend="Level" name="requests-at" options={options} value={level.name} choose={choose} /> : null;
  return (
    <Section
      id="requests"
      title="Requests"
      lead={`Latency of each kind of request by itself, median over blocks. “${MISSING}”: too few of them. A whole session goes from its start to its end, with its pauses.`}
      tools={tools}
    >
      <Table label={`Requests, ${level.name}`} class="figures">
        <thead>
          <tr>
            <th scope="col">request</th>
            <th scope="col">arm</th>
            <th scope="col">right</th>
            <th scope="col">errors</th>
            {heads.map((head) => <th scope="col" key={head}>{head}</th>)}
          </tr>
        </thead>
        {names.map((name) => {
          const found = level.cells.flatMap((cell) => {
            const request = (cell.requests ?? []).find((item) => item.request === name);
            return request === undefined ? [] : [{ request, arm: cell.arm }];
          });
          return (
            <tbody key={name}>
              {found.map((item, index) => <Row key={item.arm} {...item} rows={index === 0 ? found.length : 0} />)}
            </tbody>
          );
        })}
      </Table>
    </Section>
  );
}
