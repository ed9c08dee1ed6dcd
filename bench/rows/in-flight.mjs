import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expectThat, textOf } from "../expect.mjs";
import { KB, makeText } from "../fixture.mjs";
import { kept } from "./change.mjs";
import { statRow, textRow } from "./read.mjs";

const IN_FLIGHT = 16;
const THROUGHPUT = { unit: "calls/s", inFlight: IN_FLIGHT, scale: "throughput" };
/** Files that are changed in turn: none comes again before its last change has ended. */
const FILES = 64;

/** Rows with 16 calls in flight. They count calls a second, so more is better. */
export function inFlightRows(fixture) {
  return [
    { ...overlapping(textRow(fixture, fixture.files.small)), id: "in-flight", title: "read 1 KB, 16 in flight" },
    { ...overlapping(statRow(fixture)), id: "stat-in-flight", title: "stat, 16 in flight" },
    { ...overlapping(writeRow(fixture)), id: "write-in-flight", title: "write 1 KB, 16 in flight" },
    { ...overlapping(editRow(fixture)), id: "edit-in-flight", title: "edit one line of 100 KB, 16 in flight" },
    {
      ...kept(overlapping(writeRow(fixture))),
      id: "kept-write-in-flight",
      title: "write 1 KB, the old one kept (journal), 16 in flight",
      ...THROUGHPUT,
    },
    {
      ...kept(overlapping(editRow(fixture, "flight-kept"))),
      id: "kept-edit-in-flight",
      title: "edit one line of 100 KB, the old one kept (journal), 16 in flight",
      ...THROUGHPUT,
    },
  ];
}

function overlapping({ forms: { sync: _, ...forms } }) {
  return { ...THROUGHPUT, forms };
}

function writeRow({ at, deep }) {
  const path = (who, index) => deep(`flight-${who}-${index % FILES}.md`);
  const body = makeText(KB, 203);
  const check = (_, index, who) =>
    expectThat(readFileSync(at(path(who, index)), "utf8") === body, "Not what was written");
  return {
    forms: {
      ours: {
        run: (tool, index, who) => tool("file_write", { root: "bench", path: path(who, index), content: body }),
        check,
      },
      theirs: {
        run: (tool, index, who) => tool("write_file", { path: at(path(who, index)), content: body }),
        check,
      },
    },
  };
}

/** Each row edits files of its own: what an edit finds depends on those before. */
function editRow({ at, deep, files }, name = "flight-edit") {
  const path = (who, index) => deep(`${name}-${who}-${index % FILES}.md`);
  const line = (turn) => `the line that is edited, in turn ${turn % 2}`;
  const turn = (index) => Math.floor(index / FILES);
  const edit = (index) => ({ oldText: line(turn(index)), newText: line(turn(index) + 1) });
  const make = (who) => {
    if (existsSync(at(path(who, 0)))) return;
    for (let index = 0; index < FILES; index++) {
      writeFileSync(at(path(who, index)), `${line(0)}\n${files.medium.text}`);
    }
  };
  const check = (tool) => (result, index) =>
    expectThat(textOf(result, tool).includes(`+${line(turn(index) + 1)}`), "No diff");
  const before = (_, who) => make(who);
  return {
    forms: {
      ours: {
        before,
        run: (tool, index, who) => tool("file_edit", { root: "bench", path: path(who, index), ...edit(index) }),
        check: check("file_edit"),
      },
      theirs: {
        before,
        run: (tool, index, who) => tool("edit_file", { path: at(path(who, index)), edits: [edit(index)] }),
        check: check("edit_file"),
      },
    },
  };
}
