// What a file command opens of a configuration: the file adapter, its audit and the caller, and nothing of the venue around it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const files = (more: string) =>
  makeFolder({
    "docs/a.md": "one\n",
    "venue.json5": `{ stateDir: "state", ${more} file: { roots: { docs: "docs" } } }`,
  });

test("assets are not opened, so that a storage that cannot be is no concern of 'ls'", async () => {
  const cwd = files('storage: { content: "file", path: "docs/a.md/no" },');
  expect(await runHere(["ls", "docs:", "--config", "venue.json5"], { cwd })).toMatchObject({
    ...{ status: 0, stdout: "a.md\n" },
  });
  const whole = await runHere(["call", "auth:whoami", "--config", "venue.json5"], { cwd });
  expect(whole).toMatchObject({ status: 78, stderr: expect.stringContaining("'storage.path' cannot be opened") });
});

test("each call has its record in the audit, with an id of its own, and its change in the journal", async () => {
  const cwd = files('audit: { file: "audit.jsonl" },');
  const edit = ["edit", "docs:a.md", "--old", "one", "--new", "two", "--config", "venue.json5"];
  expect((await runHere(edit, { cwd })).status).toBe(0);
  expect(
    (await runHere(["call", "/v/ops/file/stat", '{"root":"docs","path":"a.md"}', "--config", "venue.json5"], { cwd }))
      .status,
  ).toBe(0);
  const records = readFileSync(join(cwd, "audit.jsonl"), "utf8")
    .split("\n")
    .filter((line) => /"operation":"file:/.test(line))
    .map((line) => JSON.parse(line) as unknown);
  expect(records).toMatchObject([
    { operation: "file:edit", caller: "operator", job: expect.stringMatching(/^[0-9a-f]{32}$/) },
    { operation: "file:stat", caller: "operator", job: expect.stringMatching(/^[0-9a-f]{32}$/) },
  ]);
  const history = await runHere(["history", "docs:", "--json", "--config", "venue.json5"], { cwd });
  expect(JSON.parse(history.stdout)).toMatchObject({ entries: [{ op: "edit", actor: "operator", surface: "cli" }] });
  expect(existsSync(join(cwd, "state"))).toBe(true);
});

test.each(["file:upload", "file:download", "file:nope", "/v/ops/file/nope"])(
  "'%s' is no operation for callers",
  async (name) => {
    const ran = await runHere(["call", name, '{"root":"docs","path":"a.md"}', "--config", "venue.json5"], {
      cwd: files(""),
    });
    expect(ran.status).toBe(1);
    expect(JSON.parse(ran.stderr)).toMatchObject({
      errorCode: "UNKNOWN_OPERATION",
      error: expect.stringContaining(name),
    });
  },
);
