// What may stand at a place in a YAML file, by the JSON Schema of the file: keys and values with their explanations.

/** A JSON Schema, as far as it is read here. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  description?: string;
}

/** What may stand at the place. */
export interface Suggestion {
  label: string;
  isKey: boolean;
  about: string;
}

/** The place of the cursor. */
export interface Place {
  /** Keys from the top; 0 for an entry of a list. */
  path: (string | 0)[];
  kind: "key" | "value";
  /** What is typed of the word so far. */
  word: string;
  /** Keys that are there already. */
  siblings: string[];
}

interface Entry {
  column: number;
  key: string | 0;
}

interface Line {
  entries: Entry[];
  /** What stands behind the last key or dash. */
  rest: string;
  column: number;
}

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s#:"'[\]{},&*!|>%@`-][^:#[\]{},]*?|-[^\s:#][^:#[\]{},]*?))\s*:(?=\s|$)/;

function lineOf(text: string): Line {
  const entries: Entry[] = [];
  let column = text.length - text.trimStart().length;
  let rest = text.slice(column);
  for (let dash = /^-(\s+|$)/.exec(rest); dash !== null; dash = /^-(\s+|$)/.exec(rest)) {
    entries.push({ column, key: 0 });
    column += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  const key = KEY.exec(rest);
  if (key !== null) {
    entries.push({ column, key: key[1] ?? key[2] ?? key[3] ?? "" });
    rest = rest.slice(key[0].length);
  }
  return { entries, rest, column };
}

function isBlank(line: string): boolean {
  return /^\s*(?:#.*)?$/.test(line);
}

/** What a line lies in: entries of the lines above, the outermost first. */
function parents(lines: readonly string[], at: number, column: number, isItem: boolean): Entry[] {
  const out: Entry[] = [];
  let need = column;
  let sameIsParent = isItem;
  for (let index = at - 1; index >= 0 && (need > 0 || sameIsParent); index -= 1) {
    const text = lines[index] ?? "";
    if (isBlank(text)) continue;
    for (const entry of lineOf(text).entries.toReversed()) {
      // A list may stand as far left as the key that it belongs to.
      if (entry.column < need || (sameIsParent && entry.key !== 0 && entry.column === need)) {
        out.unshift(entry);
        need = entry.column;
        sameIsParent = entry.key === 0;
      }
    }
  }
  return out;
}

/** Keys of the same block as a line that is indented as far. */
function neighbours(lines: readonly string[], at: number, column: number): string[] {
  const keys: string[] = [];
  const walk = (step: 1 | -1) => {
    for (let index = at + step; index >= 0 && index < lines.length; index += step) {
      const text = lines[index] ?? "";
      if (isBlank(text)) continue;
      const { entries } = lineOf(text);
      const first = entries[0]?.column ?? text.length - text.trimStart().length;
      // A dash further left begins another block, after its own first key.
      const own = entries.find((entry) => entry.column === column && entry.key !== 0);
      if (first < column) {
        if (step === -1 && own !== undefined) keys.push(String(own.key));
        return;
      }
      if (own !== undefined) keys.push(String(own.key));
    }
  };
  walk(-1);
  walk(1);
  return keys;
}

/** The place in a flow collection, `{on: [client], proxy: envoy}`, that has begun on the line. */
function flow(text: string, path: (string | 0)[]): Place {
  const stack: { isMap: boolean; key: string | null; keys: string[] }[] = [];
  let word = "";
  for (const character of text) {
    const top = stack.at(-1);
    if (character === "{" || character === "[") {
      stack.push({ isMap: character === "{", key: null, keys: [] });
      word = "";
    } else if (character === "}" || character === "]") {
      stack.pop();
      word = "";
    } else if (character === "," && top !== undefined) {
      top.key = null;
      word = "";
    } else if (character === ":" && top?.isMap === true && top.key === null) {
      top.key = word.trim();
      top.keys.push(top.key);
      word = "";
    } else word += character;
  }
  const inside = stack.slice(0, -1).map((level): string | 0 => (level.isMap ? (level.key ?? "") : 0));
  const top = stack.at(-1);
  if (top === undefined) return { path, kind: "value", word: "\u0000", siblings: [] };
  const full = [...path, ...inside];
  if (top.isMap && top.key === null) return { path: full, kind: "key", word: word.trimStart(), siblings: top.keys };
  return { path: [...full, top.isMap ? (top.key ?? "") : 0], kind: "value", word: word.trimStart(), siblings: [] };
}

/** Where in a file the cursor is; `null` within comments. */
export function placeAt(text: string, cursor: number): Place | null {
  const before = text.slice(0, cursor).split("\n");
  const lines = text.split("\n");
  const at = before.length - 1;
  const typed = before[at] ?? "";
  if (/(?:^|\s)#/.test(typed)) return null;
  const line = lineOf(typed);
  const first = line.entries[0];
  const above = parents(lines, at, first?.column ?? line.column, first?.key === 0);
  const path = [...above, ...line.entries].map((entry) => entry.key);
  const value = line.rest.trimStart();
  if (/^[{[]/.test(value)) return flow(value, path);
  const last = line.entries.at(-1);
  if (last !== undefined && last.key !== 0) return { path, kind: "value", word: value, siblings: [] };
  return { path, kind: "key", word: value, siblings: neighbours(lines, at, line.column) };
}

/** The schemas that a schema stands for: references followed, alternatives side by side. */
function alternatives(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 12) return [];
  const found: Schema[] = [schema];
  const name = /^#\/\$defs\/(.+)$/.exec(schema.$ref ?? "")?.[1];
  const target = name === undefined ? undefined : root.$defs?.[name];
  for (const one of [...(target === undefined ? [] : [target]), ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    found.push(...alternatives(root, one, depth + 1));
  }
  return found;
}

function below(root: Schema, schema: Schema, key: string | 0): Schema[] {
  return alternatives(root, schema).flatMap((one) => {
    const next = key === 0 ? one.items : (one.properties?.[key] ?? one.additionalProperties);
    return typeof next === "object" ? [next] : [];
  });
}

function values(root: Schema, schema: Schema): Suggestion[] {
  return alternatives(root, schema).flatMap((one): Suggestion[] => {
    const all = [...(one.enum ?? []), ...(one.const === undefined ? [] : [one.const]), ...([one.type].flat().includes("boolean") ? [true, false] : [])];
    return all.filter((value) => value !== null && typeof value !== "object").map((value) => ({ label: String(value), isKey: false, about: one.description ?? "" }));
  });
}

/** What may stand at a place, each once. */
export function suggestions(root: Schema, place: Place): Suggestion[] {
  const schemas = place.path.reduce<Schema[]>((all, key) => all.flatMap((schema) => below(root, schema, key)), [root]);
  const found = schemas.flatMap((schema): Suggestion[] => {
    if (place.kind === "value") return values(root, schema);
    const keys = alternatives(root, schema).flatMap((one) => Object.entries(one.properties ?? {}));
    const scalars = place.path.at(-1) === 0 && place.siblings.length === 0 ? values(root, schema) : [];
    return [...keys.map(([label, property]) => ({ label, isKey: true, about: property.description ?? "" })), ...scalars];
  });
  const unique = new Map(found.filter((one) => !place.siblings.includes(one.label)).map((one) => [one.label, one]));
  return [...unique.values()];
}
