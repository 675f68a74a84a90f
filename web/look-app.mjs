// Opens the built application in headless Chromium over a made-up server and looks: node look-app.mjs [OUT] [WIDTH…]
//
// For each view, width and theme it fails on script errors and breaches of the policy, on requests to other places, on a page wider than
// its window, and on what axe-core calls serious; with OUT it writes OUT/<view>-<width>-<theme>.png. MANY: how many runs and loads.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openPage, takePicture } from "./browser.mjs";
import { serveMock } from "./mock.mjs";

const [out, ...widths] = process.argv.slice(2);
const many = Number(process.env.MANY ?? 12);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const mock = await serveMock({ many, readOnly: process.env.READ_ONLY !== undefined });
const { runs } = await (await fetch(`${mock.url}/api/v1/runs`)).json();
const { loads } = await (await fetch(`${mock.url}/api/v1/loads`)).json();
const [live, done, other] = runs.filter((run) => run.state !== "unreadable").map((run) => run.id);
const broken = runs.find((run) => run.state === "unreadable")?.id;

/** Views: where they are, and what is clicked there first. */
const views = [
  ["runs", "/"],
  ["selected", "/", ".run-row:nth-child(2) input", ".run-row:nth-child(3) input"],
  ["delete", "/", ".run-row:nth-child(2) input", "text=Delete …"],
  ["new", "/new"],
  ["planned", "/new", ".library label:first-child", "text=The whole plan"],
  ["yaml", "/new", ".library label:first-child", "text=Edit as YAML"],
  ["live", `/runs/${live}`],
  ["report", `/runs/${done}`],
  ["unreadable", `/runs/${broken}`],
  ["trial", `/runs/${done}/trials/1`, ".files li:nth-child(1) button"],
  ["compare", `/compare?run=${done}&run=${other}`],
  ["compare-three", `/compare?run=${done}&run=${other}&run=${live}`],
  ["loads", "/loads"],
  ["load-live", `/loads/${loads[0]?.id}`],
  ["load", `/loads/${loads[1]?.id}`],
  ["compare-loads", `/loads/compare?load=${loads[1]?.id}&load=${loads[2]?.id}`],
  ["new-load", "/loads/new"],
  ["machine", "/machine"],
  ["audit", "/audit"],
  ["history", "/history"],
  ["history-experiment", "/history/experiment?experiment=istio-performance/sidecar&form=full"],
  ["history-two-machines", "/history/experiment?experiment=istio-performance/sidecar&form=quick&metric=p99"],
  ["history-one-run", "/history/experiment?experiment=egress/gateway&form=full"],
  ["history-load", `/history/experiment?experiment=${encodeURIComponent("load: GET http://127.0.0.1:8080/echo, 8 connections, HTTP/1.1, 10 s")}`],
  ["history-series", "/history/series?experiment=istio-performance/sidecar&form=full&metric=p99&arm=both-sidecars-mtls&level=400/s"],
  ["history-log", "/history/series?experiment=istio-performance/sidecar&form=full&metric=median&arm=client-sidecar&level=2000/s", "text=logarithmic"],
  ["history-no-change", "/history/series?experiment=istio-performance/sidecar&form=full&metric=median&arm=direct&level=400/s"],
  ["history-one-point", "/history/series?experiment=egress/gateway&form=full&metric=p99&arm=gateway"],
  ["history-nights", "/history/nights"],
  ["history-gone", "/history/experiment?experiment=nothing"],
  ["history-missing", "/history/series?experiment=nothing"],
  ["kafka", "/kafka"],
  ["kafka-add", "/kafka", "text=Add a cluster …"],
  ["kafka-edit", "/kafka", "[aria-label='Edit gone']", "dialog button >> text=Test"],
  ["kafka-overview", "/kafka/prod"],
  ["kafka-bare", "/kafka/lab"],
  ["kafka-gone", "/kafka/gone"],
  ["kafka-empty", "/kafka/new"],
  ["kafka-unknown", "/kafka/none"],
  ["kafka-topics", "/kafka/prod/topics"],
  ["kafka-topics-bare", "/kafka/lab/topics"],
  ["kafka-topics-none", "/kafka/new/topics"],
  ["kafka-create", "/kafka/prod/topics", "text=Create a topic …"],
  ["kafka-delete", "/kafka/prod/topics", "[aria-label='Select orders']", "[aria-label='Select payments']", "text=Delete …"],
  ["kafka-topic", "/kafka/prod/topics/payments", "text=Show the newest records"],
  ["kafka-topic-bare", "/kafka/lab/topics/orders"],
  ["kafka-grow", "/kafka/prod/topics/orders", "text=Add partitions …"],
  ["kafka-config", "/kafka/prod/topics/orders", "[aria-label='Edit retention.ms']"],
  ["kafka-verify", "/kafka/prod/topics/orders", "text=Compare replicas …", "dialog button.strong"],
  ["kafka-topic-missing", "/kafka/prod/topics/none"],
  ["kafka-broker", "/kafka/prod/brokers/1"],
  ["kafka-broker-bare", "/kafka/lab/brokers/3"],
  ["kafka-broker-metrics", "/kafka/prod/brokers/3"],
  ["kafka-groups", "/kafka/prod/groups"],
  ["kafka-group", "/kafka/prod/groups/readers"],
  ["kafka-reset", "/kafka/prod/groups/billing", "text=Reset offsets …", "text=Show what would change"],
  ["kafka-reassign", "/kafka/prod/reassign"],
  ["kafka-by-hand", "/kafka/prod/reassign", "text=by hand"],
  ["kafka-reassignments", "/kafka/prod/reassign", "text=broker 3, rack-3", "text=Make a plan", "text=Run …", "dialog button.strong"],
  ["missing", "/runs/none"],
  ["nowhere", "/nothing/here"],
].filter(([, path, ...clicks]) => !path.includes("undefined") && (clicks.length === 0 || (many > 2 && process.env.READ_ONLY === undefined)) && (process.env.ONLY === undefined || new RegExp(process.env.ONLY).test(path)));

if (out !== undefined) mkdirSync(out, { recursive: true });
let failed = false;
const { page, trouble, close } = await openPage((url) => url.startsWith(mock.url) || /^(about|data|blob):/.test(url));
try {
  for (const width of widths.length === 0 ? [420, 1280] : widths.map(Number)) {
    for (const theme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 1000 });
      await page.emulateMedia({ colorScheme: theme });
      for (const [name, path, ...clicks] of views) {
        mock.reset();
        await page.goto(mock.url + path, { waitUntil: "load" });
        for (const what of clicks) {
          await page.locator(what).first().click({ timeout: 8000 }).catch((error) => trouble.push(`${what}: ${error.message.split("\n")[0]}`));
        }
        await page.waitForTimeout(name === "yaml" || path.startsWith("/runs/") ? 1500 : /^kafka-(overview|broker|group|verify|reassignments)/.test(name) ? 5000 : 700);
        const seen = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, room: document.documentElement.clientWidth, height: document.documentElement.scrollHeight, text: document.body.innerText.length }));
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const problems = trouble.splice(0).filter((text) => !(name.endsWith("missing") && text.includes("404")) && !(path.startsWith("/kafka") && text.includes("502")));
        if (seen.wide > seen.room) problems.push(`page is ${seen.wide} wide in ${seen.room}`);
        for (const one of violations) {
          if (one.impact !== "minor") problems.push(`axe ${one.impact} ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
        }
        if (out !== undefined) await takePicture(page, join(out, `${name}-${width}-${theme}.png`), seen.height);
        console.log(`${name} ${width} ${theme}: ${seen.height} high, ${problems.length} problems`);
        for (const problem of problems) console.log(`  ${problem}`);
        failed ||= problems.length > 0;
      }
    }
  }
} finally {
  await close();
  await mock.close();
}
process.exitCode = failed ? 1 : 0;
