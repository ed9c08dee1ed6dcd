// Writes the cells of one directory, whose entries lie between those of another side. Arguments: entries, side.
// In a process of its own: the tree that it makes would be garbage of the one that is measured.
import { writeSync } from "node:fs";
import { dir, file, toMultiCell } from "venue-files/drive";

const [entries = "0", side = ""] = process.argv.slice(2);
const names = Array.from({ length: Number(entries) }, (_, at) => `${at}-${side}`);
const bytes = toMultiCell(
  dir(
    names.map((name) => [name, file(Buffer.from(name.repeat(20)), 5)]),
    5,
  ),
);
for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
