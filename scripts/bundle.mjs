// Puts the program and the library into a few files that share their code, and lists what of dist/ the package holds: those files,
// the validators, the media types, and the types that `exports` reaches. Part of `npm run build`.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "@swc/core";
import { build } from "esbuild";
import ts from "typescript";
import { sharedChunks } from "./shared-chunks.mjs";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const SRC = fileURLToPath(new URL("../src/", import.meta.url));

/** Published modules, whose types are published too. */
const LIBRARY = ["index", "drive/index", "surfaces/acp/index", "backend-suite/index"];
/** Files that start as a thread or process of their own (`compiledFile` of src/core/package-files.ts). */
const STARTED = [
  ...["journal/journal-process", "documents/documents-process", "documents/documents-thread"],
  ...["sandbox/just-bash/worker", "search/scan-worker"],
];
/** What a server over stdio loads at its start. */
const CORE = ["venue/start/open-venue", "surfaces/mcp/stdio", "cli/mcp/mcp"];
/** What a command on files loads, whichever it is. */
const FILES = ["cli/files/files", "cli/calls/file-calls"];
/** What must start with little more than it needs. */
const SMALL = [
  ...["cli/main", "drive/index", "surfaces/acp/index", "backend-suite/index"],
  ...["cli/commands/all", "cli/arguments/find-command", "cli/arguments/read", "cli/help/help", "cli/help/completion"],
  ...["cli/files/complete", "cli/checks/health"],
  ...["cli/load-config", "cli/tokens/key"],
];

const source = (name) => `${name}.ts`;
/** What `bin` names, and what it loads once Node may keep what it compiles. */
const [BIN, PROGRAM] = ["cli", "cli/main"];

const entries = [PROGRAM, ...LIBRARY].map(source);
const options = {
  absWorkingDir: SRC,
  outdir: DIST,
  outbase: SRC,
  // Two levels below the package, as modules are that locate its files (src/core/package-files.ts).
  chunkNames: "bundle/[name]-[hash]",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  logLevel: "warning",
};
/** The program and the library share modules; what starts on its own shares none, and loads faster as one file. */
const together = { ...options, entryPoints: entries, splitting: true };
const { inputs } = (await build({ ...together, write: false, metafile: true })).metafile;
const chunks = sharedChunks(inputs, {
  entries,
  program: source(PROGRAM),
  core: CORE.map(source),
  files: FILES.map(source),
  settings: source("cli/load-config"),
  small: SMALL.map(source),
  directory: SRC,
});
// What Node made of the files that are replaced.
for (const folder of ["bundle", "../.compiled"]) rmSync(DIST + folder, { recursive: true, force: true });
await build({ ...together, plugins: [chunks] });
await build({ ...options, entryPoints: STARTED.map(source) });
const programApart = {
  name: "program-apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: new RegExp(`/${PROGRAM}\\.js$`) }, ({ path }) => ({ path, external: true })),
};
await build({ ...options, entryPoints: [source(BIN)], plugins: [programApart] });

/** From this length on, a line ends before the next statement. */
const LINE_CHARS = 1000;
const code = [BIN, PROGRAM, ...LIBRARY, ...STARTED].map((name) => `${name}.js`);
// Variables and functions get short names; classes and methods keep theirs, which with line and column lead a stack trace to its source.
for (const file of [...code, ...readdirSync(`${DIST}bundle`).map((name) => `bundle/${name}`)]) {
  const minified = await minify(readFileSync(DIST + file, "utf8"), {
    module: true,
    compress: false,
    mangle: { topLevel: true, keep_classnames: true },
  });
  writeFileSync(DIST + file, inLines(minified.code));
}

/** Shorter lines: Node prints the line of an error that nobody catches. */
function inLines(text) {
  const starts = [];
  const visit = (node) => {
    if (ts.isStatement(node) || ts.isClassElement(node)) starts.push(node.getStart(tree));
    ts.forEachChild(node, visit);
  };
  const tree = ts.createSourceFile("", text, ts.ScriptTarget.Latest);
  visit(tree);
  const lines = [];
  let from = 0;
  for (const start of starts) {
    if (start - from < LINE_CHARS) continue;
    lines.push(text.slice(from, start));
    from = start;
  }
  return [...lines, text.slice(from)].join("\n");
}

/** Declaration files that these reach by import, themselves included. */
function reachable(files) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const [, target] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)\.js"/g)) {
      const types = join(dirname(file), `${target}.d.ts`);
      if (existsSync(types)) visit(types);
    }
  };
  for (const file of files) visit(file);
  return found;
}

/** Declaration files whose exports these pass on: what users see. */
function passedOn(files) {
  const named = (file) => [...readFileSync(file, "utf8").matchAll(/^export [^;]*?from "(\.{1,2}\/[^"]+)\.js"/gms)];
  return new Set(
    files.flatMap((file) => [file, ...named(file).map(([, path]) => join(dirname(file), `${path}.d.ts`))]),
  );
}

/** A declaration file without its comments. */
function withoutComments(file) {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  return ts.createPrinter({ removeComments: true }).printFile(source);
}

const entryTypes = LIBRARY.map((name) => `${DIST}${name}.d.ts`);
const typeFiles = reachable(entryTypes);
const seen = passedOn(entryTypes);
for (const file of typeFiles) if (!seen.has(file)) writeFileSync(file, withoutComments(file));
const types = [...typeFiles].map((file) => relative(DIST, file));
const kept = [...code, ...types].map((file) => `!/${file}`).sort();
writeFileSync(
  `${DIST}.npmignore`,
  ["*", "!*/", "!/bundle/*", "!/schema/validators/*", "!/ops/content/media-types.json", "!/web/**", ...kept, ""].join(
    "\n",
  ),
);
