// `npm install`, `npm pack` and installing from Git in a fresh clone build the package.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const clones: string[] = [];
afterEach(() => {
  for (const clone of clones.splice(0)) rmSync(clone, { recursive: true });
});

/** A clone with one small source file, and the scripts of this package. */
function clone({ hasCompiler = true, hasSources = true } = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "venue-files-clone-"));
  clones.push(folder);
  const { name, version, type, scripts } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  // What the build does beside compiling is not the question here.
  const packed = { name, version, type, files: ["dist"], scripts: { ...scripts, build: "tsc -p tsconfig.build.json" } };
  const files = { "package.json": JSON.stringify(packed) };
  const config = { compilerOptions: { outDir: "dist", rootDir: "src", types: [] }, include: ["src"] };
  const sources = { "src/cli.ts": "export const one: number = 1;\n", "tsconfig.build.json": JSON.stringify(config) };
  mkdirSync(join(folder, hasSources ? "src" : "empty"));
  for (const [path, text] of Object.entries({ ...files, ...(hasSources ? sources : {}) })) {
    writeFileSync(join(folder, path), text);
  }
  if (hasCompiler) symlinkSync(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
  return folder;
}

const npm = (folder: string, ...args: string[]): string =>
  execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

test("packing a clone builds it", () => {
  const folder = clone();
  const output = npm(folder, "pack", "--dry-run", "--json");
  const [{ files }] = JSON.parse(output.slice(output.indexOf("["))) as [{ files: readonly { path: string }[] }];
  expect(files.map(({ path }) => path)).toContain("dist/cli.js");
});

test("a source that does not compile stops it", () => {
  const folder = clone();
  writeFileSync(join(folder, "src/cli.ts"), 'export const one: number = "x";\n');
  expect(() => npm(folder, "run", "prepare")).toThrow();
});

test.each([
  ["the compiler is missing, as with --omit=dev", { hasCompiler: false }],
  ["the sources are missing, as in a step that only installs", { hasSources: false }],
])("nothing happens where %s", (_, options) => {
  const folder = clone(options);
  npm(folder, "run", "prepare");
  expect(existsSync(join(folder, "dist"))).toBe(false);
});
