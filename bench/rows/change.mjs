import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { expectThat } from "../expect.mjs";
import { KB, MB, makeText } from "../fixture.mjs";
import { row } from "./forms.mjs";

/** A row in a root with a journal, beside server-filesystem, which keeps nothing. */
export const KEPT = { setting: "journal", only: ["ours", "theirs"] };

/** Rows that change something, each subject in names of its own. All but one without flushing. */
export function changeRows(fixture) {
  const write = { ...writeOf(fixture, KB), scale: "small", most: 1.5 };
  const append = { ...appendOf(fixture), scale: "append", most: 0.1 };
  const edit = { ...editOf(fixture), scale: "medium", most: 1.5 };
  return [
    row({ id: "write-1k", title: "write 1 KB", ...write }),
    row({ id: "kept-1k", title: "write 1 KB, the old one kept (journal)", ...write, ...KEPT }),
    row({ id: "create-1k", title: "write 1 KB, new file", scale: "small", ...newFileOf(fixture) }),
    row({ id: "write-5m", title: "write 5 MB", scale: "large", ...writeOf(fixture, 5 * MB) }),
    row({
      id: "flush-1k",
      title: "write 1 KB, flushed and kept (default)",
      scale: "flush",
      ...flushOf(fixture, write),
    }),
    row({ id: "append-1k", title: "append 1 KB to 100 KB", ...append }),
    row({ id: "kept-append", title: "append 1 KB to 100 KB, with the journal", ...append, ...KEPT }),
    row({ id: "edit-100k", title: "edit one line of 100 KB", ...edit }),
    row({ id: "kept-100k", title: "edit one line of 100 KB, the old one kept (journal)", ...edit, ...KEPT }),
  ];
}

const holds = (file, content) => expectThat(readFileSync(file, "utf8") === content, `Not what was written: ${file}`);

/** Two bodies in turn, so that an old one is not taken for the new. */
function bodies(bytes) {
  const both = [makeText(bytes, 201), makeText(bytes, 202)];
  return (index) => both[index % 2];
}

/** In place of a file that is there. node:fs overwrites it where it lies, the servers put a new one in its place. */
function writeOf({ at, deep }, bytes) {
  const body = bodies(bytes);
  const path = (who) => deep(`written-${bytes}-${who}.md`);
  return {
    ours: (call, index, who) => call("write", { path: path(who), content: body(index) }),
    theirs: (tool, index, who) => tool("write_file", { path: at(path(who)), content: body(index) }),
    sync: (index, who) => writeFileSync(at(path(who)), body(index)),
    done: (index, who) => holds(at(path(who)), body(index)),
  };
}

/** Under a new name each time, in a directory that is emptied after each turn. */
function newFileOf({ at, deep }) {
  const body = bodies(KB);
  const directory = (who) => deep(`created-${who}`);
  const path = (index, who) => `${directory(who)}/item-${index}`;
  return {
    before: (_, who) => mkdirSync(at(directory(who)), { recursive: true }),
    after: (who) => rmSync(at(directory(who)), { recursive: true }),
    ours: (call, index, who) => call("write", { path: path(index, who), content: body(index) }),
    theirs: (tool, index, who) => tool("write_file", { path: at(path(index, who)), content: body(index) }),
    sync: (index, who) => writeFileSync(at(path(index, who)), body(index)),
    done: (index, who) => holds(at(path(index, who)), body(index)),
  };
}

/** What `durability: "flush"` costs, with the journal where our server has one by default. Nothing of server-filesystem flushes; node:fs does what such a write has to do. */
function flushOf({ at, deep }, { ours, done }) {
  const body = bodies(KB);
  const path = at(deep("flushed.md"));
  const sync = (index) => {
    writeFileSync(`${path}.new`, body(index), { flush: true });
    renameSync(`${path}.new`, path);
    const fd = openSync(dirname(path), "r");
    fsyncSync(fd);
    closeSync(fd);
  };
  return {
    ...{ setting: "default", ours, sync },
    done: (index, who) => (who === "fs-sync" ? holds(path, body(index)) : done(index, who)),
  };
}

/** server-filesystem cannot append: an agent has to read the file and write the whole of it. */
function appendOf({ at, deep }) {
  const old = makeText(100 * KB, 301);
  const added = makeText(KB, 302);
  const path = (who) => deep(`appended-${who}.md`);
  return {
    // Back to 100 KB, untimed.
    before(_, who) {
      const file = at(path(who));
      if (existsSync(file) && statSync(file).size >= old.length) truncateSync(file, old.length);
      else writeFileSync(file, old);
    },
    ours: (call, _, who) => call("append", { path: path(who), content: added }),
    async theirs(tool, _, who) {
      const { content } = await tool("read_text_file", { path: at(path(who)) });
      return tool("write_file", { path: at(path(who)), content: content[0].text + added });
    },
    sync: (_, who) => appendFileSync(at(path(who)), added),
    done: (_, who) => holds(at(path(who)), old + added),
  };
}

/** One line in the middle, there and back. What node:fs does is the least that such an edit is: read, replace, write. */
function editOf({ at, deep }) {
  const lines = makeText(100 * KB, 401).split("\n");
  const versions = ["the line before the edit", "the line after the edit"];
  const body = (index) => lines.toSpliced(lines.length >> 1, 1, versions[index % 2]).join("\n");
  const path = (who) => deep(`edited-${who}.md`);
  const edit = (index) => ({ oldText: versions[index % 2], newText: versions[(index + 1) % 2] });
  const hasDiff = (text, index) => expectThat(text.includes(`+${edit(index).newText}`), "No diff");
  return {
    before: (index, who) => writeFileSync(at(path(who)), body(index)),
    ours: (call, index, who) => call("edit", { path: path(who), ...edit(index) }),
    theirs: (tool, index, who) => tool("edit_file", { path: at(path(who)), edits: [edit(index)] }),
    sync(index, who) {
      const { oldText, newText } = edit(index);
      writeFileSync(at(path(who)), readFileSync(at(path(who)), "utf8").replace(oldText, newText));
    },
    is: { ours: hasDiff, theirs: hasDiff },
    done: (index, who) => holds(at(path(who)), body(index + 1)),
  };
}
