// Checks what is committed: types as the schema says, the page built from these sources, one file that asks nobody for anything.
//
//   node check.mjs                     without building
//   node check.mjs --build             builds again in a temporary folder and compares byte by byte
//   … --schema FILE                    compares the committed schema with FILE (`tare schema view`; `-` is standard input)
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TOKEN } from "./fill.mjs";
import { committedSchema, typesFor } from "./generate-types.mjs";
import { hashSources } from "./hash-sources.mjs";

const LARGEST_BYTES = 400_000;
const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const page = readFileSync(at("dist/report.html"), "utf8");
const problems = [];
const expect = (holds, problem) => holds || problems.push(problem);

expect(readFileSync(at("src/view.ts"), "utf8") === (await typesFor(committedSchema())), "src/view.ts is stale: npm run types");

const hash = /<meta name="tare-web-sources" content="sha256:([0-9a-f]{64})" \/>/.exec(page)?.[1];
expect(hash === hashSources(), "dist/report.html is older than its sources: npm run build");
expect(page.split(TOKEN).length === 2, "dist/report.html must have exactly one place for data");
expect(page.length < LARGEST_BYTES, `dist/report.html has ${page.length} bytes, more than ${LARGEST_BYTES}`);
expect(/Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/.test(page), "the policy against the network is missing");
expect(!/\beval\(|new Function\b|\bimport\(/.test(page), "dist/report.html makes code from text or loads it");
expect(!/<(?:link|img|iframe)\b|<script[^>]*\bsrc=|@import|url\(\s*["']?https?:/i.test(page), "dist/report.html refers to another file");

const schemaAt = process.argv.indexOf("--schema");
if (schemaAt !== -1) {
  const name = process.argv[schemaAt + 1];
  const given = JSON.parse(readFileSync(name === "-" || name === undefined ? 0 : name, "utf8"));
  const same = JSON.stringify(given) === JSON.stringify(committedSchema());
  expect(same, "src/view.schema.json is stale: tare schema view | node generate-types.mjs --from -");
}

if (process.argv.includes("--build")) {
  const { build } = await import("vite");
  const folder = mkdtempSync(join(tmpdir(), "tare-web-"));
  try {
    await build({ root: at("."), logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
    expect(readFileSync(join(folder, "report.html"), "utf8") === page, "building again gives another dist/report.html: npm ci && npm run build");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const problem of problems) console.error(problem);
if (problems.length === 0) console.log("web: types, bundle and policy are as they should be");
process.exitCode = problems.length === 0 ? 0 : 1;
