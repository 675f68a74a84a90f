// Builds two pages, each with the hash of its sources: dist/report.html, one file with script and style in it and a policy that forbids
// the network; and, with `--mode app`, dist/app, whose files the server sends with a policy that forbids scripts and styles within pages.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { defineConfig, type Plugin, type UserConfig } from "vite";
import { hashSources } from "./hash-sources.mjs";

const SOURCES = `<meta name="tare-web-sources" content="sha256:${hashSources()}" />`;

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
  return `This page contains code of others:\n\n${all}\n`;
}

/** Modules whose code is in a chunk. */
function modulesOf(chunk: { modules: Record<string, { renderedLength: number }> }): string[] {
  return Object.entries(chunk.modules).filter(([, module]) => module.renderedLength > 0).map(([id]) => id);
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
          modules.push(...modulesOf(item));
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
        `    ${SOURCES}\n` +
        `    <style>${style.trim()}</style>`;
      const html = page
        .replaceAll(/\s*<script type="module"[^>]*><\/script>/g, "")
        .replaceAll(/\s*<link rel="(?:stylesheet|modulepreload)"[^>]*>/g, "")
        .replace("<!-- tare:head -->", () => head)
        .replace("</body>", () => `  <script type="module">${script}</script>\n    <!-- ${notices(modules).replaceAll("--", "- -")}-->\n  </body>`);
      this.emitFile({ type: "asset", fileName: "report.html", source: html });
    },
  };
}

/** Puts the page beside its files, with names that stay the same from build to build. */
function application(): Plugin {
  return {
    name: "tare-application",
    enforce: "post",
    generateBundle(_options, bundle) {
      const modules: string[] = [];
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") modules.push(...modulesOf(item));
        else if (name.endsWith(".html")) {
          const html = String(item.source).replace("<!-- tare:head -->", SOURCES).replaceAll(" crossorigin", "");
          delete bundle[name];
          this.emitFile({ type: "asset", fileName: "index.html", source: html });
        }
      }
      this.emitFile({ type: "asset", fileName: "licences.txt", source: notices(modules) });
    },
  };
}

const COMMON: UserConfig = { oxc: { jsx: { runtime: "automatic", importSource: "preact" } }, test: { include: ["tests/**/*.test.ts"] } } as UserConfig;

const BUILD: UserConfig["build"] = {
  target: "es2022",
  modulePreload: false,
  assetsInlineLimit: Number.MAX_SAFE_INTEGER,
  cssCodeSplit: false,
  reportCompressedSize: false,
};

const REPORT: UserConfig = {
  ...COMMON,
  build: { ...BUILD, emptyOutDir: false, rolldownOptions: { output: { codeSplitting: false, comments: false } } },
  plugins: [singleFile()],
};

/** Packages that are chunks of their own, because few views need them. */
const GROUPS = [
  { name: "editor", test: /src\/app\/editor\.ts$|node_modules\/(?:@codemirror|@lezer)\// },
  { name: "uplot", test: /node_modules\/uplot\/.*js$/ },
  { name: "plot", test: /node_modules\/(?!preact|@preact|uplot)|src\/plot\/frame\.ts$/ },
  { name: "frame", test: /node_modules\/(?:preact|@preact)|src\/(?:format|legend|palette|scale)\.ts|src\/section\/(?:Section|Picture|links|Head)\.tsx?$|src\/app\/(?:pieces|Starting|ArmRoutes)\.tsx$|src\/app\/stream\.ts$/, priority: -1 },
];

const APPLICATION: UserConfig = {
  ...COMMON,
  // The server has the page at every address of a view, and the files in one place.
  base: "/assets/",
  build: {
    ...BUILD,
    outDir: "dist/app",
    rolldownOptions: {
      input: { app: "src/app/index.html" },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "app[extname]", comments: false, codeSplitting: { groups: GROUPS } },
    },
  },
  plugins: [application()],
};

export default defineConfig(({ mode }) => (mode === "app" ? APPLICATION : REPORT));
