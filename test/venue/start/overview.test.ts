import { expect, test } from "@jest/globals";
import type { RootJournalAccess } from "../../../src/core/ports/operation.js";
import { overviewOf } from "../../../src/venue/start/open-parts.js";

/** The journal of a root that is open, or is not. */
function journal(isDamaged?: boolean): RootJournalAccess {
  const numbers = { entries: 1, bytes: 1, unkept: 0, lost: 0 };
  const facts = isDamaged === undefined ? undefined : { ...numbers, isDamaged };
  return { mode: "on", open: () => undefined, facts: () => facts };
}

test("the operator's status names roots whose journal is damaged", () => {
  const roots = [
    { name: "whole", readOnly: false, journal: journal(false) },
    { name: "broken", readOnly: false, journal: journal(true) },
    { name: "unused", readOnly: false, journal: journal() },
    { name: "notes", readOnly: true, drive: "notes" },
  ];
  expect(overviewOf({ roots }, {})).toEqual({
    roots: [
      { name: "whole", readOnly: false },
      { name: "broken", readOnly: false, journal: "damaged" },
      { name: "unused", readOnly: false },
      { name: "notes", readOnly: true, drive: true },
    ],
    tokens: { access: 0, sessions: 0 },
  });
});
