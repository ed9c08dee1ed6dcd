import { expect, test } from "@jest/globals";
import { jsonText } from "../../../src/cli/output/json.js";
import { useFileCommands } from "../files/file-stage.js";

const CLEAR = "\u009b2J";
const { ok } = useFileCommands({ [`docs/${CLEAR}x`]: `${CLEAR}\u007f\u0080\u009f` });

test("JSON on a terminal has no control characters that the terminal would obey, and says the same", async () => {
  for (const line of [await ok("ls", "--json", "d:"), await ok("cat", "--json", `d:${CLEAR}x`)]) {
    expect(line).not.toMatch(/[\u007f-\u009f]/);
    expect(line).toContain("\\u009b2J");
    expect(JSON.stringify(JSON.parse(line))).toContain(CLEAR);
  }
});

test("other characters stay as they are, and long numbers keep their digits", () => {
  expect(jsonText({ a: "ä\u00a0\u2028", b: 2n ** 64n })).toBe('{"a":"ä\u00a0\u2028","b":18446744073709551616}');
});
