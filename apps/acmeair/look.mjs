// Uses the page of a running Acme Air in headless Chromium as a person would, from login to cancel, and looks:
// node look.mjs http://127.0.0.1:9080/ OUT (after `npm ci` in web/)
//
// For each width and theme it fails on script errors, on requests to elsewhere, on a page wider than its window and on a step that
// does not come about; it writes OUT/<step>-<width>-<theme>.png for people to look at. CHROMIUM is the browser, if not /usr/bin/chromium.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openPage, takePicture } from "../../web/browser.mjs";

const [url = "http://127.0.0.1:9080/", out = "looks"] = process.argv.slice(2);
mkdirSync(out, { recursive: true });

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

/** Chromium logs a status of 400 and more as an error, as that of a refused login. */
const isAnswered = (text) => text.startsWith("Failed to load resource: the server responded with");

let failed = false;
const { page, trouble, close } = await openPage((to) => to.startsWith(new URL(url).origin) || /^(about|data):/.test(to));
try {
  for (const [width, theme] of [[1100, "light"], [1100, "dark"], [390, "light"], [390, "dark"]]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(url);
    for (const [step, act, there] of STEPS) {
      const problems = [];
      if (act) await page.evaluate(`{ ${act} }`);
      const until = Date.now() + 30_000;
      const holds = `(() => { try { return Boolean(${there}); } catch { return false; } })()`;
      while (!(await page.evaluate(holds))) {
        if (Date.now() > until) {
          problems.push(`did not come about: ${there}; shown: ${await page.evaluate("document.body.innerText")}`);
          break;
        }
        await new Promise((done) => setTimeout(done, 30));
      }
      const { wide, height } = await page.evaluate(() => {
        const { clientWidth, scrollHeight, scrollWidth } = document.documentElement;
        return { wide: scrollWidth - clientWidth, height: scrollHeight };
      });
      if (wide > 0) problems.push(`${wide} wider than its window`);
      await takePicture(page, join(out, `${step}-${width}-${theme}.png`), height);
      problems.push(...trouble.splice(0).filter((text) => !isAnswered(text)));
      console.log(`${step} ${width} ${theme}: ${problems.length} problems`);
      for (const problem of problems) console.log(`  ${problem}`);
      failed ||= problems.length > 0;
    }
  }
} finally {
  await close();
}
process.exitCode = failed ? 1 : 0;
