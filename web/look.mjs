// Opens the built report in headless Chromium and looks: node --experimental-websocket look.mjs VIEW.json|plain|odd|odd1 OUT [WIDTH…]
//
// For each width and theme it fails on script errors, on requests that leave the file, on a page wider than its window, and on text in
// pictures that is cut off; and writes OUT/<name>-<width>-<theme>.png for people to look at. It uses one Chromium that it starts
// and stops itself; set CHROMIUM to its path if it is not /usr/bin/chromium.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { odd, plain } from "./fixtures/views.mjs";
import { filled } from "./fill.mjs";

const [source = "plain", out = "looks", ...widths] = process.argv.slice(2);
const made = { plain, odd: () => odd(6), odd1: () => odd(1) };
const json = made[source] ? JSON.stringify(made[source]()) : readFileSync(source, "utf8");
const name = made[source] ? source : "view";
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "tare-look-"));
const page = join(folder, "report.html");
writeFileSync(page, filled(readFileSync(fileURLToPath(new URL("dist/report.html", import.meta.url)), "utf8"), json));

const browser = spawn(process.env.CHROMIUM ?? "/usr/bin/chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", `--user-data-dir=${join(folder, "profile")}`,
  "--remote-debugging-port=0", "about:blank",
], { stdio: ["ignore", "ignore", "pipe"] });

/** Removes the folder of a browser that has ended: its helpers may write there a moment longer. */
async function emptied(folder) {
  for (let tries = 20; ; tries -= 1) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (tries === 0) throw error;
      await new Promise((done) => setTimeout(done, 200));
    }
  }
}

/** Chromium never answers when it is asked for a much taller picture. */
const TALLEST = 16_000;

function address() {
  return new Promise((done, fail) => {
    let text = "";
    const late = setTimeout(() => fail(new Error(`the browser did not start in 30 s: ${text}`)), 30_000);
    browser.stderr.on("data", (data) => {
      text = (text + data).slice(-4000);
      const found = /DevTools listening on (ws:\S+)/.exec(text);
      if (found) {
        clearTimeout(late);
        done(found[1]);
      }
    });
  });
}

async function connect(url) {
  const socket = new WebSocket(url);
  await new Promise((done, fail) => {
    socket.onopen = done;
    socket.onerror = fail;
  });
  let next = 0;
  const waiting = new Map();
  const listeners = [];
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id === undefined) listeners.forEach((listener) => listener(message));
    else {
      const { done, fail } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) fail(new Error(message.error.message));
      else done(message.result);
    }
  };
  const send = (method, params = {}, sessionId) =>
    new Promise((done, fail) => {
      const id = ++next;
      const late = setTimeout(() => waiting.get(id)?.fail(new Error(`${method} took more than 60 s`)), 60_000);
      waiting.set(id, {
        done: (result) => (clearTimeout(late), done(result)),
        fail: (error) => (clearTimeout(late), fail(error)),
      });
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  return { send, listen: (listener) => listeners.push(listener), close: () => socket.close() };
}

// Runs in the page: waits, at most 10 s, until every picture that has room is drawn.
const drawn = `new Promise((done) => {
  const until = performance.now() + 10000;
  const look = () => {
    const missing = [...document.querySelectorAll(".holder")].filter((holder) => holder.clientWidth > 0 && !holder.querySelector("svg"));
    if (document.querySelector("h1") && missing.length === 0 || performance.now() > until) requestAnimationFrame(() => done());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

// Runs in the page: what is wrong with what is shown.
const examine = `(() => {
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
})()`;

let failed = false;
try {
  const { send, listen, close } = await connect(await address());
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const trouble = [];
  let loaded = () => {};
  listen(({ method, params }) => {
    if (method === "Runtime.exceptionThrown") trouble.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") trouble.push(params.entry.text);
    if (method === "Network.requestWillBeSent" && !/^(file|data|blob):/.test(params.request.url)) trouble.push(`request to ${params.request.url}`);
    if (method === "Page.loadEventFired") loaded();
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`, {}, sessionId);
  for (const width of widths.length === 0 ? [1280, 420] : widths.map(Number)) {
    for (const theme of ["light", "dark"]) {
      await send("Emulation.setDeviceMetricsOverride", { width, height: 1000, deviceScaleFactor: 1, mobile: false }, sessionId);
      // A change of the hash alone would not load the page again.
      for (const url of ["about:blank", `${pathToFileURL(resolve(page))}#theme=${theme}`]) {
        const ready = new Promise((done) => { loaded = done; });
        await send("Page.navigate", { url }, sessionId);
        await ready;
      }
      const evaluate = async (expression) =>
        (await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, sessionId)).result.value;
      if (process.env.OPEN) await evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })");
      if (process.env.CLICK) await evaluate(`document.querySelectorAll(${JSON.stringify(process.env.CLICK)}).forEach((b) => b.click())`);
      await evaluate(drawn);
      const seen = await evaluate(examine);
      if (process.env.EVAL) console.log(await evaluate(process.env.EVAL));
      const clip = { x: 0, y: 0, width, height: Math.min(seen.height, TALLEST), scale: 1 };
      const shot = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip }, sessionId);
      writeFileSync(join(out, `${name}-${width}-${theme}.png`), Buffer.from(shot.data, "base64"));
      const problems = [...trouble.splice(0), ...seen.problems];
      if (seen.pictures === 0) problems.push("no picture was drawn");
      console.log(`${name} ${width} ${theme}: ${seen.pictures} pictures, ${seen.height} high, ${problems.length} problems`);
      for (const problem of problems) console.log(`  ${problem}`);
      failed ||= problems.length > 0;
    }
  }
  await send("Browser.close").catch(() => {});
  close();
} finally {
  browser.kill();
  await new Promise((done) => (browser.exitCode === null && browser.signalCode === null ? browser.once("exit", done) : done()));
  await emptied(folder);
}
process.exitCode = failed ? 1 : 0;
