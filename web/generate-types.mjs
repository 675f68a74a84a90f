// Writes src/api.ts, the shapes of the API with the view among them, from docs/schema/api.json.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));

const banner = `// Shapes of the API, and the view of a report. Generated from docs/schema/api.json by \`npm run types\`; do not edit.
`;

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

/** The text of src/api.ts for the committed schema. */
export async function types() {
  const schema = JSON.parse(readFileSync(at("../docs/schema/api.json"), "utf8"));
  return compile(translated(schema), "Api", {
    bannerComment: banner,
    additionalProperties: false,
    style: { printWidth: 120 },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(at("src/api.ts"), await types());
