// Makes the bundle for hosts of MCP that bring Node (`.mcpb`, manifest 0.4): the package, its dependencies, and the native libraries of
// each platform. `node scripts/release/mcpb.mjs OUT.mcpb [--here]`: --here takes only what is installed, without the network.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { packExtension } from "@anthropic-ai/mcpb";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { name, version, description, license, homepage, keywords } = JSON.parse(
  readFileSync(`${ROOT}package.json`, "utf8"),
);
const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8"));

/** Native packages of other platforms. Where one is missing, the walk is slower, or drives are not on disk. */
const NATIVES = [
  ...["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-arm64", "win32-x64"].map((one) => [
    "koffi",
    `@koromix/koffi-${one}`,
  ]),
  ...["darwin-arm64", "linux-x64", "win32-x64"].map((one) => ["lmdb", `@lmdb/lmdb-${one}`]),
];
/** What only developers of a dependency need. */
const NEEDLESS =
  /\.(?:d\.[cm]?ts|map|markdown|md|ts|flow|cc?|cpp|h|hpp|gyp|tar\.gz)$|\/(?:test|tests|docs?|benchmarks?|examples?|vendor|\.github)$|\/koffi\/src$|\/lmdb\/(?:src|dependencies)$|_musl\.node$|\.musl\.node$|\/musl_/;

/** The settings that a host asks its user for become a command line. */
const LAUNCH = `// Turns the settings of the host into a command line.
const { VENUE_READ_ONLY, VENUE_TOOLS } = process.env;
const folders = process.argv.slice(2).filter((folder) => folder !== "" && !folder.includes("\${"));
const tools = VENUE_TOOLS === "full" ? ["--tools", "full"] : [];
process.argv.splice(2, Infinity, "mcp", ...folders, ...tools, ...(VENUE_READ_ONLY === "true" ? ["--read-only"] : []));
await import("./dist/cli.js");
`;

export const manifestJson = () => ({
  manifest_version: "0.4",
  name,
  display_name: "Files (venue-files)",
  version,
  description,
  author: { name: "The venue-files authors", url: homepage },
  homepage,
  documentation: homepage,
  license,
  keywords,
  server: {
    type: "node",
    entry_point: "server/launch.mjs",
    mcp_config: {
      command: "node",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the host puts in what it knows
      args: ["${__dirname}/server/launch.mjs", "${user_config.folders}"],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: likewise
      env: { VENUE_READ_ONLY: "${user_config.read_only}", VENUE_TOOLS: "${user_config.tools}" },
    },
  },
  tools_generated: true,
  user_config: {
    folders: {
      type: "directory",
      title: "Folders",
      description: "What the assistant may see and change; .git in them may be read only.",
      multiple: true,
      required: true,
    },
    read_only: {
      type: "boolean",
      title: "Read only",
      description: "Nothing may be changed.",
      default: false,
      required: false,
    },
    tools: { type: "string", title: "Tools", description: "default or full", default: "default", required: false },
  },
  compatibility: { platforms: ["darwin", "linux", "win32"], runtimes: { node: ">=20.19" } },
});

/** @param folder to put the unpacked bundle into */
export function assemble(folder, { here }) {
  const server = join(folder, "server");
  mkdirSync(server, { recursive: true });
  const [tarball] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  execFileSync("tar", ["-xzf", join(folder, tarball.filename), "-C", server, "--strip-components=1"]);
  rmSync(join(folder, tarball.filename));
  for (const unused of ["docs", "examples", "deploy"]) rmSync(join(server, unused), { recursive: true, force: true });
  for (const [path, { dev, devOptional, optional, peer }] of Object.entries(packages)) {
    if (path === "" || dev || devOptional || (optional && peer) || !existsSync(join(ROOT, path))) continue;
    const options = {
      recursive: true,
      filter: (from) => !/\/node_modules\/.*\/node_modules$/.test(from) && !NEEDLESS.test(from),
    };
    cpSync(join(ROOT, path), join(server, path), options);
  }
  if (!here)
    for (const [owner, native] of NATIVES) fetchNative(server, native, packages[`node_modules/${owner}`].version);
  writeFileSync(join(server, "launch.mjs"), LAUNCH);
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifestJson(), undefined, 2)}\n`);
}

function fetchNative(server, native, nativeVersion) {
  const target = join(server, "node_modules", native);
  if (existsSync(target)) return;
  mkdirSync(target, { recursive: true });
  const [tarball] = JSON.parse(
    execFileSync("npm", ["pack", "--json", `${native}@${nativeVersion}`], { cwd: target, encoding: "utf8" }),
  );
  execFileSync("tar", ["-xzf", tarball.filename, "--strip-components=1"], { cwd: target });
  rmSync(join(target, tarball.filename));
  for (const entry of readdirSync(target, { recursive: true }))
    if (NEEDLESS.test(`/${entry}`)) rmSync(join(target, entry), { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , out = `${name}-${version}.mcpb`, flag] = process.argv;
  const folder = mkdtempSync(join(tmpdir(), "mcpb-"));
  try {
    assemble(folder, { here: flag === "--here" });
    if (!(await packExtension({ extensionPath: folder, outputPath: resolve(out), silent: true }))) process.exit(1);
    process.stdout.write(`${out}: ${(statSync(out).size / 1e6).toFixed(1)} MB\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
