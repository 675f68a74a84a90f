// Opens the built report in headless Chromium and looks: node look.mjs VIEW.json|plain|odd|odd1 OUT [WIDTH…]
//
// For each width and theme it fails on script errors, on requests that leave the file, on a page wider than its window, and on text in
// pictures that is cut off; and writes OUT/<name>-<width>-<theme>.png for people to look at. CHROMIUM is the browser, if not
// /usr/bin/chromium.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openPage, takePicture } from "./browser.mjs";
import { odd, plain } from "./fixtures/views.mjs";
import { filled } from "./fill.mjs";

const [source = "plain", out = "looks", ...widths] = process.argv.slice(2);
const made = { plain, odd: () => odd(6), odd1: () => odd(1) };
const json = made[source] ? JSON.stringify(made[source]()) : readFileSync(source, "utf8");
const name = made[source] ? source : "view";
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "tare-look-"));
const file = join(folder, "report.html");
writeFileSync(file, filled(readFileSync(fileURLToPath(new URL("dist/report.html", import.meta.url)), "utf8"), json));

/** Runs in the page: waits, at most 10 s, until every picture that has room is drawn. */
const drawn = () => new Promise((done) => {
  const until = performance.now() + 10_000;
  const look = () => {
    const missing = [...document.querySelectorAll(".holder")].filter((holder) => holder.clientWidth > 0 && !holder.querySelector("svg"));
    if ((document.querySelector("h1") && missing.length === 0) || performance.now() > until) requestAnimationFrame(() => done());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});

/** Runs in the page: what is wrong with what is shown. */
const examine = () => {
  const problems = [];
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > room) problems.push("page is " + document.documentElement.scrollWidth + " wide in " + room);
  for (const svg of document.querySelectorAll(".holder svg")) {
    const box = svg.getBoundingClientRect();
    const title = svg.getAttribute("aria-label").split(".")[0];
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent !== "" && text.getBoundingClientRect().width > 0);
    for (const text of texts) {
      const at = text.getBoundingClientRect();
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1)
        problems.push(title + ": cut off: " + text.textContent);
    }
    const boxes = texts.map((text) => text.getBoundingClientRect());
    for (let i = 0; i < texts.length; i += 1) for (let j = i + 1; j < texts.length; j += 1) {
      const [a, b] = [boxes[i], boxes[j]];
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 1 && y > 3) problems.push(title + ": overlap: " + texts[i].textContent + " / " + texts[j].textContent);
    }
  }
  return { problems, pictures: document.querySelectorAll(".holder svg").length, height: document.documentElement.scrollHeight };
};

let failed = false;
const { page, trouble, close } = await openPage((url) => /^(about|file|data|blob):/.test(url));
try {
  for (const width of widths.length === 0 ? [1280, 420] : widths.map(Number)) {
    for (const theme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 1000 });
      // A change of the hash alone would not load the page again.
      await page.goto("about:blank");
      await page.goto(`${pathToFileURL(resolve(file))}#theme=${theme}`);
      if (process.env.OPEN) await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
      if (process.env.CLICK) await page.evaluate((what) => document.querySelectorAll(what).forEach((b) => b.click()), process.env.CLICK);
      await page.evaluate(drawn);
      const seen = await page.evaluate(examine);
      if (process.env.EVAL) console.log(await page.evaluate(process.env.EVAL));
      await takePicture(page, join(out, `${name}-${width}-${theme}.png`), seen.height);
      const problems = [...trouble.splice(0), ...seen.problems];
      if (seen.pictures === 0) problems.push("no picture was drawn");
      console.log(`${name} ${width} ${theme}: ${seen.pictures} pictures, ${seen.height} high, ${problems.length} problems`);
      for (const problem of problems) console.log(`  ${problem}`);
      failed ||= problems.length > 0;
    }
  }
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
