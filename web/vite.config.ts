// Builds dist/report.html: one file with script and style in it, the hash of its sources, and a policy that forbids the network.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";
import { hashSources } from "./hash-sources.mjs";

function singleFile(): Plugin {
  return {
    name: "tare-single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      let page: string | undefined;
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += item.code;
        else if (name.endsWith(".css")) style += String(item.source);
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
        .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`);
      this.emitFile({ type: "asset", fileName: "report.html", source: html });
    },
  };
}

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
  plugins: [singleFile()],
  test: { include: ["tests/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
