import { realpathSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { approvalRequired } from "../../../src/core/errors/approval-texts.js";
import { adapterError } from "../../../src/core/errors/errors.js";
import { invalidPattern, isADirectory, notFound, parentMissing } from "../../../src/core/errors/texts.js";
import type { OperationMetadata } from "../../../src/core/ports/adapter.js";
import { failureContent } from "../../../src/surfaces/mcp/failure.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { etagOfContent } from "../../ops/content/etags.js";
import { type RawClient, startRaw } from "./raw.js";

const CODE = Array.from({ length: 60 }, (_, line) => `  const value${line} = compute(${line});\n`).join("");
const folder = realpathSync(makeFolder({ "src/code.ts": CODE, "src/lib/a.ts": "a\n" }));

let raw: RawClient;
beforeAll(async () => {
  raw = await startRaw(["--root", `r=${folder}`]);
});
afterAll(cleanUp);

const texts = async (name: string, input: object): Promise<string[]> =>
  (await raw.call(name, { root: "r", ...input })).result.content.map((block) => String(block["text"]));

describe("the content of a failure", () => {
  test("is one block where nothing helps further", async () => {
    expect(await texts("file_stat", { path: "../x" })).toEqual(["Path escapes root 'r': ../x [PATH_ESCAPES_ROOT]"]);
  });

  test("has an advice once", () => {
    const hint = "Nobody can be asked here";
    const effects = [{ root: "r", path: "a", action: "delete" }] as const;
    const tool = { name: "file:delete", toolName: "file_delete" } as OperationMetadata;
    const shown = failureContent(approvalRequired({ effects, hint }), tool);
    expect(shown.map((block) => "text" in block && block.text)).toEqual([
      `A person has to allow this: delete "a" in root 'r'. ${hint} [APPROVAL_REQUIRED]`,
    ]);
  });

  test("names tools as this client knows them", async () => {
    expect(await texts("file_read", { path: "src/lib" })).toEqual([
      "Not a regular file: src/lib. It is a directory: list it with file_list [IS_A_DIRECTORY]",
    ]);
    expect(await texts("file_write", { path: "no/x", content: "x" })).toEqual([
      "Parent directory does not exist: no. Pass parents: true or call file_mkdir [PARENT_MISSING]",
    ]);
  });

  test("says how a move names its target", async () => {
    expect(await texts("file_move", { path: "src/code.ts", to: "src/lib" })).toEqual([
      "Already exists: src/lib. 'to' is the whole new path, name included; overwrite: true replaces a file [ALREADY_EXISTS]",
    ]);
  });

  test("has the nearest text of an edit that does not match, at most 600 characters", async () => {
    const oldText = CODE.replaceAll("compute", "Compute");
    const [first, second = ""] = await texts("file_edit", { path: "src/code.ts", oldText, newText: "x" });
    expect(first).toMatch(/^Edit 1 of 1 does not match "src\/code\.ts"\. Nearest: .* \[NO_MATCH\]$/);
    const [told, ...lines] = second.split("\n");
    expect(told).toBe("Nearest text, lines 1-60:");
    expect(CODE.startsWith(lines[0] ?? "-")).toBe(true);
    expect(lines.join("\n").length).toBeGreaterThan(100);
    expect(lines.join("\n").length).toBeLessThanOrEqual(600);
  });

  test("has the current etag of a conflict", async () => {
    const etag = etagOfContent("a\n");
    const input = { path: "src/lib/a.ts", content: "b", ifMatch: "aaaaaaaa" };
    expect((await texts("file_write", input)).slice(1)).toEqual([`Current etag: ${etag}`]);
    const missing = { ...input, path: "src/none" };
    expect((await texts("file_write", missing)).slice(1)).toEqual(["Nothing is there now"]);
  });
});

const TOOL = { name: "file:read", toolName: "file_read" } as OperationMetadata;
const first = (error: Parameters<typeof failureContent>[0]): string => {
  const [block] = failureContent(error, TOOL);
  return block?.type === "text" ? block.text : "";
};

describe("the first block", () => {
  const at = (path: string) => ({ root: "docs", path });
  const hex = "0f3a9c7be1".repeat(20);
  test.each([
    ["a hash", notFound(at(hex))],
    ["hashes and spaces", notFound(at(hex.match(/.{4}/g)?.join(" ") ?? ""))],
    ["Chinese", parentMissing(at("漢字".repeat(60)))],
    ["pictures", isADirectory(at("😀".repeat(90)))],
    ["rare letters", isADirectory(at("ꀀᏣ ".repeat(60)))],
    ["controls", notFound(at("\u202e".repeat(90)))],
    ["half a character", notFound(at(`${"a".repeat(1999)}\ud83d\ude00`))],
    ["a pattern", invalidPattern("[".repeat(1000), "not closed")],
    ["words", adapterError("INVALID_INPUT", "many words of no use at all ".repeat(50))],
  ])("takes 75 tokens at most, and keeps the code: %s", (_, error) => {
    const text = first(error);
    expect(encode(text).length).toBeLessThanOrEqual(75);
    expect(text).toContain("…");
    expect(text.endsWith(` [${error.code}]`)).toBe(true);
    expect(text.isWellFormed()).toBe(true);
  });

  test("is whole where it is short", () => {
    const path = "src/main/java/org/example/application/service/UserAccountService.java";
    expect(first(notFound(at(path)))).toBe(`Not found: docs:${path} [NOT_FOUND]`);
  });

  test("is the text alone for a tool of a profile", () => {
    const error = adapterError("NOT_FOUND", "no such file", { hint: "look elsewhere" });
    expect(failureContent(error, { ...TOOL, isVerbatim: true })).toEqual([{ type: "text", text: "no such file" }]);
    expect(failureContent(error, TOOL)).toHaveLength(2);
  });
});
