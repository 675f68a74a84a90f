// Writes src/view.ts from src/view.schema.json; with `--from FILE` (or `-` for standard input) takes a new schema first.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));

const banner = `// The view model of a report. Generated from view.schema.json by \`npm run types\`; do not edit.
`;

/** Brings what schemars writes into the dialect that the type generator reads. */
function translated(node) {
  if (Array.isArray(node)) return node.map(translated);
  if (node === null || typeof node !== "object") return node;
  // A description beside a reference would make the generator copy the type under a new name.
  if (typeof node.$ref === "string") return { $ref: node.$ref };
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "prefixItems") {
      out.items = translated(value);
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

/** The text of src/view.ts for a schema. */
export async function typesFor(schema) {
  return compile(translated(schema), "View", {
    bannerComment: banner,
    additionalProperties: false,
    style: { printWidth: 120 },
  });
}

/** The committed schema. */
export function committedSchema() {
  return JSON.parse(readFileSync(at("src/view.schema.json"), "utf8"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const from = process.argv.indexOf("--from");
  if (from !== -1) {
    const name = process.argv[from + 1];
    const text = readFileSync(name === "-" || name === undefined ? 0 : name, "utf8");
    writeFileSync(at("src/view.schema.json"), `${JSON.stringify(JSON.parse(text), null, 2)}\n`);
  }
  writeFileSync(at("src/view.ts"), await typesFor(committedSchema()));
}
