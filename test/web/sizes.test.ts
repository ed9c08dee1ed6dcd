// What the page costs to load, and what it adds to the package. `npm run build` has made dist/web.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "@jest/globals";

const DIST = fileURLToPath(new URL("../../dist/web/", import.meta.url));
const KB = 1024;

const plain = (path: string): Buffer => brotliDecompressSync(readFileSync(`${DIST}${path}.br`));
const gzip = (path: string): number => gzipSync(plain(path), { level: 9 }).length;

/** A script with all that it imports at once, not on demand. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, imported = ""] of `${plain(`assets/${name}`)}`.matchAll(/(?:from|import)"\.\/([^"]+)"/g))
    withImports(imported, seen);
  return seen;
}

describe("sizes of the workspace page", () => {
  let assets: readonly string[];
  let first: readonly string[];
  beforeAll(() => {
    const manifest = JSON.parse(readFileSync(`${DIST}manifest.json`, "utf8")) as { assets: Record<string, string> };
    assets = Object.keys(manifest.assets);
    const script = assets.find((name) => /^app-.*\.js$/.test(name)) ?? "";
    first = [...withImports(script), ...assets.filter((name) => /^app-.*\.css$/.test(name))];
  });

  test("the first load is at most 120 KB (gzip)", () => {
    expect(first.length).toBeGreaterThan(1);
    const bytes = gzip("index.html") + first.map((name) => gzip(`assets/${name}`)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(120 * KB);
  });

  test("all but the languages of the editor is at most 350 KB (gzip)", () => {
    const codemirror = assets.find((name) => /^codemirror-.*\.js$/.test(name)) ?? "";
    const diff = assets.find((name) => /^diff-view-.*\.js$/.test(name)) ?? "";
    const all = new Set([...first, ...withImports(codemirror), ...withImports(diff)]);
    const bytes = [...all].map((name) => gzip(`assets/${name}`)).reduce((sum, size) => sum + size, 0);
    expect(bytes + gzip("preview.html") + gzip("index.html")).toBeLessThan(350 * KB);
  });

  test("the package holds it compressed alone, in at most 450 KB", () => {
    const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.filter(({ name }) => !/\.br$|^manifest\.json$|^LICENSES\.md$/.test(name))).toEqual([]);
    const bytes = files
      .map(({ parentPath, name }) => statSync(`${parentPath}/${name}`).size)
      .reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(450 * KB);
  });

  test("the licence of each package that is bundled comes with it", () => {
    const text = readFileSync(`${DIST}LICENSES.md`, "utf8");
    for (const name of ["preact", "@codemirror/view", "dompurify", "lucide", "micromark", "node-diff3"])
      expect(text).toContain(`## ${name} `);
    expect(text).not.toContain("holds no licence text");
  });
});
