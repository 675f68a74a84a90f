// A headless Chromium that looks at pages: /usr/bin/chromium, or what CHROMIUM names.
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
