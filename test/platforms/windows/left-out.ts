// Tests that say nothing under Wine, or about Windows, each with its reason. What they hold is tested on Linux.

const ON_WINDOWS = "such names are reserved on Windows, as grammar.test.ts holds";

export const LEFT_OUT: readonly (readonly [name: RegExp, reason: string])[] = [
  [
    /grammar\.test › .* › (?:three dots|spaces|a colon that makes no drive|a drive form below|a letter that is not ASCII|Windows devices|URL characters|wildcards)/,
    ON_WINDOWS,
  ],
  [
    /names › a path of more than 260/,
    "Wine 8 does not tell where a handle of such a path is, so that the jail refuses it",
  ],
  [/names › case › of a name is changed by a move/, "Wine 8 leaves the case of a name when it is renamed to itself"],
];

/** What the battery cannot try at all. */
export const NOT_IN_WINE: readonly (readonly [what: string, reason: string])[] = [
  [
    "the journal, and drives on disk",
    "opening a database never ends in Wine 8; that all else works without it is tried",
  ],
  ["links that the system makes", "Wine 8 makes no reparse points; small files stand for them"],
  ["a client of HTTP as a Windows program", "'connect' fails in Wine 8; the client runs on Linux"],
  ["a console whose window is closed", "programs without a window have none in Wine; the signal comes from within"],
];
