// The form of a new topic: what was written into it, as what the server is asked for.
import type { CreateTopicRequest } from "../../kafka-api";
import { brokersOf } from "./plan";

/** What stands in the form's fields. */
export interface TopicForm {
  name: string;
  placed: "by-cluster" | "by-hand";
  partitions: string;
  replicas: string;
  /** Brokers of each partition, a line for each. */
  assignment: string;
  /** `key=value` on each line. */
  configs: string;
}

/** The form at first. */
export const FIRST: TopicForm = { name: "", placed: "by-cluster", partitions: "", replicas: "", assignment: "", configs: "" };

/** Why a name is none of a topic; nothing when it is one. */
export function wrongName(name: string): string | null {
  if (name === "") return "Name: of letters, digits, “.”, “_” and “-”";
  if (name.length > 249) return "Name: at most 249 characters";
  if (name === "." || name === "..") return `Name: not “${name}”`;
  const odd = /[^A-Za-z0-9._-]/.exec(name)?.[0];
  return odd === undefined ? null : `Name: letters, digits, “.”, “_” and “-”, not “${odd}”`;
}

/** `key=value` on each line as an object. */
export function configsOf(text: string, wrong: string[]): { [key: string]: string } {
  const found: [string, string][] = [];
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const [, key, value] = /^([A-Za-z0-9._-]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) wrong.push(`Configuration: “key=value” on each line, not “${line}”`);
    else if (found.some(([one]) => one === key)) wrong.push(`Configuration: ${key} is there twice`);
    else found.push([key, value]);
  }
  return Object.fromEntries(found);
}

function whole(text: string, name: string, wrong: string[]): number | null {
  if (text.trim() === "") return null;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  wrong.push(`${name}: a whole number above 0, not “${text}”`);
  return null;
}

/** The request, or what is wrong with the form. */
export function requestOf(form: TopicForm): CreateTopicRequest | string[] {
  const wrong: string[] = [];
  const name = form.name.trim();
  const odd = wrongName(name);
  if (odd !== null) wrong.push(odd);
  const configs = configsOf(form.configs, wrong);
  if (form.placed === "by-cluster") {
    const [partitions, replicas] = [whole(form.partitions, "Partitions", wrong), whole(form.replicas, "Replicas", wrong)];
    return wrong.length > 0 ? wrong : { name, partitions, replicas, assignment: null, configs };
  }
  const assignment: number[][] = [];
  for (const line of form.assignment.split("\n").filter((one) => one.trim() !== "")) {
    const brokers = brokersOf(line);
    if (typeof brokers === "string") wrong.push(`Brokers: ${brokers}`);
    else assignment.push(brokers);
  }
  if (assignment.length === 0) wrong.push("Brokers: a line for each partition, “1, 2, 3”");
  else if (assignment.some((one) => one.length !== assignment[0]?.length)) wrong.push("Brokers: as many for each partition");
  return wrong.length > 0 ? wrong : { name, partitions: null, replicas: null, assignment, configs };
}
