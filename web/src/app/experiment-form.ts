// The form of a run: what was written into it, as what the server is asked for.
import type { ExperimentRequest } from "../api";

/** What stands in the form's fields. */
export interface RunForm {
  /** Name in the library; `null`: none is chosen, or the YAML stands for it. */
  experiment: string | null;
  yaml: string | null;
  quick: boolean;
  noAa: boolean;
  blocks: string;
  seed: string;
  /** `part = address, address` on each line. */
  external: string;
}

/** The form at first. */
export const FIRST: RunForm = { experiment: null, yaml: null, quick: true, noAa: false, blocks: "", seed: "", external: "" };

function whole(text: string, name: string, least: number): number | null | string {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= least ? value : `${name}: a whole number${least > 0 ? ` of ${least} or more` : ""}, not “${text}”`;
}

/** The request, or what is wrong with the form; `null` as long as no experiment is chosen. */
export function requestOf(form: RunForm): ExperimentRequest | string | null {
  if (form.yaml === null && form.experiment === null) return null;
  const blocks = whole(form.blocks, "Blocks", 1);
  if (typeof blocks === "string") return blocks;
  const seed = whole(form.seed, "Seed", 0);
  if (typeof seed === "string") return seed;
  const external: Record<string, string[]> = {};
  for (const line of form.external.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const found = /^([^=\s]+)\s*=\s*(.+)$/.exec(line);
    const addresses = (found?.[2] ?? "").split(/[,\s]+/).filter((one) => one !== "");
    if (found?.[1] === undefined || addresses.length === 0) return `External addresses: “part = host:port” on each line, not “${line}”`;
    external[found[1]] = addresses;
  }
  const { experiment, yaml, quick, noAa } = form;
  // What was made of an experiment of the library keeps its name.
  const name = yaml === null ? null : experiment?.split("/").at(-1) ?? null;
  return { experiment: yaml === null ? experiment : null, yaml, name, quick, no_aa: noAa, blocks, seed, external };
}
