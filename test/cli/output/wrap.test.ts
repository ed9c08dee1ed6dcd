import { describe, expect, test } from "@jest/globals";
import { COMMANDS } from "../../../src/cli/commands/all.js";
import { FILE_COMMANDS } from "../../../src/cli/commands/files.js";
import { helpText } from "../../../src/cli/help/help.js";
import { wrapText } from "../../../src/cli/output/wrap.js";

const topics = [
  ["--help", helpText([], true)],
  ...[...Object.keys(COMMANDS), ...Object.keys(FILE_COMMANDS)].map((name) => [name, helpText(name.split(" "), true)]),
] as [string, string][];

describe("help on a narrow terminal", () => {
  test.each(topics)("%s has the same words, in lines that fit", (_name, text) => {
    for (const width of [80, 100]) {
      const wrapped = wrapText(text, width);
      expect(wrapped.split(/\s+/)).toEqual(text.split(/\s+/));
      const tooLong = wrapped.split("\n").filter((line) => line.length > width && !/^ *Example: /.test(line));
      expect(tooLong).toEqual([]);
    }
  });

  test("goes on below the text of an option, and joins what belongs together", () => {
    const text = `venue-files do [--one WORD] [--two WORD]… [--three WORD] [--four WORD] [--five WORD]

  --root [NAME=]PATH[:ro] a root, without any file, named like its folder unless you say; may be repeated; ':ro' makes
                          it read-only
  --one                   short

Example: venue-files do --one of --two that --three lines --four stays --five whole
`;
    expect(wrapText(text, 64)).toBe(`venue-files do [--one WORD] [--two WORD]… [--three WORD]
                [--four WORD] [--five WORD]

  --root [NAME=]PATH[:ro] a root, without any file, named like
                          its folder unless you say; may be
                          repeated; ':ro' makes it read-only
  --one                   short

Example: venue-files do --one of --two that --three lines --four stays --five whole
`);
  });
});
