// Writes a view into the built page, as crates/report does: node fill.mjs VIEW.json > report.html
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The token that stands where the data go; exactly once in the built page. */
export const TOKEN = "@@TARE_VIEW_JSON@@";

/** The page with the data in it. "<" is escaped, so that no text in the data can end the element. */
export function filled(page, json) {
  const parts = page.split(TOKEN);
  if (parts.length !== 2) throw new Error(`the page has ${parts.length - 1} places for data, not 1: build it again`);
  return parts[0] + json.replaceAll("<", "\\u003c") + parts[1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = readFileSync(fileURLToPath(new URL("dist/report.html", import.meta.url)), "utf8");
  process.stdout.write(filled(page, readFileSync(process.argv[2] ?? 0, "utf8")));
}
