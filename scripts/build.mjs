// Builds dist/ (`npm run build`), unless it was built from these very sources and nothing in it has changed since.
// `--force` builds in any case.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DIST = join(ROOT, "dist");
/** The digest of what was built, and of what. The package holds no file of this beginning. */
const STAMP = join(DIST, ".tsbuildinfo-stamp");
const SOURCES = ["src", "web", "schemas", "scripts", "package.json", "tsconfig.json", "tsconfig.build.json"];
/** Lists the installed packages. */
const INSTALLED = "node_modules/.package-lock.json";
const STEPS = [
  ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"],
  ["scripts/generate-validators.mjs"],
  ["scripts/generate-media-types.mjs"],
  ["scripts/bundle.mjs"],
  ["web/build.mjs"],
];

/** Paths of all files below, in order. */
const filesBelow = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort();

function stampNow() {
  const hash = createHash("sha256").update(process.version);
  for (const path of [...SOURCES, INSTALLED].map((name) => join(ROOT, name)).filter(existsSync)) {
    for (const file of filesBelow(path)) hash.update(`\0${file.slice(ROOT.length)}\0`).update(readFileSync(file));
  }
  for (const file of existsSync(DIST) ? filesBelow(DIST) : []) {
    if (file.startsWith(join(DIST, ".tsbuildinfo"))) continue;
    const { size, mtimeMs } = statSync(file);
    hash.update(`\0${file.slice(ROOT.length)}\0${size}\0${mtimeMs}`);
  }
  return hash.digest("hex");
}

const isBuilt = () => existsSync(STAMP) && readFileSync(STAMP, "utf8") === stampNow();

if (process.argv.includes("--force") || !isBuilt()) {
  for (const step of STEPS) {
    const { status, error } = spawnSync(process.execPath, step, { cwd: ROOT, stdio: "inherit" });
    if (error !== undefined) throw error;
    if (status !== 0) process.exit(status ?? 1);
  }
  writeFileSync(STAMP, stampNow());
}
