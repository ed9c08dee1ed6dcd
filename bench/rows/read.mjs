import { lstatSync, promises, readFileSync, statSync } from "node:fs";
import { expectEqual, textOf } from "../expect.mjs";
import { KB, MB, SMALL_FILES } from "../fixture.mjs";

/** Rows that read files and look at them. */
export function readRows(fixture) {
  const { files } = fixture;
  return [
    { ...textRow(fixture, files.small), id: "read-1k", title: "read 1 KB", payload: KB, scale: "small" },
    { ...textRow(fixture, [files.medium]), id: "read-100k", title: "read 100 KB", payload: 100 * KB, scale: "medium" },
    {
      ...textRow(fixture, [files.mediumUnicode]),
      id: "read-100k-unicode",
      title: "read 100 KB, text not all ASCII",
      scale: "medium",
    },
    { ...textRow(fixture, [files.large]), id: "read-5m", title: "read 5 MB", payload: 5 * MB, scale: "large" },
    {
      ...blobRow(fixture, files.mediumBlob),
      id: "blob-100k",
      title: "read 100 KB, binary",
      payload: 100 * KB,
      scale: "medium",
    },
    {
      ...blobRow(fixture, files.largeBlob),
      id: "blob-5m",
      title: "read 5 MB, binary",
      payload: 5 * MB,
      scale: "large",
    },
    { ...linesRow(fixture), id: "lines-8m", title: "lines 5,000–5,100 of 8 MB", scale: "large" },
    statRow(fixture),
  ];
}

export function textRow({ at }, among) {
  const file = (index) => among[index % among.length];
  const checkText = (text, index) => expectEqual(text, file(index).text, file(index).path);
  return {
    forms: {
      library: {
        run: (invoke, index) => invoke("file:read", { root: "bench", path: file(index).path }),
        check: (output, index) => checkText(output.content, index),
      },
      ours: {
        run: (tool, index) => tool("file_read", { root: "bench", path: file(index).path }),
        check: (result, index) => checkText(textOf(result, "file_read"), index),
      },
      theirs: {
        run: (tool, index) => tool("read_text_file", { path: at(file(index).path) }),
        check: (result, index) => checkText(textOf(result, "read_text_file"), index),
      },
      sync: { run: (_, index) => readFileSync(at(file(index).path), "utf8"), check: checkText },
      promises: { run: (_, index) => promises.readFile(at(file(index).path), "utf8"), check: checkText },
    },
  };
}

const FIRST_LINE = 5_000;
const LINES = 101;
/** A part is quick; it is read more often than the whole, or its median would rest on a handful of samples. */
const TIMES = 10;

/** server-filesystem has the head and the tail of a file, so from its middle an agent reads the whole. */
function linesRow({ at, files: { long } }) {
  const range = { root: "bench", path: long.path, line: FIRST_LINE, limit: LINES };
  const expected = linesOf(long.text);
  const checkText = (text) => expectEqual(linesOf(text), expected, long.path);
  return {
    forms: {
      library: {
        times: TIMES,
        run: (invoke) => invoke("file:read", range),
        check: ({ content }) => expectEqual(content.trimEnd(), expected.trimEnd(), long.path),
      },
      ours: {
        times: TIMES,
        run: (tool) => tool("file_read", range),
        check: (result) => expectEqual(textOf(result, "file_read").startsWith(expected), true, long.path),
      },
      theirs: {
        run: (tool) => tool("read_text_file", { path: at(long.path) }),
        check: (result) => checkText(textOf(result, "read_text_file")),
      },
      sync: { run: () => readFileSync(at(long.path), "utf8"), check: checkText },
      promises: { run: () => promises.readFile(at(long.path), "utf8"), check: checkText },
    },
  };
}

const linesOf = (text) =>
  text
    .split("\n")
    .slice(FIRST_LINE - 1, FIRST_LINE - 1 + LINES)
    .join("\n");

function blobRow({ at }, { path, bytes }) {
  const base64 = bytes.toString("base64");
  const checkBlob = (result) => expectEqual(result.content[0].resource?.blob, base64, path);
  const checkBytes = (data) => expectEqual(data.toString("base64"), base64, path);
  return {
    forms: {
      library: {
        run: (invoke) => invoke("file:read", { root: "bench", path }),
        check: (output) => expectEqual(output.content, base64, path),
      },
      ours: {
        run: (tool) => tool("file_read", { root: "bench", path, mode: "bytes", maxBytes: bytes.length }),
        check: checkBlob,
      },
      theirs: { run: (tool) => tool("read_media_file", { path: at(path) }), check: checkBlob },
      sync: { run: () => readFileSync(at(path)), check: checkBytes },
      promises: { run: () => promises.readFile(at(path)), check: checkBytes },
    },
  };
}

export function statRow({ at, files }) {
  const file = (index) => files.small[index % SMALL_FILES];
  const checkStat = (stats) => expectEqual([stats.isFile(), stats.size], [true, KB], "stat");
  const checkOurs = ({ exists, type, size, modified }, index) => {
    const mtime = Math.trunc(lstatSync(at(file(index).path)).mtimeMs);
    expectEqual(
      { exists, type, size, modified },
      { exists: true, type: "file", size: KB, modified: mtime },
      "file_stat",
    );
  };
  return {
    id: "stat",
    title: "stat",
    scale: "small",
    forms: {
      library: {
        run: (invoke, index) => invoke("file:stat", { root: "bench", path: file(index).path }),
        check: checkOurs,
      },
      ours: {
        run: (tool, index) => tool("file_stat", { root: "bench", path: file(index).path }),
        check: (result, index) => checkOurs(JSON.parse(textOf(result, "file_stat")), index),
      },
      theirs: {
        run: (tool, index) => tool("get_file_info", { path: at(file(index).path) }),
        check: (result) =>
          expectEqual(textOf(result, "get_file_info").includes(`size: ${KB}\n`), true, "get_file_info"),
      },
      sync: { run: (_, index) => statSync(at(file(index).path)), check: checkStat },
      promises: { run: (_, index) => promises.stat(at(file(index).path)), check: checkStat },
    },
  };
}
