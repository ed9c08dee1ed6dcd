import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  promises,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { expectEqual, expectThat, textOf } from "../expect.mjs";
import { KB, MB, makeText } from "../fixture.mjs";
import { editLinesRow } from "./edit-lines.mjs";

/** Rows that change something, each subject in names of its own. All but one without flushing. */
export function changeRows(fixture) {
  return [
    { ...writeRow(fixture, KB), id: "write-1k", title: "write 1 KB", scale: "small" },
    { ...kept(writeRow(fixture, KB)), id: "kept-1k", title: "write 1 KB, the old one kept (journal)", scale: "small" },
    { ...newFileRow(fixture), id: "create-1k", title: "write 1 KB, new file", scale: "small" },
    { ...writeRow(fixture, 5 * MB), id: "write-5m", title: "write 5 MB", scale: "large" },
    { ...flushRow(fixture), id: "flush-1k", title: "write 1 KB, flushed and kept (default)", scale: "flush" },
    { ...appendRow(fixture), id: "append-1k", title: "append 1 KB to 100 KB", scale: "append" },
    {
      ...kept(appendRow(fixture)),
      id: "kept-append",
      title: "append 1 KB to 100 KB, with the journal",
      scale: "append",
    },
    { ...editRow(fixture), id: "edit-100k", title: "edit one line of 100 KB", scale: "medium" },
    {
      ...kept(editRow(fixture)),
      id: "kept-100k",
      title: "edit one line of 100 KB, the old one kept (journal)",
      scale: "medium",
    },
    { ...editLinesRow(fixture, "uniform"), id: "edit-4m", title: "edit two lines of 4 MB", scale: "large" },
    {
      ...editLinesRow(fixture, "mixed"),
      id: "edit-4m-mixed",
      title: "edit two lines of 4 MB, mixed line ends",
      scale: "large",
    },
    { ...makeDirectoryRow(fixture), id: "mkdir", title: "mkdir", scale: "small" },
    { ...deleteRow(fixture), id: "delete", title: "delete a file", scale: "small" },
  ];
}

/** A row in a root with a journal, beside server-filesystem, which keeps nothing. */
export const kept = ({ forms: { ours, theirs } }) => ({ setting: "journal", forms: { ours, theirs } });

/** Two bodies in turn, so that an old one is not taken for the new. */
function bodies(bytes) {
  const both = [makeText(bytes, 201), makeText(bytes, 202)];
  return (index) => both[index % 2];
}

/** In place of a file that is there. node:fs overwrites it where it lies, the servers put a new one in its place. */
function writeRow({ at, deep }, bytes) {
  const body = bodies(bytes);
  const path = (who) => deep(`written-${bytes}-${who}.md`);
  const written = (index, who) => expectEqual(readFileSync(at(path(who)), "utf8"), body(index), "The file written");
  const checkTool = (result, index, who) => {
    textOf(result, "write");
    written(index, who);
  };
  return {
    forms: {
      library: {
        run: (invoke, index, who) => invoke("file:write", { root: "bench", path: path(who), content: body(index) }),
        check: (output, index, who) => {
          expectEqual(output.written, bytes, "written");
          written(index, who);
        },
      },
      ours: {
        run: (tool, index, who) => tool("file_write", { root: "bench", path: path(who), content: body(index) }),
        check: checkTool,
      },
      theirs: {
        run: (tool, index, who) => tool("write_file", { path: at(path(who)), content: body(index) }),
        check: checkTool,
      },
      sync: {
        run: (_, index, who) => writeFileSync(at(path(who)), body(index)),
        check: (_, index, who) => written(index, who),
      },
      promises: {
        run: (_, index, who) => promises.writeFile(at(path(who)), body(index)),
        check: (_, index, who) => written(index, who),
      },
    },
  };
}

/** The forms of a row whose every call makes something under a new name, in a directory that is emptied after each turn. */
function inOwnDirectory({ at, deep }, name, forms) {
  const directory = (who) => deep(`${name}-${who}`);
  const emptied = (who) => {
    rmSync(at(directory(who)), { recursive: true, force: true });
    mkdirSync(at(directory(who)), { recursive: true });
  };
  const ready = new Set();
  const before = (_, who) => {
    if (ready.has(who)) return;
    emptied(who);
    ready.add(who);
  };
  const path = (index, who) => `${directory(who)}/item-${index}`;
  return Object.fromEntries(
    Object.entries(forms(path)).map(([form, steps]) => [form, { before, after: emptied, ...steps }]),
  );
}

function newFileRow(fixture) {
  const { at } = fixture;
  const body = bodies(KB);
  return {
    forms: inOwnDirectory(fixture, "created", (path) => {
      const check = (_, index, who) =>
        expectEqual(readFileSync(at(path(index, who)), "utf8"), body(index), "file made");
      return {
        library: {
          run: (invoke, index, who) =>
            invoke("file:write", { root: "bench", path: path(index, who), content: body(index) }),
          check,
        },
        ours: {
          run: (tool, index, who) =>
            tool("file_write", { root: "bench", path: path(index, who), content: body(index) }),
          check,
        },
        theirs: {
          run: (tool, index, who) => tool("write_file", { path: at(path(index, who)), content: body(index) }),
          check,
        },
        sync: { run: (_, index, who) => writeFileSync(at(path(index, who)), body(index)), check },
        promises: { run: (_, index, who) => promises.writeFile(at(path(index, who)), body(index)), check },
      };
    }),
  };
}

/** What `durability: "flush"` costs, with the journal where our server has one by default. Nothing of server-filesystem flushes; node:fs does what such a write has to do. */
function flushRow(fixture) {
  const { at, deep } = fixture;
  const { library, ours } = writeRow(fixture, KB).forms;
  const body = bodies(KB);
  const path = at(deep("flushed.md"));
  const flush = (name) => {
    const fd = openSync(name, "r");
    fsyncSync(fd);
    closeSync(fd);
  };
  const sync = {
    run: (_, index) => {
      writeFileSync(`${path}.new`, body(index), { flush: true });
      renameSync(`${path}.new`, path);
      flush(at(deep("")));
    },
    check: (_, index) => expectEqual(readFileSync(path, "utf8"), body(index), "The file written"),
  };
  return { setting: "default", forms: { library, ours, sync } };
}

/** server-filesystem cannot append: an agent has to read the file and write the whole of it. */
function appendRow({ at, deep }) {
  const old = makeText(100 * KB, 301);
  const added = makeText(KB, 302);
  const path = (who) => deep(`appended-${who}.md`);
  // Back to 100 KB, untimed.
  const before = (_, who) => {
    const file = at(path(who));
    if (existsSync(file) && statSync(file).size >= old.length) truncateSync(file, old.length);
    else writeFileSync(file, old);
  };
  const check = (_, _index, who) =>
    expectEqual(readFileSync(at(path(who)), "utf8"), old + added, "The file appended to");
  const forms = {
    library: { run: (invoke, _, who) => invoke("file:append", { root: "bench", path: path(who), content: added }) },
    ours: { run: (tool, _, who) => tool("file_append", { root: "bench", path: path(who), content: added }) },
    theirs: {
      run: async (tool, _, who) => {
        const text = textOf(await tool("read_text_file", { path: at(path(who)) }), "read_text_file");
        return tool("write_file", { path: at(path(who)), content: text + added });
      },
    },
    sync: { run: (_, _index, who) => appendFileSync(at(path(who)), added) },
    promises: { run: (_, _index, who) => promises.appendFile(at(path(who)), added) },
  };
  return {
    forms: Object.fromEntries(Object.entries(forms).map(([form, steps]) => [form, { before, check, ...steps }])),
  };
}

/** One line in the middle, there and back. What node:fs does is the least that such an edit is: read, replace, write. */
function editRow({ at, deep }) {
  const text = makeText(100 * KB, 401);
  const lines = text.split("\n");
  const middle = Math.floor(lines.length / 2);
  const versions = ["the line before the edit", "the line after the edit"];
  const body = (version) => lines.toSpliced(middle, 1, versions[version]).join("\n");
  const path = (who) => deep(`edited-${who}.md`);
  const oldText = (index) => versions[index % 2];
  const newText = (index) => versions[(index + 1) % 2];
  const before = (index, who) => writeFileSync(at(path(who)), body(index % 2));
  const check = (_, index, who) =>
    expectEqual(readFileSync(at(path(who)), "utf8"), body((index + 1) % 2), "The file edited");
  const forms = {
    library: {
      run: (invoke, index, who) =>
        invoke("file:edit", { root: "bench", path: path(who), oldText: oldText(index), newText: newText(index) }),
    },
    ours: {
      run: (tool, index, who) =>
        tool("file_edit", { root: "bench", path: path(who), oldText: oldText(index), newText: newText(index) }),
      check: (result, index, who) => {
        expectThat(textOf(result, "file_edit").includes(`+${newText(index)}`), "No diff");
        check(result, index, who);
      },
    },
    theirs: {
      run: (tool, index, who) =>
        tool("edit_file", { path: at(path(who)), edits: [{ oldText: oldText(index), newText: newText(index) }] }),
      check: (result, index, who) => {
        expectThat(textOf(result, "edit_file").includes(`+${newText(index)}`), "No diff");
        check(result, index, who);
      },
    },
    sync: {
      run: (_, index, who) => {
        const content = readFileSync(at(path(who)), "utf8");
        writeFileSync(at(path(who)), content.replace(oldText(index), newText(index)));
      },
    },
    promises: {
      run: async (_, index, who) => {
        const content = await promises.readFile(at(path(who)), "utf8");
        await promises.writeFile(at(path(who)), content.replace(oldText(index), newText(index)));
      },
    },
  };
  return {
    forms: Object.fromEntries(Object.entries(forms).map(([form, steps]) => [form, { before, check, ...steps }])),
  };
}

function makeDirectoryRow(fixture) {
  const { at } = fixture;
  return {
    forms: inOwnDirectory(fixture, "made", (path) => {
      const check = (_, index, who) =>
        expectThat(statSync(at(path(index, who))).isDirectory(), "No directory was made");
      return {
        library: {
          run: (invoke, index, who) => invoke("file:mkdir", { root: "bench", path: path(index, who) }),
          check,
        },
        ours: { run: (tool, index, who) => tool("file_mkdir", { root: "bench", path: path(index, who) }), check },
        theirs: { run: (tool, index, who) => tool("create_directory", { path: at(path(index, who)) }), check },
        sync: { run: (_, index, who) => mkdirSync(at(path(index, who))), check },
        promises: { run: (_, index, who) => promises.mkdir(at(path(index, who))), check },
      };
    }),
  };
}

/** server-filesystem cannot delete. */
function deleteRow(fixture) {
  const { at } = fixture;
  return {
    forms: inOwnDirectory(fixture, "deleted", (path) => {
      const before = (index, who) => {
        mkdirSync(at(path(0, who)).replace(/\/[^/]*$/, ""), { recursive: true });
        writeFileSync(at(path(index, who)), "gone soon");
      };
      const check = (_, index, who) => expectThat(!existsSync(at(path(index, who))), "The file is still there");
      return {
        library: {
          before,
          run: (invoke, index, who) => invoke("file:delete", { root: "bench", path: path(index, who) }),
          check,
        },
        ours: {
          before,
          run: (tool, index, who) => tool("file_delete", { root: "bench", path: path(index, who) }),
          check,
        },
        sync: { before, run: (_, index, who) => rmSync(at(path(index, who))), check },
        promises: { before, run: (_, index, who) => promises.rm(at(path(index, who))), check },
      };
    }),
  };
}
