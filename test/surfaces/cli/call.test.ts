import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, run, tempRootsIn } from "./process.js";

afterAll(cleanUp);

const folder = realpathSync(
  makeFolder({
    "docs/a.txt": "alpha\n",
    "docs/deep.json": `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
    "caps.json5": `[{ with: "file://docs/", can: "crud/read" }, /* grants nothing */ { with: "docs", can: "crud" }]`,
    "config/venue.json5": `{ file: { roots: { docs: "../docs" } }, audit: { file: "audit.jsonl" } }`,
  }),
);

const call = (...args: string[]) => run(["call", ...args], { cwd: folder });
const docs = ["--root", "docs=docs"];

describe("a call that succeeds prints its output, one line of JSON and nothing else:", () => {
  test.concurrent.each<[string, string[], unknown]>([
    [
      "by dispatch name",
      ["file:read", '{"root":"docs","path":"a.txt"}', ...docs],
      { content: "alpha\n", encoding: "utf-8", size: 6, mime: "text/plain" },
    ],
    ["by catalogue path", ["v/ops/file/stat", '{"root":"docs","path":"b"}', ...docs], { exists: false }],
    ["with options in front", [...docs, "/file:stat", '{"root":"docs","path":"b"}'], { exists: false }],
    [
      "in a root of a configuration, relative to its folder",
      ["file:stat", '{"root":"docs","path":"b"}', "--config", "config/venue.json5"],
      { exists: false },
    ],
    ["within caps", ["file:stat", '{"root":"docs","path":"b"}', ...docs, "--caps", "caps.json5"], { exists: false }],
    [
      "without an input",
      ["file:roots", "--root", "docs=docs:ro", "--root", `here=${folder}`],
      {
        roots: [
          { name: "docs", path: join(folder, "docs"), kind: "host", readOnly: true },
          { name: "here", path: folder, kind: "host", readOnly: false },
        ],
      },
    ],
  ])("%s", async (_name, args, output) => {
    expect(await call(...args)).toEqual({
      status: 0,
      signal: null,
      stdout: `${JSON.stringify(output)}\n`,
      stderr: "",
    });
  });

  test.concurrent("as long as it may be", async () => {
    const content = "é\n".repeat(2_500_000);
    const big = makeFolder({ "big.txt": content });
    const { status, stdout } = await call("file:read", '{"root":"big","path":"big.txt"}', "--root", `big=${big}`);
    expect(status).toBe(0);
    const output: unknown = JSON.parse(stdout);
    expect(output).toMatchObject({ size: 7_500_000 });
    expect((output as { content: string }).content === content).toBe(true);
  });
});

describe("a call that fails prints nothing, and one line of JSON on standard error:", () => {
  test.concurrent.each<[string, string[], object]>([
    [
      "nothing there",
      ["file:read", '{"root":"docs","path":"nope"}'],
      { error: "Not found: docs:nope", errorCode: "NOT_FOUND", errorData: { root: "docs", path: "nope" } },
    ],
    [
      "a misspelt field",
      ["file:delete", '{"root":"docs","path":"a.txt","recusive":true}'],
      {
        error: "Unknown field 'recusive' - did you mean 'recursive'?",
        errorCode: "INVALID_INPUT",
        errorData: { pointer: "/recusive", expected: "root, path, recursive" },
      },
    ],
    [
      "an input that is no object",
      ["file:stat", "[]"],
      {
        error: "'input' must be a JSON object",
        errorCode: "INVALID_INPUT",
        errorData: { pointer: "", expected: "object" },
      },
    ],
    [
      "an unknown operation",
      ["file:frobnicate"],
      { error: expect.stringMatching(/^Unknown file operation: file:frobnicate/), errorCode: "UNKNOWN_OPERATION" },
    ],
    [
      "outside of caps",
      ["file:write", '{"root":"docs","path":"a.txt","content":"b"}', "--caps", "caps.json5"],
      {
        error: expect.stringMatching(
          /^Capability denied: file:write requires crud\/write on file:\/\/docs\/a\.txt\. Your capabilities are: crud\/read on file:\/\/docs\/\./,
        ),
        errorCode: "CAPABILITY_DENIED",
        errorData: expect.objectContaining({ have: [{ with: "file://docs/", can: "crud/read" }] }),
      },
    ],
  ])("%s", async (_name, args, failure) => {
    const { status, stdout, stderr } = await call(...args, ...docs);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(stderr)).toMatchObject(failure);
    expect(readFileSync(join(folder, "docs/a.txt"), "utf8")).toBe("alpha\n");
  });

  test.concurrent("an output too deep for JSON", async () => {
    const { status, stdout, stderr } = await call(
      "file:read",
      '{"root":"docs","path":"deep.json","mode":"json"}',
      ...docs,
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(JSON.parse(stderr.trim().split("\n").at(-1) ?? "")).toMatchObject({ errorCode: "INTERNAL" });
  });
});

test("a call leaves an audit record and no temp root", async () => {
  const tmp = makeFolder({ "venue.json5": `{ audit: { file: "audit.jsonl" } }` });
  const input = '{"root":"tmp","path":"a","content":"secret"}';
  const { stdout } = await run(["call", "file:write", input, "--config", "venue.json5"], { cwd: tmp, tmp });
  expect(stdout).toBe('{"written":6,"created":true}\n');
  expect(tempRootsIn(tmp)).toEqual([]);
  const audit = readFileSync(join(tmp, "audit.jsonl"), "utf8");
  expect(JSON.parse(audit)).toMatchObject({
    caller: "operator",
    operation: "file:write",
    resource: "file://tmp/a",
    outcome: "OK",
    bytes: 6,
  });
  expect(audit).not.toContain("secret");
});
