import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "@jest/globals";

const project = new URL("../", import.meta.url);
/** What is reached from outside: the published modules, the command line, and what the build calls. */
const ENTRIES = /^src\/(?:index|cli|drive\/index|surfaces\/acp\/index|backend-suite\/index|schema\/generated)\.ts$/;
const GENERATED = "src/schema/types.ts";
/** Operations are introduced by their docstring, which follows the imports. */
const OPERATIONS = /^src\/ops\/(?:drives\/)?[^/]+\.ts$/;

function filesIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, project), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.tsx?$/.test(name));
}

const read = (file: string): string => readFileSync(new URL(file, project), "utf8");

/** A statement that takes names from one of our modules, as the formatter leaves it: what it takes, and from where. */
const IMPORT = /^(?:import|export)\b([^"';=]*?)(?:\bfrom )?"(\.[^"]+)"/gm;
/** A module that is taken as a whole: loaded by a call, or named in a type. */
const WHOLE = /\bimport\(\s*"(\.[^"]+)"/g;
const EXPORT = /^export (?:async |abstract )*(?:function\*?|class|const|let) (\w+)/gm;

/** Names that a file takes from our modules, as `file name`; a module that is taken as a whole as `file *`. */
function* importsOf(file: string, text: string): Generator<string> {
  const target = (from: string): string => posix.join(posix.dirname(file), from).replace(/\.js$/, ".ts");
  for (const [, taken = "", from = ""] of text.matchAll(IMPORT)) {
    const names = /\{([^}]*)\}/.exec(taken)?.[1]?.match(/[^\s,][^,]*/g) ?? ["*"];
    for (const name of names) yield `${target(from)} ${/^(?:type )?([\w*]+)/.exec(name)?.[1]}`;
  }
  for (const [, from = ""] of text.matchAll(WHOLE)) yield `${target(from)} *`;
}

/** Names of the functions, classes and constants that a module exports. */
const exportsOf = (text: string): string[] => [...text.matchAll(EXPORT)].map(([, name = ""]) => name);

describe("the modules of src", () => {
  const modules = filesIn("src").filter((file) => file !== GENERATED);

  test("each says in its first lines what it is for", () => {
    const silent = modules.filter((file) => !OPERATIONS.test(file) && !/^(?:#!.*\n)?\s*\/[/*]/.test(read(file)));
    expect(silent.map((file) => `${file}: begin with a comment of one or two lines that says what it is for`)).toEqual(
      [],
    );
  });

  test("nothing is exported that nobody imports", () => {
    const imported = new Set(["src", "test"].flatMap(filesIn).flatMap((file) => [...importsOf(file, read(file))]));
    const unused = modules
      .filter((file) => !ENTRIES.test(file) && !imported.has(`${file} *`))
      .flatMap((file) => exportsOf(read(file)).map((name) => `${file} ${name}`))
      .filter((one) => !imported.has(one));
    expect(unused.map((one) => `${one}: nobody imports it; drop it, or its export`)).toEqual([]);
  });
});
