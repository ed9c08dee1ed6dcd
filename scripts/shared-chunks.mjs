// Puts what is nearly always loaded together into one chunk each. esbuild makes a chunk for each set of entries that share a module:
// with some eighty lazily imported parts, that was a hundred files for one start, most of them tiny.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const NAME = "shared-chunk-";

/**
 * A plugin for a second build. Every entry that is given a group imports all modules of it, so that esbuild has no reason to split
 * them.
 *
 * @param inputs of the first build's metafile
 * @param options.entries files that the build begins with, `program` among them
 * @param options.program entry that parses command lines
 * @param options.core files whose modules are the core
 * @param options.files files that load only those modules of the core that they need, as do all that they import lazily
 * @param options.settings file that is loaded with or without the core
 * @param options.small entries and lazily imported files that load only what they need
 * @param options.directory that paths of `inputs` are relative to
 */
export function sharedChunks(inputs, { entries, program, core, files, settings, small, directory }) {
  const graph = new Graph(inputs);
  const lazy = graph.lazyFiles();
  const libraries = entries.filter((file) => file !== program);
  const smallLibraries = libraries.filter((file) => small.includes(file));
  const ofFiles = new Set([...files, ...graph.lazyBelow(files)]);
  const takesFiles = (file) => file !== program && !small.includes(file);
  const takesCore = (file) => takesFiles(file) && !ofFiles.has(file);

  const coreModules = graph.loadedWith(core);
  const fileModules = intersection(graph.loadedWith(files), coreModules);
  const programModules = graph.loadedWith([program]);
  const known = new Set([...coreModules, ...programModules]);
  const ofLibraries = graph.loadedWith(libraries.concat(graph.lazyBelow(libraries)));
  // Each module belongs to the first group that has it.
  const groups = [
    { modules: intersection(graph.loadedWith(smallLibraries), known), isTaker: () => true },
    { modules: intersection(programModules, coreModules), isTaker: (file) => !smallLibraries.includes(file) },
    { modules: difference(programModules, [program]), isTaker: (file) => file === program || !ofLibraries.has(file) },
    {
      modules: intersection(graph.loadedWith([settings]), coreModules),
      isTaker: (file) => takesFiles(file) || file === settings,
    },
    { modules: fileModules, isTaker: takesFiles },
    { modules: coreModules, isTaker: takesCore },
  ];
  const takers = [...entries, ...lazy];
  const taken = new Map(takers.map((file) => [file, groups.flatMap(({ isTaker }, at) => (isTaker(file) ? [at] : []))]));
  return groupPlugin({ groups, taken, directory });
}

function groupPlugin({ groups, taken, directory }) {
  return {
    name: "shared-chunks",
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${NAME}\\d$`) }, ({ path }) => ({ path, namespace: NAME }));
      build.onLoad({ filter: /.*/, namespace: NAME }, ({ path }) => ({
        contents: [...groups[Number(path.slice(NAME.length))].modules]
          .map((file) => `import ${JSON.stringify(join(directory, file))};`)
          .join("\n"),
        resolveDir: directory,
      }));
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const own = taken.get(relative(directory, path));
        if (own === undefined) return undefined;
        const imports = own.map((at) => `import "${NAME}${at}";`).join("");
        return { contents: withImports(readFileSync(path, "utf8"), imports), loader: "ts", resolveDir: dirname(path) };
      });
    },
  };
}

/** Only the first line may say what runs a program. */
const withImports = (text, imports) => (text.startsWith("#!") ? text.replace("\n", `\n${imports}`) : imports + text);

/** The modules of a build and what they import. */
class Graph {
  #inputs;

  constructor(inputs) {
    this.#inputs = inputs;
  }

  /** Modules that are loaded with these, themselves included. */
  loadedWith(files) {
    return this.#reach(files, ["import-statement"]);
  }

  /** All files that are imported lazily. */
  lazyFiles() {
    return [...new Set(Object.keys(this.#inputs).flatMap((file) => this.#importsOf(file, ["dynamic-import"])))];
  }

  /** Files that these import lazily, or what they import does. */
  lazyBelow(files) {
    const below = this.#reach(files, ["import-statement", "dynamic-import"]);
    return this.lazyFiles().filter((file) => below.has(file));
  }

  #reach(files, kinds) {
    const found = new Set();
    const visit = (file) => {
      if (found.has(file)) return;
      found.add(file);
      for (const path of this.#importsOf(file, kinds)) visit(path);
    };
    for (const file of files) visit(file);
    return found;
  }

  #importsOf(file, kinds) {
    return this.#inputs[file].imports
      .filter(({ kind, external }) => kinds.includes(kind) && !external)
      .map(({ path }) => path);
  }
}

const intersection = (one, other) => new Set([...one].filter((item) => other.has(item)));
const difference = (one, items) => new Set([...one].filter((item) => !items.includes(item)));
