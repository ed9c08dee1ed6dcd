import { execFile } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expectEqual, expectThat, textOf } from "../expect.mjs";
import { BIG_TREE, KB, MB, makeBytes, makeText, TREE } from "../fixture.mjs";

const execute = promisify(execFile);
/** What a program of the system answers, from its start to its end. */
const output = async (file, args, options) => (await execute(file, args, { maxBuffer: 64 * MB, ...options })).stdout;

const NEEDLE = "releaseTheHandle";
const SOURCES = { path: "sources", parts: 10, files: 1_000, bytes: 13 * KB, hits: 950 };
const MANY_SOURCES = { path: "many-sources", parts: 5, files: 20_000, bytes: 5 * KB, hits: 950 };

/** Rows that look for something, or sum it up, next to the programs of the system that do. */
export function searchRows(fixture, { quick }) {
  const grep = { id: "grep-13m", title: "grep 13 MB for a text with 950 hits" };
  const grepMany = {
    id: "grep-100m",
    title: "grep 100 MB in 20,000 files for a text with 950 hits",
    scale: "manyFiles",
  };
  return [
    globRow(fixture),
    { ...grepRow(fixture, SOURCES), ...grep },
    ...(quick ? [] : [{ ...grepRow(fixture, MANY_SOURCES), ...grepMany }]),
    duRow(fixture),
    copyRow(fixture, quick ? 64 * MB : 1024 * MB),
  ];
}

function globRow({ at }) {
  const input = { root: "bench", path: TREE.path, pattern: "**", type: "any", limit: 5_000 };
  const check = ({ paths, complete }) => expectEqual([paths.length, complete], [TREE.entries, true], "glob");
  return {
    id: "glob-5k",
    title: "glob of 5,000",
    scale: "tree",
    forms: {
      library: { run: (invoke) => invoke("file:glob", input), check },
      ours: {
        run: (tool) => tool("file_glob", input),
        check: (result) => expectEqual(textOf(result, "file_glob").trimEnd().split("\n").length, TREE.entries, "glob"),
      },
      sync: {
        run: () => readdirSync(at(TREE.path), { recursive: true }),
        check: (names) => expectEqual(names.length, TREE.entries, "readdir"),
      },
    },
  };
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
function grepRow({ at }, sources) {
  const { path, files, hits } = sources;
  const input = { root: "bench", path, pattern: NEEDLE, literal: true, limit: 2_000, timeoutMs: 60_000 };
  const before = () => makeSources(at(path), sources);
  const flags = [
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
  return {
    scale: "search",
    forms: {
      library: {
        before,
        run: (invoke) => invoke("file:grep", input),
        check: ({ totalMatches, filesScanned }) => expectEqual([totalMatches, filesScanned], [hits, files], "grep"),
      },
      ours: {
        before,
        run: (tool) => tool("file_grep", input),
        check: (result) => expectThat(textOf(result, "file_grep").includes(`${NEEDLE}(handle, 4)`), "No hit"),
      },
      native: {
        before,
        run: async () => {
          const { rgPath } = await import("@vscode/ripgrep");
          return output(rgPath, flags, { cwd: at(path) });
        },
        check: (found) => expectEqual(found.trimEnd().split("\n").length, hits, "rg"),
      },
    },
  };
}

function duRow({ at }) {
  const input = { root: "bench", path: BIG_TREE.path, depth: 0 };
  return {
    id: "du-100k",
    title: "du of 100,000",
    scale: "bigTree",
    forms: {
      library: {
        run: (invoke) => invoke("file:du", input),
        check: ({ files, directories, complete }) =>
          expectEqual([files + directories, complete], [BIG_TREE.entries, true], "du"),
      },
      native: {
        run: () => output("du", ["-s", "--apparent-size", "--block-size=1", at(BIG_TREE.path)]),
        check: (found) => expectThat(/^\d+\t/.test(found), "No sum"),
      },
    },
  };
}

function copyRow({ at, deep }, bytes) {
  const from = deep("copied.bin");
  const to = (who) => deep(`copy-${who}.bin`);
  const before = (_, who) => {
    if (!existsSync(at(from))) writeLarge(at(from), bytes);
    rmSync(at(to(who)), { force: true });
  };
  const check = (_, _index, who) => expectEqual(statSync(at(to(who))).size, bytes, "The copy");
  const after = (who) => rmSync(at(to(who)), { force: true });
  return {
    id: "copy-1g",
    title: `copy ${bytes / MB} MiB`,
    scale: "bigTree",
    forms: {
      library: {
        ...{ before, check, after },
        run: (invoke, _, who) => invoke("file:copy", { root: "bench", path: from, to: to(who) }),
      },
      native: { ...{ before, check, after }, run: (_, _index, who) => output("cp", [at(from), at(to(who))]) },
    },
  };
}

function writeLarge(path, bytes) {
  const piece = makeBytes(8 * MB, 601);
  const fd = openSync(path, "w");
  try {
    for (let done = 0; done < bytes; done += piece.length) writeSync(fd, piece);
  } finally {
    closeSync(fd);
  }
}
