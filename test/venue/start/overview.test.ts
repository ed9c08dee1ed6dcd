import { expect, test } from "@jest/globals";
import type { JournalFault } from "../../../src/core/ports/changes/journal.js";
import type { RootJournalAccess } from "../../../src/core/ports/operation.js";
import { overviewOf } from "../../../src/venue/start/http-options.js";

/** The journal of a root that is open, or is not. */
function journal(fault?: JournalFault | "none"): RootJournalAccess {
  const numbers = { entries: 1, bytes: 1, unkept: 0, lost: 0 };
  const facts = fault === undefined ? undefined : { ...numbers, ...(fault !== "none" && { fault }) };
  return { mode: "on", open: () => undefined, facts: () => facts };
}

test("the operator's status names roots whose journal is not whole, and why", () => {
  const roots = [
    { name: "whole", readOnly: false, journal: journal("none") },
    { name: "broken", readOnly: false, journal: journal("damaged") },
    { name: "full", readOnly: false, journal: journal("waiting") },
    { name: "unused", readOnly: false, journal: journal() },
    { name: "notes", readOnly: true, drive: "notes" },
  ];
  expect(overviewOf({ roots }, {})).toEqual({
    roots: [
      { name: "whole", readOnly: false },
      { name: "broken", readOnly: false, journal: "damaged" },
      { name: "full", readOnly: false, journal: "waiting" },
      { name: "unused", readOnly: false },
      { name: "notes", readOnly: true, drive: true },
    ],
    tokens: { access: 0, sessions: 0 },
  });
});
