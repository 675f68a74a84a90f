// A headless Chromium that looks at pages: /usr/bin/chromium, or what CHROMIUM names.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** Chromium never answers when it is asked for a much taller picture. */
const TALLEST = 16_000;

/**
 * A page of a browser of its own, and what goes wrong in it: script errors, errors in the console, and requests that
 * `isAllowed` refuses.
 */
export async function openPage(isAllowed) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--disable-quic"] });
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(error.stack ?? error.message));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (request) => isAllowed(request.url()) || trouble.push(`request to ${request.url()}`));
  return { page, trouble, close: () => browser.close() };
}

/** Writes a picture of the whole page, which is `height` high. */
export async function takePicture(page, path, height) {
  const { width } = page.viewportSize();
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, TALLEST) } });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What is wrong with a page for those who do not see it as most do goes to `trouble`. */
export async function examine(page, trouble, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of violations.filter(({ impact }) => impact === "serious" || impact === "critical")) {
    trouble.push(`${name}: ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
  }
}

/** Examines a page, and takes pictures of it in every width and theme when there is a folder for them. */
export async function picture(page, trouble, out, name) {
  await examine(page, trouble, name);
  for (const width of out === undefined ? [420] : [420, 1280, 1920]) {
    for (const colorScheme of out === undefined ? ["light"] : ["light", "dark"]) {
      await page.setViewportSize({ width, height: 1000 });
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(400);
      const { height, wide } = await page.evaluate(() => ({ height: document.documentElement.scrollHeight, wide: document.documentElement.scrollWidth - document.documentElement.clientWidth }));
      if (wide > 0) trouble.push(`${name}: ${wide} pixels too wide at ${width}`);
      if (out !== undefined) await takePicture(page, join(out, `${name}-${width}-${colorScheme}.png`), height);
    }
  }
  await page.setViewportSize({ width: 1280, height: 1000 });
}
