import { existsSync, writeFileSync } from "node:fs";
import { expectThat } from "../expect.mjs";
import { KB, makeText } from "../fixture.mjs";
import { KEPT } from "./change.mjs";
import { row } from "./forms.mjs";
import { statOf, textOf } from "./read.mjs";

const IN_FLIGHT = { unit: "calls/s", inFlight: 16, scale: "throughput" };
/** Files that are changed in turn: none comes again before its last change has ended. */
const FILES = 64;

/** Rows with 16 calls in flight. They count calls a second, so more is better. */
export function inFlightRows(fixture) {
  const { at, files } = fixture;
  const write = writeOf(fixture);
  const edit = (name) => editOf(fixture, name);
  const only = ["library", "ours", "theirs", "promises"];
  /** @param least so many times the calls a second of server-filesystem */
  const flying = (id, title, least, more) =>
    row({ id, title: `${title}, 16 in flight`, most: 1 / least, only, ...more, ...IN_FLIGHT });
  return [
    flying("in-flight", "read 1 KB", 1.8, textOf(at, files.small)),
    flying("stat-in-flight", "stat", 2, statOf(at, files)),
    flying("write-in-flight", "write 1 KB", 0.67, { ...write, only: KEPT.only }),
    flying("edit-in-flight", "edit one line of 100 KB", 0.67, { ...edit("flight-edit"), only: KEPT.only }),
    flying("kept-write-in-flight", "write 1 KB, the old one kept (journal)", 0.67, { ...write, ...KEPT }),
    flying("kept-edit-in-flight", "edit one line of 100 KB, the old one kept (journal)", 0.67, {
      ...edit("flight-kept"),
      ...KEPT,
    }),
  ];
}

function writeOf({ at, deep }) {
  const path = (who, index) => deep(`flight-${who}-${index % FILES}.md`);
  const content = makeText(KB, 203);
  return {
    ours: (call, index, who) => call("write", { path: path(who, index), content }),
    theirs: (tool, index, who) => tool("write_file", { path: at(path(who, index)), content }),
    done: (index, who) => expectThat(existsSync(at(path(who, index))), "Nothing was written"),
  };
}

/** Each row edits files of its own: what an edit finds depends on those before. */
function editOf({ at, deep, files }, name) {
  const path = (who, index) => deep(`${name}-${who}-${index % FILES}.md`);
  const line = (turn) => `the line that is edited, in turn ${turn % 2}`;
  const turn = (index) => Math.floor(index / FILES);
  const edit = (index) => ({ oldText: line(turn(index)), newText: line(turn(index) + 1) });
  const hasDiff = (text, index) => expectThat(text.includes(`+${line(turn(index) + 1)}`), "No diff");
  return {
    before(_, who) {
      if (existsSync(at(path(who, 0)))) return;
      const text = `${line(0)}\n${files.medium.text}`;
      for (let index = 0; index < FILES; index++) writeFileSync(at(path(who, index)), text);
    },
    ours: (call, index, who) => call("edit", { path: path(who, index), ...edit(index) }),
    theirs: (tool, index, who) => tool("edit_file", { path: at(path(who, index)), edits: [edit(index)] }),
    is: { ours: hasDiff, theirs: hasDiff },
  };
}
