// Builds the workspace page into dist/web: hashed assets compressed by brotli, two documents, a manifest and the licences
// of what is bundled. Part of `npm run build`.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

try {
  import.meta.resolve("preact");
} catch {
  // A checkout that was updated and not installed again still builds all that runs; the venue says that it has no page.
  console.warn("The workspace page is not built: its packages are not installed. Run 'npm ci'");
  process.exit(0);
}

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const WEB = join(ROOT, "web/src");
const OUT = join(ROOT, "dist/web");
const TYPES = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const LARGEST_PREVIEW_BYTES = 150 * 1024;

const COMMON = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  target: ["chrome109", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
  absWorkingDir: ROOT,
};

const brotli = (content) =>
  brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });

const extension = (name) => name.slice(name.lastIndexOf("."));

function writeCompressed(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.br`, brotli(Buffer.from(content)));
}

/** What web/src/editor/languages.ts names of modules that hold many languages; the others would be bundled with them. */
const LANGUAGES = ["standardSQL", "c", "cpp", "java", "csharp", "kotlin"];
const onlyNamedLanguages = {
  name: "only-named-languages",
  setup({ onLoad }) {
    onLoad({ filter: /legacy-modes[\\/]mode[\\/](?:sql|clike)\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(
        /^export const (\w+) = (?:sql|clike)\(\{\n[\s\S]*?^\}\);?$/gm,
        (text, name) => (LANGUAGES.includes(name) ? text : ""),
      ),
    }));
  },
};

async function buildPage() {
  return build({
    ...COMMON,
    entryPoints: { app: join(WEB, "main.tsx") },
    outdir: join(OUT, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    splitting: true,
    plugins: [onlyNamedLanguages],
    format: "esm",
  });
}

/** The preview is one document: in its sandbox nothing can be loaded. */
async function buildPreview() {
  const result = await build({
    ...COMMON,
    entryPoints: [join(WEB, "preview/sandbox/main.ts")],
    outfile: join(OUT, "preview.js"),
    format: "iife",
    // Its build for browsers decodes by innerHTML, which the policy of the preview refuses.
    alias: { "decode-named-character-reference": join(ROOT, "node_modules/decode-named-character-reference/index.js") },
    loader: { ".css": "text" },
  });
  const [script] = result.outputFiles;
  // Inside a script element only these two would end it or change how it is read.
  const inline = script.text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  if (Buffer.byteLength(inline) > LARGEST_PREVIEW_BYTES) throw new Error("The preview is larger than 150 KB");
  if (inline.includes("%nonce%")) throw new Error("The preview's script holds the placeholder of the nonce");
  const html = readFileSync(join(WEB, "preview/sandbox/preview.html"), "utf8").replace("%script%", () => inline);
  return { result, html };
}

/** The licences of the packages that a build took something from: their copyright lines, and each text once, below all that it is for. */
function licences(inputs) {
  const packages = new Set(
    inputs.flatMap(
      (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path.slice(path.lastIndexOf("node_modules/")))?.[1] ?? [],
    ),
  );
  const groups = new Map();
  for (const name of [...packages].sort()) {
    const folder = join(ROOT, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const lines = licenceText(folder).split("\n");
    const owners = lines.filter((line) => OWNER.test(line)).map((line) => line.trim());
    const text = lines
      .filter((line) => !OWNER.test(line))
      .join("\n")
      .trim();
    const key = text.replace(/\s+/g, " ");
    const group = groups.get(key) ?? { text, titles: [] };
    group.titles.push([`## ${name} ${version} (${license})`, ...owners].join("\n"));
    groups.set(key, group);
  }
  return [...groups.values()].map(({ titles, text }) => `${titles.join("\n\n")}\n\n${text}`);
}

/** Who holds the rights, in the text of a licence. */
const OWNER = /^\s*copyright (?:\(c\)|©|\d)/i;

function licenceText(folder) {
  for (const name of ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "license.md"]) {
    try {
      return readFileSync(join(folder, name), "utf8").trim();
    } catch {
      // The next name.
    }
  }
  return "(The package holds no licence text.)";
}

rmSync(OUT, { recursive: true, force: true });
const [page, preview] = await Promise.all([buildPage(), buildPreview()]);
const assets = {};
for (const { path, contents } of page.outputFiles) {
  assets[basename(path)] = TYPES[extension(path)] ?? "application/octet-stream";
  writeCompressed(path, contents);
}
const icon = readFileSync(join(WEB, "ui/icon.svg"));
const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
assets[iconName] = TYPES[".svg"];
writeCompressed(join(OUT, "assets", iconName), icon);
const named = (prefix, suffix) => Object.keys(assets).find((name) => name.startsWith(prefix) && name.endsWith(suffix));
/** What the first script imports at once, so that the browser asks for all of it together. */
function importedAtOnce({ outputs }, name) {
  const found = new Set();
  const visit = (path) => {
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
      if (kind !== "import-statement" || found.has(imported)) continue;
      found.add(imported);
      visit(imported);
    }
  };
  visit(Object.keys(outputs).find((path) => basename(path) === name));
  return [...found].map((path) => basename(path));
}
const preloads = importedAtOnce(page.metafile, named("app-", ".js"))
  .map((name) => `<link rel="modulepreload" nonce="%nonce%" href="%base%assets/${name}">\n`)
  .join("");
const html = readFileSync(join(WEB, "index.html"), "utf8")
  .replaceAll("%preloads%", preloads)
  .replaceAll("%script%", named("app-", ".js"))
  .replaceAll("%icon%", iconName)
  .replaceAll("%style%", named("app-", ".css"));
writeCompressed(join(OUT, "index.html"), html);
writeCompressed(join(OUT, "preview.html"), preview.html);
const inputs = [page, preview.result].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const build_ = createHash("sha256").update(html).update(preview.html).digest("hex").slice(0, 16);
writeFileSync(join(OUT, "manifest.json"), `${JSON.stringify({ build: build_, assets }, null, 1)}\n`);
writeFileSync(
  join(OUT, "LICENSES.md"),
  `# Licences of what the workspace page bundles\n\n${licences(inputs).join("\n\n")}\n`,
);
