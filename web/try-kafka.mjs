// Uses the Kafka pages in headless Chromium over a real server and a real cluster of three brokers: node try-kafka.mjs LINK BOOTSTRAP [OUT]
//
// LINK is what `tare serve` printed. kcat is the client that Tare does not know: it writes, and reads in a group. Whoever starts this kills
// and starts brokers: it reads a line "ask: kill 3" or "ask: start 3", and answers with a line. It fails on script errors, on breaches of the
// policy, on pages wider than their window, on what axe-core calls serious, on figures that kcat does not agree with, and when something does
// not come about in time. With OUT, pictures of every page.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { openPage, picture as examineAndPicture } from "./browser.mjs";

const [link, bootstrap, out] = process.argv.slice(2);
const origin = new URL(link).origin;
if (out !== undefined) mkdirSync(out, { recursive: true });
const { page, trouble, close } = await openPage((url) => url.startsWith(origin) || /^(about|data|blob):/.test(url));
await page.setViewportSize({ width: 1280, height: 1000 });

const picture = (name) => examineAndPicture(page, trouble, out, name);
const step = (text) => console.log(`page: ${text}`);
const dialog = page.locator("dialog");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const at = (path) => page.goto(`${origin}${path}`);
const heading = (text) => page.locator(`h1:text-is("${text}")`).waitFor();
/** The problem of a kind, in the strip of the cluster. */
const problem = (text) => page.locator(".strip", { hasText: text });

async function ask(words) {
  console.log(`ask: ${words}`);
  await lines.next();
}

/** Opens the overview, and waits until a reading does not have this problem. */
async function without(text) {
  await at("/kafka/three");
  await page.locator(".strip li, .strip p", { hasText: /▲|●/ }).first().waitFor();
  await problem(text).waitFor({ state: "detached" });
}

async function confirm() {
  await dialog.locator("button.strong").click();
  await dialog.waitFor({ state: "detached" });
}

function kcat(words, input = "") {
  const { status, stdout, stderr } = spawnSync("kcat", ["-b", bootstrap, ...words], { input, encoding: "utf8" });
  if (status !== 0) throw new Error(`kcat ${words.join(" ")}: ${stderr}`);
  return stdout;
}

const records = (count, bytes) => Array.from({ length: count }, (_, index) => `${index}:${String(index).padEnd(bytes, ".")}\n`).join("");
/** What kcat says of the ends of a topic's partitions. */
const ends = (topic, partitions) => Array.from({ length: partitions }, (_, number) => Number(kcat(["-Q", "-t", `${topic}:${number}:-1`]).trim().split(" ").at(-1)));
/** A number of a table's cell, as people read it. */
const numberOf = (text) => Number(text.replaceAll(/[^\d.-]/g, ""));

let writing;
let reading;
try {
  await page.goto(link);
  await at("/kafka");
  await picture("kafka-none");
  await page.click("text=Add a cluster …");
  await dialog.getByLabel("Name").first().fill("three");
  await dialog.getByLabel("Bootstrap").fill(bootstrap);
  await dialog.getByLabel("records can be shown").check();
  await dialog.getByText("Test", { exact: true }).click();
  await page.waitForSelector("text=It answers");
  await dialog.getByText("Save").click();
  await page.locator("a:text-is('three')").click();
  await heading("three");
  step("a cluster is added, tested and opened");

  await at("/kafka/three/topics");
  await page.click("text=Create a topic …");
  await dialog.getByLabel("Name").fill("orders");
  await dialog.getByLabel("Partitions").fill("4");
  await dialog.getByLabel(/Replicas/).first().fill("2");
  await dialog.locator("button.strong").click();
  await page.waitForURL("**/topics/orders");
  await heading("orders");
  step("a topic is created");

  kcat(["-P", "-t", "orders", "-K", ":"], records(4000, 200));
  reading = spawn("kcat", ["-b", bootstrap, "-q", "-G", "readers", "-X", "auto.offset.reset=earliest", "-X", "auto.commit.interval.ms=500", "orders"], { stdio: "ignore" });
  // A record every few milliseconds, as long as this lasts.
  writing = spawn("kcat", ["-b", bootstrap, "-P", "-t", "orders", "-X", "linger.ms=5"], { stdio: ["pipe", "ignore", "ignore"] });
  const timer = setInterval(() => writing.stdin.write("one more\n".repeat(10)), 50);
  writing.on("exit", () => clearInterval(timer));
  writing.stdin.on("error", () => clearInterval(timer));
  await page.waitForFunction(() => /[1-9]\d*(\.\d+)?\/s/.test(document.querySelector("main")?.innerText ?? ""), undefined, { timeout: 60_000 });
  await page.locator("a:text-is('readers')").first().waitFor();
  step("the rate of a foreign producer and the group of a foreign consumer are seen");
  await page.click("text=Show the newest records");
  await page.locator("text=one more").first().waitFor();
  await picture("kafka-topic");
  await at("/kafka/three/groups/readers");
  await heading("readers");
  await page.locator("svg, canvas").first().waitFor();
  await page.waitForTimeout(5000);
  await picture("kafka-group");
  clearInterval(timer);
  writing.stdin.end();
  await at("/kafka/three");
  await heading("three");
  await page.waitForTimeout(5000);
  await picture("kafka-overview");

  await at("/kafka/three/topics/orders");
  await heading("orders");
  await page.waitForTimeout(6000);
  const known = ends("orders", 4);
  const rows = await page.locator(".virtual tbody tr").all();
  const shown = [];
  const column = (await page.locator(".virtual thead th").allInnerTexts()).findIndex((text) => text.includes("end offset"));
  for (const row of rows) shown.push(numberOf(await row.locator("th, td").nth(column).innerText()));
  if (JSON.stringify(shown) !== JSON.stringify(known)) throw new Error(`the page shows the ends ${shown}, kcat says ${known}`);
  step(`kcat agrees with the ends of ${known.length} partitions`);

  await page.click("text=Add partitions …");
  await dialog.getByLabel("Partitions").fill("6");
  await confirm();
  await page.waitForFunction(() => document.querySelectorAll(".virtual tbody tr").length === 6);
  const metadata = JSON.parse(kcat(["-L", "-J", "-t", "orders"]));
  if (metadata.topics[0].partitions.length !== 6) throw new Error("kcat does not see six partitions");
  await page.click("[aria-label='Edit retention.ms']");
  await dialog.locator("input").fill("3600000");
  await confirm();
  await page.waitForSelector("tr.changed:has-text('retention.ms')");
  step("it has grown, and a key of its configuration is changed");

  reading.kill();
  await at("/kafka/three/groups/readers");
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((one) => one.textContent?.startsWith("Reset offsets") && !one.disabled), undefined, { timeout: 90_000 });
  await page.click("text=Reset offsets …");
  await dialog.locator("select").nth(1).selectOption("earliest");
  await dialog.locator("button.strong").click();
  await page.waitForSelector("dialog table");
  await picture("kafka-reset");
  await dialog.locator("button.strong:text-is('Reset')").click();
  await dialog.waitFor({ state: "detached" });
  step("offsets are reset after a preview");

  kcat(["-P", "-t", "orders", "-K", ":"], records(30_000, 1000));
  await at("/kafka/three/topics");
  await page.check("[aria-label='Select orders']");
  await picture("kafka-topics");
  await page.click("text=Reassign …");
  await page.click("text=/broker 3\\b/");
  await page.click("text=Make a plan");
  await page.waitForSelector("text=partitions change");
  await picture("kafka-plan");
  step("a plan is made");
  await page.getByLabel("Throttle of each broker").fill("0.2");
  await page.click("text=Run …");
  await confirm();
  await page.waitForSelector("#ongoing .virtual");
  await page.waitForTimeout(3000);
  await picture("kafka-reassignments");
  const moving = await page.locator("#ongoing tbody tr").count();
  await page.locator("#ongoing tbody button").first().click();
  await confirm();
  await page.waitForFunction((before) => document.querySelectorAll("#ongoing tbody tr").length < before, moving);
  step(`${moving} partitions move with a throttle, and one of them is cancelled`);
  await page.click("text=Cancel all …");
  await confirm();
  await page.waitForSelector("#ongoing .none");
  await without("throttled");

  await ask("kill 3");
  await at("/kafka/three");
  await problem("do not answer").waitFor();
  await problem("in sync").waitFor();
  await picture("kafka-broker-down");
  await at("/kafka/three/brokers/3");
  await page.locator("text=/is down/").first().waitFor();
  step("a killed broker is seen");
  await ask("start 3");
  await without("do not answer");
  await without("have replicas that are down");
  step("it is back");
  // The killed broker was a preferred leader, and another one leads now.
  await at("/kafka/three/reassign");
  await page.getByRole("button", { name: /^Elect all/ }).click();
  await confirm();
  await without("preferred leader");
  step("preferred leaders are elected");

  await at("/kafka/three/topics/orders");
  await page.click("text=Compare replicas …");
  await dialog.locator("button.strong").click();
  await page.waitForSelector("text=no replica differs", { timeout: 120_000 });
  await picture("kafka-verify");
  step("replicas are compared");
  await at("/kafka/three/brokers/1");
  await page.locator("h1").first().waitFor();
  await page.waitForTimeout(4000);
  await picture("kafka-broker");

  await at("/kafka/three/topics/orders");
  await page.click("text=Delete …");
  await dialog.locator("input").fill("orders");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/topics");
  const left = JSON.parse(kcat(["-L", "-J"])).topics.map(({ topic }) => topic);
  if (left.includes("orders")) throw new Error("kcat still sees the deleted topic");
  step("the topic is deleted");
  // Refusals and a broker that is down are answers of the server, and lines of the console.
  const unexpected = trouble.filter((text) => !/status of (404|422|502)/.test(text));
  if (unexpected.length > 0) throw new Error(unexpected.join("\n"));
  console.log("page: done");
} catch (error) {
  if (out !== undefined) await page.screenshot({ path: `${out}/failed.png`, fullPage: true }).catch(() => undefined);
  console.error(String(error.message ?? error), "\n", page.url(), "\n", (await page.locator("main").innerText().catch(() => "")).slice(0, 2000), "\n", trouble.join("\n"));
  process.exitCode = 1;
} finally {
  reading?.kill();
  writing?.kill();
  await close();
}
process.exit();
