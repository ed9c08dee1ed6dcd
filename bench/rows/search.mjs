import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expectEqual, expectThat } from "../expect.mjs";
import { BIG_TREE, KB, MB, makeBytes, makeText, TREE } from "../fixture.mjs";
import { row } from "./forms.mjs";

const execute = promisify(execFile);
/** What a program of the system answers, from its start to its end. */
const output = async (file, args, options) => (await execute(file, args, { maxBuffer: 64 * MB, ...options })).stdout;

const NEEDLE = "releaseTheHandle";
const SOURCES = { path: "sources", parts: 10, files: 1_000, bytes: 13 * KB, hits: 950 };
const MANY_SOURCES = { path: "many-sources", parts: 5, files: 20_000, bytes: 5 * KB, hits: 950 };
const RG_FLAGS = [
  "--no-config",
  "--hidden",
  "--line-number",
  "--no-heading",
  "--fixed-strings",
  "-e",
  NEEDLE,
  "--",
  "./",
];

/** Rows that look for something, or sum it up, next to the programs of the system that do. */
export function searchRows({ at, deep }, { quick }) {
  const grep = {
    id: "grep-13m",
    title: "grep 13 MB for a text with 950 hits",
    scale: "search",
    library: { native: 1.2 },
  };
  const many = {
    id: "grep-100m",
    title: "grep 100 MB in 20,000 files for a text with 950 hits",
    scale: "manyFiles",
    library: { native: 2.2 },
  };
  return [
    globRow(at),
    row({ ...grep, ...grepOf(at, SOURCES) }),
    ...(quick ? [] : [row({ ...many, ...grepOf(at, MANY_SOURCES) })]),
    duRow(at),
    copyRow({ at, deep }, quick ? 64 * MB : 1024 * MB),
  ];
}

function globRow(at) {
  return row({
    ...{ id: "glob-5k", title: "glob of 5,000", scale: "tree", library: { "fs-sync": 1 } },
    ours: (call) => call("glob", { path: TREE.path, pattern: "**", type: "any", limit: 5_000 }),
    sync: () => readdirSync(at(TREE.path), { recursive: true }),
    is: {
      library: ({ paths, complete }) => expectEqual([paths.length, complete], [TREE.entries, true], "glob"),
      ours: (text) => expectEqual(text.trimEnd().split("\n").length, TREE.entries, "glob"),
      sync: (names) => expectEqual(names.length, TREE.entries, "readdir"),
    },
  });
}

/** Files of one size: 100 in each package, spread over its parts. 190 of the first ones have five lines with a hit each. */
function makeSources(directory, { parts, files, bytes, hits }) {
  if (existsSync(directory)) return;
  for (let index = 0; index < files; index++) {
    const folder = join(directory, `package-${Math.floor(index / 100)}`, `part-${index % parts}`);
    mkdirSync(folder, { recursive: true });
    const lines = makeText(bytes, 500 + index).split("\n");
    const hitsHere = index % 5 === 0 && index / 5 < hits / 5 ? 5 : 0;
    for (let hit = 0; hit < hitsHere; hit++) lines[10 + 20 * hit] = `  await ${NEEDLE}(handle, ${hit});`;
    writeFileSync(join(folder, `module-${index}.ts`), lines.join("\n"));
  }
}

/** server-filesystem does not look into files. */
function grepOf(at, sources) {
  const { path, files, hits } = sources;
  return {
    before: () => makeSources(at(path), sources),
    ours: (call) => call("grep", { path, pattern: NEEDLE, literal: true, limit: 2_000, timeoutMs: 60_000 }),
    async native() {
      const { rgPath } = await import("@vscode/ripgrep");
      return output(rgPath, RG_FLAGS, { cwd: at(path) });
    },
    is: {
      library: ({ totalMatches, filesScanned }) => expectEqual([totalMatches, filesScanned], [hits, files], "grep"),
      ours: (text) => expectThat(text.includes(`${NEEDLE}(handle, 4)`), "No hit"),
      native: (lines) => expectEqual(lines.trimEnd().split("\n").length, hits, "rg"),
    },
  };
}

function duRow(at) {
  const { path, entries } = BIG_TREE;
  return row({
    ...{
      id: "du-100k",
      title: "du of 100,000",
      scale: "bigTree",
      library: { native: 1.8 },
      only: ["library", "native"],
    },
    ours: (call) => call("du", { path, depth: 0 }),
    native: () => output("du", ["-s", "--apparent-size", "--block-size=1", at(path)]),
    is: {
      library: ({ files, directories, complete }) =>
        expectEqual([files + directories, complete], [entries, true], "du"),
      native: (sum) => expectThat(/^\d+\t/.test(sum), "No sum"),
    },
  });
}

function copyRow({ at, deep }, bytes) {
  const from = deep("copied.bin");
  const to = (who) => deep(`copy-${who}.bin`);
  const empty = (who) => rmSync(at(to(who)), { force: true });
  return row({
    ...{
      id: "copy-1g",
      title: `copy ${bytes / MB} MiB`,
      scale: "bigTree",
      library: { native: 1.1 },
      only: ["library", "native"],
    },
    before(_, who) {
      if (!existsSync(at(from))) {
        const piece = makeBytes(8 * MB, 601);
        for (let done = 0; done < bytes; done += piece.length) writeFileSync(at(from), piece, { flag: "a" });
      }
      empty(who);
    },
    after: empty,
    ours: (call, _, who) => call("copy", { path: from, to: to(who) }),
    native: (_, who) => output("cp", [at(from), at(to(who))]),
    done: (_, who) => expectEqual(statSync(at(to(who))).size, bytes, "The copy"),
  });
}
