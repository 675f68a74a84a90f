// Uses the page of a running Acme Air in headless Chromium as a person would, from login to cancel, and looks:
// node --experimental-websocket look.mjs http://127.0.0.1:9080/ OUT
//
// For each width and theme it fails on script errors, on requests to elsewhere, on a page wider than its window and on a step that
// does not come about; it writes OUT/<step>-<width>-<theme>.png for people to look at. CHROMIUM is the browser, if not /usr/bin/chromium.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [url = "http://127.0.0.1:9080/", out = "looks"] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "acmeair-look-"));
const browser = spawn(process.env.CHROMIUM ?? "/usr/bin/chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", `--user-data-dir=${join(folder, "profile")}`,
  "--remote-debugging-port=0", "about:blank",
], { stdio: ["ignore", "ignore", "pipe"] });

function address() {
  return new Promise((done, fail) => {
    let text = "";
    const late = setTimeout(() => fail(new Error(`the browser did not start in 60 s: ${text}`)), 60_000);
    browser.stderr.on("data", (data) => {
      text = (text + data).slice(-4000);
      const found = /DevTools listening on (ws:\S+)/.exec(text);
      if (found) (clearTimeout(late), done(found[1]));
    });
  });
}

async function connect(to) {
  const socket = new WebSocket(to);
  await new Promise((done, fail) => ((socket.onopen = done), (socket.onerror = fail)));
  const waiting = new Map(), listeners = [];
  let next = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id === undefined) return listeners.forEach((listener) => listener(message));
    const { done, fail } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) fail(new Error(message.error.message));
    else done(message.result);
  };
  const send = (method, params = {}, sessionId) => new Promise((done, fail) => {
    const id = ++next;
    const late = setTimeout(() => fail(new Error(`${method} took more than 60 s`)), 60_000);
    waiting.set(id, { done: (result) => (clearTimeout(late), done(result)), fail });
    socket.send(JSON.stringify({ id, method, params, sessionId }));
  });
  return { send, listen: (listener) => listeners.push(listener), close: () => socket.close() };
}

/** What a person does; each step is there when its condition holds. */
const STEPS = [
  ["login", "", "document.querySelector('form#login') && document.querySelector('nav').offsetParent === null"],
  ["wrong", "document.querySelector('[name=password]').value = 'guess'; document.querySelector('form button').click()",
    "document.querySelector('.said.wrong').textContent.includes('do not belong together')"],
  ["search", "document.querySelector('[name=password]').value = 'password'; document.querySelector('form button').click()",
    "document.querySelector('form#search') && document.querySelector('nav').offsetParent && !document.querySelector('[name=returnDate]').offsetParent"],
  ["found", "document.querySelector('form#search button').click()", "document.querySelector('#found button.book')"],
  ["booked", "document.querySelector('#found button.book').click()", "document.querySelector('.said').textContent.startsWith('Booked')"],
  ["none", "document.querySelector('[name=toAirport]').value = 'IST'; document.querySelector('form#search button').click()",
    "document.querySelector('#found .empty')"],
  ["bookings", "location.hash = '#bookings'", "document.querySelector('button.cancel') && document.querySelector('.way').textContent.includes('London')"],
  ["cancelled", "document.querySelector('button.cancel').click()", "document.querySelector('.said').textContent.startsWith('Cancelled')"],
  ["profile", "location.hash = '#profile'", "document.querySelector('form#profile')"],
  ["saved", "document.querySelector('[name=city]').value = 'Springfield'; document.querySelector('[name=password]').value = 'password'; document.querySelector('form#profile button').click()",
    "document.querySelector('.said').textContent === 'Saved.' && document.querySelector('[name=city]').value === 'Springfield'"],
  ["out", "[...document.querySelectorAll('.who button')].at(-1).click()", "document.querySelector('form#login') && document.cookie === ''"],
];

let failed = false;
try {
  const { send, listen, close } = await connect(await address());
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const trouble = [];
  listen(({ method, params }) => {
    if (method === "Runtime.exceptionThrown") trouble.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    // A refused login is a status 403, which Chromium logs as an error of the network.
    if (method === "Log.entryAdded" && params.entry.level === "error" && params.entry.source !== "network") trouble.push(params.entry.text);
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith(new URL(url).origin) && !/^(about|data):/.test(params.request.url)) trouble.push(`request to ${params.request.url}`);
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`, {}, sessionId);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  for (const [width, theme] of [[1100, "light"], [1100, "dark"], [390, "light"], [390, "dark"]]) {
    await send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: false }, sessionId);
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: theme }] }, sessionId);
    await send("Page.navigate", { url }, sessionId);
    for (const [step, act, there] of STEPS) {
      const problems = [];
      if (act) await evaluate(`{ ${act} }`);
      const until = Date.now() + 30_000;
      const holds = `(() => { try { return Boolean(${there}); } catch { return false; } })()`;
      while (!(await evaluate(holds))) {
        if (Date.now() > until) {
          problems.push(`did not come about: ${there}; shown: ${await evaluate("document.body.innerText")}`);
          break;
        }
        await new Promise((done) => setTimeout(done, 30));
      }
      const { wide, height } = await evaluate("({ wide: document.documentElement.scrollWidth - document.documentElement.clientWidth, height: document.documentElement.scrollHeight })");
      if (wide > 0) problems.push(`${wide} wider than its window`);
      const clip = { x: 0, y: 0, width, height: Math.min(height, 4000), scale: 1 };
      const shot = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip }, sessionId);
      writeFileSync(join(out, `${step}-${width}-${theme}.png`), Buffer.from(shot.data, "base64"));
      problems.push(...trouble.splice(0));
      console.log(`${step} ${width} ${theme}: ${problems.length} problems`);
      for (const problem of problems) console.log(`  ${problem}`);
      failed ||= problems.length > 0;
    }
  }
  await send("Browser.close").catch(() => {});
  close();
} finally {
  browser.kill();
  await new Promise((done) => (browser.exitCode === null && browser.signalCode === null ? browser.once("exit", done) : done()));
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 });
  } catch (error) {
    console.log(`${folder} could not be removed: ${error.message}`);
  }
}
process.exitCode = failed ? 1 : 0;
