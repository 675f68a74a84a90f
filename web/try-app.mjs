// Uses the application in headless Chromium over a real server: node try-app.mjs LINK URL [OUT]
//
// LINK is what `tare serve` printed, URL a server to load. An experiment is started, watched, stopped and resumed until it has a finding, and
// the log of a trial is read; loads are started and stopped and laid over each other and over a result of Fortio. It fails on script errors,
// on breaches of the policy, on pages wider than their window, on what axe-core calls serious, and when something does not come about in
// time. With OUT, pictures of every page.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openPage, picture as examineAndPicture } from "./browser.mjs";

const [link, target, out, experiment = "istio-performance/sidecar"] = process.argv.slice(2);
const origin = new URL(link).origin;
/** Longest time of a run, which takes half a minute on a quiet machine. */
const RUN_MS = 400_000;

if (out !== undefined) mkdirSync(out, { recursive: true });
const { page, trouble, close } = await openPage((url) => url.startsWith(origin) || /^(about|data|blob):/.test(url));

const picture = (name) => examineAndPicture(page, trouble, out, name);
const said = (text) => page.getByText(text).first();
const button = (name) => page.getByRole("button", { name, exact: true }).first();
const step = (text) => console.log(`page: ${text}`);

async function fill(label, text) {
  // A label may have a unit behind its field.
  await page.locator("label").filter({ has: page.getByText(label, { exact: true }) }).locator("input, textarea").first().fill(text);
}

/** Chooses one of several; the word covers its button. */
async function choose(text) {
  await page.locator("label").filter({ has: page.getByText(text, { exact: true }) }).first().click();
}

/** Starts a load, and returns when its page is there. */
async function startLoad(more) {
  await page.goto(`${origin}/loads/new`);
  await fill("URL", target);
  await fill("Connections", "2");
  await more();
  await button("Start").click();
  await page.waitForURL((url) => /^\/loads\/\d/.test(url.pathname));
}

try {
  await page.goto(link);
  await said("No run").waitFor();
  step("the link opens the page");
  await picture("nothing");

  await page.goto(`${origin}/new`);
  await page.locator(".library label", { hasText: experiment }).first().click();
  await said("Routes of the arms").waitFor();
  await picture("new");
  await button("Start").click();
  await page.waitForURL((url) => url.pathname.startsWith("/runs/"), { timeout: RUN_MS });
  await page.locator("#verdict li, #verdict p").first().waitFor({ timeout: RUN_MS });
  step("a run is started and watched; the first block has a provisional result");
  await button("Stop").click();
  await button("Resume").waitFor({ timeout: RUN_MS });
  step("it is stopped");
  await button("Resume").click();
  await button("Stop").waitFor({ timeout: RUN_MS });
  await picture("live");
  step("it is resumed");
  await page.getByRole("link", { name: "Download the report" }).waitFor({ timeout: RUN_MS });
  await page.locator("#verdict .finding li").first().waitFor({ timeout: RUN_MS });
  step(`finding: ${await page.locator("#verdict .finding li").first().innerText()}`);
  await picture("report");
  await page.locator('a[href$="/trials/1"]').first().click();
  await page.waitForURL((url) => url.pathname.endsWith("/trials/1"));
  await page.locator(".files button", { hasText: ".log" }).first().click();
  await page.locator(".files pre, pre.plan").first().waitFor();
  step("a log of a trial is read");
  await picture("trial");

  await startLoad(async () => {
    await fill("Labels", "until stopped");
    await choose("stopped");
    await fill("Rate", "200");
  });
  await page.waitForTimeout(2500);
  await picture("load-live");
  await button("Stop").click();
  await said("p99").waitFor();
  await said("Histogram, until stopped").waitFor();
  step("a load is started and stopped; its histogram is there");
  await picture("load");
  await startLoad(async () => {
    await fill("Labels", "two clients");
    await choose("clients");
    await fill("Clients", "2");
    await choose("a number");
    await fill("Requests", "500");
  });
  await said("two clients").waitFor();
  await page.goto(`${origin}/loads`);
  const fortio = {
    Labels: "of years ago", StartTime: "2019-03-01T10:00:00Z", RequestedQPS: "200", ActualQPS: 199.8, ActualDuration: 10_000_000_000, NumThreads: 2, Version: "1.3.0",
    DurationHistogram: { Count: 1998, Min: 0.0002, Max: 0.009, Avg: 0.0011, Data: [50, 75, 90, 99, 99.9, 100].map((Percent, i) => ({ Start: 0.001 * i, End: 0.001 * (i + 1), Percent, Count: 300 })), Percentiles: [50, 75, 90, 99, 99.9].map((Percentile, i) => ({ Percentile, Value: 0.001 * (i + 1) })) },
    RetCodes: { 200: 1998 }, URL: "http://old/",
  };
  await page.locator('input[type="file"]').first().setInputFiles({ name: "fortio.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(fortio)) });
  await said("of years ago").waitFor();
  step("a result of Fortio is imported");
  await page.goto(`${origin}/loads`);
  await said("until stopped").waitFor();
  await picture("loads");
  for (const box of await page.locator('input[type="checkbox"][aria-label^="Select"]').all()) await box.check();
  await button("Compare").click();
  await page.waitForURL((url) => url.pathname === "/loads/compare");
  await page.locator("svg").first().waitFor();
  step("three loads are laid over each other");
  await picture("compare-loads");
  await page.goto(`${origin}/history`);
  await page.locator("tbody a", { hasText: experiment }).first().click();
  await page.locator(".trend a").first().click();
  await page.locator(".big-trend svg[role=img]").waitFor();
  await page.locator(".run-at a").click();
  await page.waitForURL((url) => url.pathname.startsWith("/runs/"));
  step("the history has the run");
  await page.goto(`${origin}/`);
  await page.locator(".run-row").first().waitFor();
  await picture("runs");
  await page.goto(`${origin}/machine`);
  await said("cores").waitFor();
  await picture("machine");
  await page.getByRole("link", { name: "Audit log" }).click();
  await said("POST loads").waitFor();
  await said("signed in").waitFor();
  await picture("audit");
  step("the audit log has what was started");
  if (trouble.length > 0) throw new Error(trouble.join("\n"));
  step("no error in the console, no breach of the policy");
  await button("Sign out").click();
  await said("open the link").waitFor();
  step("signed out, nothing is shown");
} catch (error) {
  if (out !== undefined) await page.screenshot({ path: join(out, "failed.png"), fullPage: true });
  console.error(`${page.url()}\n${await page.locator("body").innerText()}\n${trouble.join("\n")}`);
  console.error(error);
  process.exitCode = 1;
} finally {
  await close();
}
