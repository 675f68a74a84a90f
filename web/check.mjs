// Checks what is committed: types as the schema says, pages built from these sources, a report that asks nobody for anything, an
// application that is small and has no script or style within its page.
//
//   node check.mjs                     without building
//   node check.mjs --build             builds again in a temporary folder and compares byte by byte
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { TOKEN } from "./fill.mjs";
import { types } from "./generate-types.mjs";
import { hashSources } from "./hash-sources.mjs";

const LARGEST_BYTES = 400_000;
/** Of everything that the list of runs loads, compressed; and of every view but the editor. */
const FIRST_GZIP_BYTES = 60_000;
const LARGEST_GZIP_BYTES = 300_000;
const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const page = readFileSync(at("dist/report.html"), "utf8");
const application = readFileSync(at("dist/app/index.html"), "utf8");
const problems = [];
const expect = (holds, problem) => holds || problems.push(problem);

for (const { file, text } of await types()) expect(readFileSync(at(file), "utf8") === text, `${file} is stale: npm run types`);

for (const [name, text] of [["report.html", page], ["app/index.html", application]]) {
  const hash = /<meta name="tare-web-sources" content="sha256:([0-9a-f]{64})" \/>/.exec(text)?.[1];
  expect(hash === hashSources(), `dist/${name} is older than its sources: npm run build`);
}
expect(page.split(TOKEN).length === 2, "dist/report.html must have exactly one place for data");
expect(page.length < LARGEST_BYTES, `dist/report.html has ${page.length} bytes, more than ${LARGEST_BYTES}`);
expect(/Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/.test(page), "the policy against the network is missing");
expect(!/\beval\(|new Function\b|\bimport\(/.test(page), "dist/report.html makes code from text or loads it");
expect(!/<(?:link|img|iframe)\b|<script[^>]*\bsrc=|@import|url\(\s*["']?https?:/i.test(page), "dist/report.html refers to another file");

expect(!/<style|<script(?![^>]*\bsrc=)|\s(?:style|on\w+)=/i.test(application), "dist/app/index.html has a script or a style within: the policy forbids it");

/** Bytes of a file and of all that it imports at once, compressed. */
function loaded(name, seen = new Set()) {
  if (seen.has(name)) return 0;
  seen.add(name);
  const text = readFileSync(at(`dist/app/${name}`), "utf8");
  expect(!/\beval\(|new Function\b/.test(text), `dist/app/${name} makes code from text`);
  const imports = [...text.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w.-]+\.js)"/g)].map((found) => found[1]);
  return imports.reduce((sum, one) => sum + loaded(one, seen), gzipSync(text).length);
}
const common = gzipSync(application).length + gzipSync(readFileSync(at("dist/app/app.css"))).length;
const first = common + loaded("app.js");
expect(first < FIRST_GZIP_BYTES, `the list of runs loads ${first} bytes, more than ${FIRST_GZIP_BYTES}`);
const clash = readdirSync(at("dist/app")).map((name) => name.toLowerCase()).filter((name, index, all) => all.indexOf(name) !== index || /\w2\.js$/.test(name));
expect(clash.length === 0, `two modules give chunks of one name: ${clash.join()}; rename one`);
for (const name of readdirSync(at("dist/app")).filter((one) => one.endsWith(".js"))) {
  const bytes = common + loaded(name);
  expect(bytes < LARGEST_GZIP_BYTES, `dist/app/${name} loads ${bytes} bytes, more than ${LARGEST_GZIP_BYTES}`);
}

if (process.argv.includes("--build")) {
  const { build } = await import("vite");
  const folder = mkdtempSync(join(tmpdir(), "tare-web-"));
  try {
    await build({ root: at("."), logLevel: "error", build: { outDir: folder } });
    await build({ root: at("."), logLevel: "error", mode: "app", build: { outDir: join(folder, "app"), emptyOutDir: true } });
    const names = (top) => ["report.html", ...readdirSync(join(top, "app")).map((name) => `app/${name}`)].sort();
    expect(names(folder).join() === names(at("dist")).join(), "building again gives other files in dist: npm ci && npm run build");
    for (const name of names(folder)) {
      const same = names(at("dist")).includes(name) && readFileSync(join(folder, name)).equals(readFileSync(at(`dist/${name}`)));
      expect(same, `building again gives another dist/${name}: npm ci && npm run build`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const problem of problems) console.error(problem);
if (problems.length === 0) console.log(`web: types, bundles and policy are as they should be; the list of runs loads ${first} bytes`);
process.exitCode = problems.length === 0 ? 0 : 1;
