import { join } from "node:path";
import { filesOf, temporaryDirectory } from "./lifetime.mjs";

export const KB = 1024;
export const MB = 1024 * 1024;

/** Where the small files lie: four directories deep. */
export const DEEP = "docs/guides/setup/linux";
export const SMALL_FILES = 64;
/** The directories of the listings. */
export const LISTED = { path: "listed", entries: 1_000 };
export const TREE = { path: "tree-5k", entries: 5_000 };
export const BIG_TREE = { path: "tree-100k", entries: 100_000 };

const WORDS =
  "the jail is an open directory handle and every operation walks inside it; a path never leaves its root, whatever links say. " +
  'return { "code": status, value: text.slice(0, limit) }; // see `docs` - for (const entry of entries) count += entry.size;';

/** ASCII text of exactly that many bytes, in lines of some 70 characters with a few quotes, as in code or Markdown. */
export function makeText(bytes, seed) {
  const words = WORDS.split(" ");
  const lines = [];
  let length = 0;
  let state = seed + 1;
  while (length < bytes) {
    let line = "";
    while (line.length < 70) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      line += `${words[(state >> 8) % words.length]} `;
    }
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join("\n").slice(0, bytes - 1)}\n`;
}

/** Text of about that many bytes in UTF-8, in which one character in ten is not ASCII. */
function makeUnicode(bytes) {
  const line = 'Größe und Länge – “naïve” Wörter, ein "Zitat" und etwas Straßenbahn: 中文 🙂 am Ende.\n';
  return line.repeat(Math.floor(bytes / Buffer.byteLength(line)));
}

/** Bytes that are no text. */
export function makeBytes(bytes, seed) {
  const data = Buffer.alloc(bytes);
  let state = seed + 1;
  for (let index = 0; index < bytes; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    data[index] = state >> 16;
  }
  data[0] = 0;
  return data;
}

/**
 * Makes the tree that all subjects work on.
 * @param options.bigTree whether to make the one of 100,000 entries too, which takes some seconds
 */
export function makeFixture({ bigTree }) {
  const deep = (name) => `${DEEP}/${name}`;
  const files = {
    small: Array.from({ length: SMALL_FILES }, (_, index) => ({
      path: deep(`note-${index}.md`),
      text: makeText(KB, index),
    })),
    medium: { path: deep("medium.md"), text: makeText(100 * KB, 101) },
    mediumUnicode: { path: deep("medium-unicode.md"), text: makeUnicode(100 * KB) },
    large: { path: deep("large.md"), text: makeText(5 * MB, 102) },
    long: { path: deep("long.md"), text: makeText(8 * MB, 105) },
    mediumBlob: { path: deep("medium.bin"), bytes: makeBytes(100 * KB, 103) },
    largeBlob: { path: deep("large.bin"), bytes: makeBytes(5 * MB, 104) },
  };
  const all = Object.values(files).flat();
  const listed = listedEntries();
  const root = temporaryDirectory({
    ...Object.fromEntries(all.map(({ path, text, bytes }) => [path, text ?? bytes])),
    ...Object.fromEntries(Array.from(listed, listedFile)),
    ...treeOf(TREE, { depth: 2, width: 9 }),
    ...(bigTree && treeOf(BIG_TREE, { depth: 3, width: 10 })),
  });
  return { root, at: (path) => join(root, path), deep, files, listed };
}

/** @returns what the listed directory has, by name */
function listedEntries() {
  const entry = (_, index) =>
    index % 20 === 0
      ? [`part-${index}`, { type: "directory", size: 0 }]
      : [`chapter-${index}.md`, { type: "file", size: index % 700 }];
  return new Map(Array.from({ length: LISTED.entries }, entry));
}

const listedFile = ([name, { type, size }]) =>
  type === "file" ? [`${LISTED.path}/${name}`, "x".repeat(size)] : [`${LISTED.path}/${name}/inside`, ""];

/** Files of a tree of exactly `entries` entries: `width` directories in each directory down to `depth`, the rest files, spread evenly. */
function treeOf({ path, entries }, { depth, width }) {
  const directories = [path];
  let level = [path];
  for (let at = 0; at < depth; at++) {
    level = level.flatMap((parent) => Array.from({ length: width }, (_, index) => `${parent}/section-${index}`));
    directories.push(...level);
  }
  const pathOf = (index) =>
    `${directories[index % directories.length]}/page-${Math.floor(index / directories.length)}.md`;
  return filesOf(entries - (directories.length - 1), pathOf, "");
}
