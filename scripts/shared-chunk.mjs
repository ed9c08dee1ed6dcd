// Puts what is nearly always loaded together into one chunk. esbuild makes a chunk for each set of entries that share a module: with
// some eighty lazily imported parts, that was a hundred files for one start, most of them tiny.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const NAME = "shared-chunk";

/** Modules that are loaded with these, themselves included. */
function loadedWith(inputs, files) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const path of importsOf(inputs, file, "import-statement")) visit(path);
  };
  for (const file of files) visit(file);
  return found;
}

const importsOf = (inputs, file, kind) =>
  inputs[file].imports.filter((one) => one.kind === kind && !one.external).map(({ path }) => path);

/**
 * A plugin for a second build. Every entry but the small ones imports all modules of the core, so that esbuild has no reason to
 * split them.
 *
 * @param inputs of the first build's metafile
 * @param options.core entries whose modules are the core
 * @param options.small entries that load only what they need
 * @param options.directory that paths of `inputs` are relative to
 */
export function sharedChunk(inputs, { core, entries, small, directory }) {
  const lazy = Object.keys(inputs).flatMap((file) => importsOf(inputs, file, "dynamic-import"));
  const takers = new Set([...entries, ...lazy].filter((file) => !small.includes(file)));
  const shared = [...loadedWith(inputs, core)];
  return {
    name: NAME,
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${NAME}$`) }, () => ({ path: NAME, namespace: NAME }));
      build.onLoad({ filter: /.*/, namespace: NAME }, () => ({
        contents: shared.map((file) => `import ${JSON.stringify(join(directory, file))};`).join("\n"),
        resolveDir: directory,
      }));
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!takers.has(relative(directory, path))) return undefined;
        const contents = `import "${NAME}";${readFileSync(path, "utf8")}`;
        return { contents, loader: "ts", resolveDir: dirname(path) };
      });
    },
  };
}
