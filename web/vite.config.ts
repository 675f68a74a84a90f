// Builds dist/report.html: one file with script and style in it, the hash of its sources, and a policy that forbids the network.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { hashSources } from "./hash-sources.mjs";

/** Licences of the packages whose code is in the bundle, as they must go with every copy: each text once, with its packages. */
function notices(modules: readonly string[]): string {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id.replace(/^\0/, ""))?.[0] ?? []);
  const byText = new Map<string, string[]>();
  for (const folder of [...new Set(folders)].sort()) {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as { name: string; version: string };
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined || !existsSync(`${folder}/${file}`)) throw new Error(`${name} has no licence file: its code cannot be bundled`);
    const text = readFileSync(`${folder}/${file}`, "utf8");
    const owners = text.split("\n").filter((line) => /^copyright\b.*\d{4}/i.test(line.trim()));
    const body = text.split("\n").filter((line) => !owners.includes(line)).join("\n").trim().replaceAll(/\s+/g, " ");
    byText.set(body, [...(byText.get(body) ?? []), `${name} ${version}: ${owners.map((line) => line.trim()).join("; ")}`]);
  }
  const all = [...byText].map(([text, packages]) => `${packages.join("\n")}\n\n${text}`).join("\n\n");
  return `<!-- This page contains code of others:\n\n${all.replaceAll("--", "- -")}\n-->`;
}

function singleFile(): Plugin {
  return {
    name: "tare-single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      let page: string | undefined;
      const modules: string[] = [];
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") {
          script += item.code;
          const used = Object.entries(item.modules).filter(([, module]) => module.renderedLength > 0);
          modules.push(...used.map(([id]) => id));
        } else if (name.endsWith(".css")) style += String(item.source);
        else if (name.endsWith(".html")) page = String(item.source);
        else this.error(`unexpected file ${name}: the report must be one file`);
        delete bundle[name];
      }
      if (page === undefined) this.error("no page was built");
      // A closing tag inside the script would end it early.
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const digest = createHash("sha256").update(script).digest("base64");
      const policy = [
        "default-src 'none'",
        `script-src 'sha256-${digest}'`,
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const head =
        `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n` +
        `    <meta name="tare-web-sources" content="sha256:${hashSources()}" />\n` +
        `    <style>${style.trim()}</style>`;
      const html = page
        .replaceAll(/\s*<script type="module"[^>]*><\/script>/g, "")
        .replaceAll(/\s*<link rel="(?:stylesheet|modulepreload)"[^>]*>/g, "")
        .replace("<!-- tare:head -->", () => head)
        .replace("</body>", () => `  <script type="module">${script}</script>\n    ${notices(modules)}\n  </body>`);
      this.emitFile({ type: "asset", fileName: "report.html", source: html });
    },
  };
}

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: false, comments: false } },
  },
  plugins: [singleFile()],
  test: { include: ["tests/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
