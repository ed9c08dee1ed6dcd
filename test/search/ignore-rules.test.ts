import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import ignore from "ignore";
import { createIgnoreRules } from "../../src/search/ignore-rules.js";

describe("rules of what to ignore", () => {
  test("mean what they mean to the package that knows them all", async () => {
    const name = fc.constantFrom("a", "b", "a.log", ".log", "b.ts", "node_modules");
    const line = fc.oneof(
      fc.tuple(fc.constantFrom("", "/", "!"), name, fc.constantFrom("", "/")).map((parts) => parts.join("")),
      fc.constantFrom("*.log", "*.ts", "*", "a/b", "**/b", "a/**", "b*", "?", "[ab]", "!*.ts", "\\a", "a ", "# a"),
    );
    const path = fc.array(name, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 5 }), path, fc.boolean(), async (lines, segments, isDirectory) => {
        const reference = ignore({ ignorecase: false }).add(lines);
        const rules = await createIgnoreRules();
        rules.enter([], [Buffer.from(lines.join("\n")), undefined]);
        // As a walk does: what is ignored is not entered.
        const isReached = segments.slice(0, -1).every((_, at) => !rules.ignores(segments.slice(0, at + 1), true));
        const ignored = !isReached || rules.ignores(segments, isDirectory);
        expect(ignored).toBe(reference.ignores(`${segments.join("/")}${isDirectory ? "/" : ""}`));
      }),
      { numRuns: 2000 },
    );
  });
});
