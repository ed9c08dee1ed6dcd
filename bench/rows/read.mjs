import { lstatSync, promises, readFileSync, statSync } from "node:fs";
import { expectEqual, expectThat } from "../expect.mjs";
import { KB, MB, SMALL_FILES } from "../fixture.mjs";
import { row } from "./forms.mjs";

/** What the library may take, beside node:fs. */
const READ_LIBRARY = { "fs-sync": 4, "fs-promises": 1 };
const ASCII = { mostOnWire: 1.1 };

/** Rows that read files and look at them. */
export function readRows({ at, files }) {
  const text = (id, title, among, more = {}) => row({ id, title, ...textOf(at, among), ...more });
  const blob = (id, title, file, scale) =>
    row({ id, title, scale, most: 0.4, mostOnWire: 1.36, payload: file.bytes.length, ...blobOf(at, file) });
  return [
    text("read-1k", "read 1 KB", files.small, { scale: "small", most: 0.45, library: READ_LIBRARY }),
    text("read-100k", "read 100 KB", [files.medium], { ...ASCII, payload: 100 * KB, scale: "medium", most: 0.4 }),
    text("read-100k-unicode", "read 100 KB, text not all ASCII", [files.mediumUnicode], { scale: "medium", most: 0.4 }),
    text("read-5m", "read 5 MB", [files.large], { ...ASCII, payload: 5 * MB, scale: "large", most: 0.2 }),
    blob("blob-100k", "read 100 KB, binary", files.mediumBlob, "medium"),
    blob("blob-5m", "read 5 MB, binary", files.largeBlob, "large"),
    row({ id: "lines-8m", title: "lines 5,000–5,100 of 8 MB", scale: "large", most: 0.03, ...linesOf(at, files.long) }),
    row({ id: "stat", title: "stat", scale: "small", most: 0.6, ...statOf(at, files) }),
  ];
}

export function textOf(at, among) {
  const file = (index) => among[index % among.length];
  const isText = (text, index) => expectEqual(text, file(index).text, file(index).path);
  return {
    ours: (call, index) => call("read", { path: file(index).path }),
    theirs: (tool, index) => tool("read_text_file", { path: at(file(index).path) }),
    sync: (index) => readFileSync(at(file(index).path), "utf8"),
    promises: (index) => promises.readFile(at(file(index).path), "utf8"),
    is: {
      library: ({ content }, index) => isText(content, index),
      ...{ ours: isText, theirs: isText, sync: isText, promises: isText },
    },
  };
}

const FIRST_LINE = 5_000;
const LINES = 101;
/** A part is quick; it is read more often than the whole, or its median would rest on a handful of samples. */
const TIMES = 10;

/** server-filesystem has the head and the tail of a file, so from its middle an agent reads the whole. */
function linesOf(at, { path, text }) {
  const cut = (whole) => whole.split("\n").slice(FIRST_LINE - 1, FIRST_LINE - 1 + LINES);
  const expected = cut(text);
  const isWhole = (whole) => expectEqual(cut(whole), expected, path);
  const isPart = (part) => expectThat(part.startsWith(expected.join("\n")), path);
  return {
    ours: (call) => call("read", { path, line: FIRST_LINE, limit: LINES }),
    theirs: (tool) => tool("read_text_file", { path: at(path) }),
    sync: () => readFileSync(at(path), "utf8"),
    times: { library: TIMES, ours: TIMES },
    is: { library: ({ content }) => isPart(content), ours: isPart, theirs: isWhole, sync: isWhole },
  };
}

function blobOf(at, { path, bytes }) {
  const base64 = bytes.toString("base64");
  const isBlob = (_, _index, _who, { content }) => expectEqual(content[0].resource?.blob, base64, path);
  return {
    ours: (call) => call("read", { path }),
    mcp: { mode: "bytes", maxBytes: bytes.length },
    theirs: (tool) => tool("read_media_file", { path: at(path) }),
    sync: () => readFileSync(at(path)),
    is: {
      library: ({ content }) => expectEqual(content, base64, path),
      ...{ ours: isBlob, theirs: isBlob },
      sync: (data) => expectThat(data.equals(bytes), path),
    },
  };
}

export function statOf(at, { small }) {
  const file = (index) => small[index % SMALL_FILES].path;
  const isStat = (stats) => expectEqual([stats.isFile(), stats.size], [true, KB], "stat");
  const isOurs = ({ exists, type, size, modified }, index) => {
    const mtime = Math.trunc(lstatSync(at(file(index))).mtimeMs);
    expectEqual([exists, type, size, modified], [true, "file", KB, mtime], "file_stat");
  };
  return {
    ours: (call, index) => call("stat", { path: file(index) }),
    theirs: (tool, index) => tool("get_file_info", { path: at(file(index)) }),
    sync: (index) => statSync(at(file(index))),
    is: {
      library: isOurs,
      ours: (text, index) => isOurs(JSON.parse(text), index),
      theirs: (text) => expectThat(text.includes(`size: ${KB}\n`), "get_file_info"),
      sync: isStat,
    },
  };
}
