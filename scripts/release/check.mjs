// `npm run release:check`: whether this commit can be released. Builds the tarball twice from clean clones and compares them, writes
// release/ (tarball, .mcpb, server.json, SBOM, SHA256SUMS), and says everything that is wrong.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serverJson } from "./server-json.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const OUT = join(ROOT, "release");
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const sha256 = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");
const read = (path) => readFileSync(join(ROOT, path), "utf8");

const { name, version } = JSON.parse(read("package.json"));
const faults = [];
const require = (fine, fault) => {
  if (!fine) faults.push(fault);
};

require(run("git", ["status", "--porcelain"], ROOT).trim() === "", "there are changes that are not committed");
require(JSON.parse(read("package-lock.json")).version === version, "package-lock.json has another version");
require(serverJson().version === version, "server.json has another version");
require(new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\] - \\d{4}-\\d{2}-\\d{2}$`, "m").test(
  read("CHANGELOG.md"),
), `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"`);
const [, unreleased = ""] = /^## \[Unreleased\]\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(read("CHANGELOG.md")) ?? [];
require(!/^- /m.test(unreleased), "CHANGELOG.md still has entries under Unreleased");
require(!/\.example\b/.test(read("package.json")), "package.json names addresses below .example");
require(/^FROM \S+@sha256:/m.test(read("Dockerfile")), "the Dockerfile names its base by tag, not by digest");

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT);
const tarballs = ["first", "second"].map(() => {
  const clone = mkdtempSync(join(tmpdir(), "release-"));
  try {
    run("git", ["clone", "--quiet", "--local", ROOT, clone], ROOT);
    run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], clone);
    run("npm", ["run", "--silent", "build"], clone);
    run("npm", ["pack", "--ignore-scripts", "--silent"], clone);
    const [file] = readdirSync(clone).filter((entry) => entry.endsWith(".tgz"));
    copyFileSync(join(clone, file), join(OUT, file));
    return sha256(join(clone, file));
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});
require(tarballs[0] === tarballs[1], "packed twice, the tarballs differ");
process.stdout.write(`packed twice: ${tarballs.join(" and ")}\n`);

const bundle = join(OUT, `${name}-${version}.mcpb`);
run("node", [join(ROOT, "scripts/release/mcpb.mjs"), bundle], ROOT);
writeFileSync(
  join(OUT, "server.json"),
  `${JSON.stringify(serverJson({ name: `${name}-${version}.mcpb`, sha256: sha256(bundle) }), undefined, 2)}\n`,
);
writeFileSync(join(OUT, "sbom.cdx.json"), run("npm", ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"], ROOT));
const sums = readdirSync(OUT)
  .sort()
  .map((file) => `${sha256(join(OUT, file))}  ${file}\n`);
writeFileSync(join(OUT, "SHA256SUMS"), sums.join(""));
process.stdout.write(`release/:\n${sums.join("")}`);

for (const fault of faults) process.stderr.write(`Not yet: ${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);
