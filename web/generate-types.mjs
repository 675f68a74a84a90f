// Writes the shapes of the API from their schemas: src/api.ts, with the view among them, and src/kafka-api.ts.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Files, and what each is generated from. */
const FILES = [
  { file: "src/api.ts", schema: "docs/schema/api.json", name: "Api", about: "Shapes of the API, and the view of a report." },
  { file: "src/kafka-api.ts", schema: "docs/schema/kafka-api.json", name: "KafkaApi", about: "Shapes of the API for Kafka." },
];

/** Brings what schemars writes into the dialect that the type generator reads. */
function translated(node) {
  if (Array.isArray(node)) return node.map(translated);
  if (node === null || typeof node !== "object") return node;
  if (typeof node.$ref === "string") {
    const { $ref, ...rest } = node;
    // Properties beside a reference: the name of the event, and what it carries. A description beside one would make the
    // generator copy the type under a new name.
    return rest.properties === undefined ? { $ref } : { allOf: [{ $ref }, translated(rest)] };
  }
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "prefixItems") {
      out.items = translated(value);
    } else if ((key === "minItems" || key === "maxItems") && node.prefixItems === undefined) {
      // The generator would spell out each length as a tuple.
      continue;
    } else if (key === "description" && typeof value === "string") {
      out.description = value.replaceAll(/\[`([^`]+)`\]/g, "`$1`");
    } else if (key === "$defs") {
      // A title makes the generator name the type instead of spelling it out at every use.
      out.$defs = Object.fromEntries(
        Object.entries(value).map(([name, definition]) => [name, { ...translated(definition), title: name }]),
      );
    } else {
      out[key] = translated(value);
    }
  }
  return out;
}

/** The texts of the files for the committed schemas. */
export async function types() {
  const there = FILES.filter(({ schema }) => existsSync(at(`../${schema}`)));
  return Promise.all(there.map(async ({ file, schema, name, about }) => {
    const text = await compile(translated(JSON.parse(readFileSync(at(`../${schema}`), "utf8"))), name, {
      bannerComment: `// ${about} Generated from ${schema} by \`npm run types\`; do not edit.\n`,
      additionalProperties: false,
      style: { printWidth: 120 },
    });
    return { file, text };
  }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { file, text } of await types()) writeFileSync(at(file), text);
}
