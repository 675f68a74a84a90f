// A load while it runs, worked out from its events.
import type { LoadEvent, LoadReport } from "../../api";
import { takeSample, type Second } from "./state";

/** What is known of a load that runs. */
export interface LiveLoad {
  connections: number | null;
  seconds: Second[];
  ok: number;
  errors: number;
  /** What a search or a curve is at, and its probes so far. */
  steps: string[];
  report: LoadReport | null;
  isOver: boolean;
}

/** A load of which no event is known. */
export function unknownLoad(): LiveLoad {
  return { connections: null, seconds: [], ok: 0, errors: 0, steps: [], report: null, isOver: false };
}

/** The load as it is now, as a value that further events do not change. */
export function snapshot(load: LiveLoad): LiveLoad {
  return { ...load, seconds: [...load.seconds], steps: [...load.steps] };
}

/** Takes an event in. */
export function takeLoad(load: LiveLoad, event: LoadEvent): void {
  switch (event.event) {
    case "ready":
      load.connections = event.connections;
      break;
    case "sample":
      load.ok += event.ok;
      load.connections = event.connections;
      takeSample(load, "load", event);
      break;
    case "probe":
      load.steps.push(`${event.rate_per_s}/s: ${event.verdict}, ${event.figures}`);
      break;
    case "window":
      load.steps.push(`window ${event.number} of ${event.windows}: ${event.rate_per_s}/s`);
      break;
    case "result":
      load.report = event;
      load.isOver = true;
      break;
    default:
      load.isOver = true;
  }
}
