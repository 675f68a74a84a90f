// Prints the hash of the sources of the bundles: what dist/report.html and dist/app/index.html must carry in their
// `tare-web-sources` meta tags.
//
// The algorithm, for readers in other languages: take every regular file under src/ (recursively) and the files index.html,
// package.json, package-lock.json, tsconfig.json and vite.config.ts; name each by its path relative to this folder, with "/"
// between the parts; sort the names by their bytes; feed SHA-256 with, for each file in that order, the bytes of its name, one
// NUL byte, its content, one NUL byte; print the digest in lower-case hexadecimal.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const single = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

function filesUnder(folder) {
  return readdirSync(here + folder, { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(name) : entry.isFile() ? [name] : [];
  });
}

/** Names of the files that the hash covers, in its order. */
export function sourceNames() {
  return [...single, ...filesUnder("src")].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The hash of the sources as they are now. */
export function hashSources() {
  const hash = createHash("sha256");
  for (const name of sourceNames()) {
    hash.update(name).update("\0").update(readFileSync(here + name)).update("\0");
  }
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(hashSources());
