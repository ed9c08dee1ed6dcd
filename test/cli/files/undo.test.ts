import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { makeGround } from "../people.js";
import { cleanUp } from "../process.js";

afterAll(cleanUp);

test("who is not the operator takes back the newest changes that they see, too", async () => {
  const { folder, venueFiles } = makeGround();
  const asAlice = async (...args: string[]) => {
    const { status, stdout, stderr } = await venueFiles([...args, "--config", "venue.json5", "--key", "alice"]);
    return { status, stdout, stderr };
  };
  const q3 = () => readFileSync(join(folder, "docs/reports/q3.md"), "utf8");
  const edit = (from: string, to: string) => asAlice("edit", "docs:reports/q3.md", "--old", from, "--new", to);
  expect((await asAlice("undo", "-y")).stderr).toMatch(/^venue-files: Nothing to undo: .* See venue-files history\n$/);
  for (const [from, to] of [
    ["third", "fourth"],
    ["fourth", "fifth"],
    ["fifth", "sixth"],
  ] as const) {
    expect((await edit(from, to)).status).toBe(0);
  }
  const asked = await asAlice("undo", "--last", "2");
  expect([asked.status, asked.stderr]).toEqual([1, expect.stringMatching(/^Would undo 2 changes:\n.*\n.*\n.*-y/)]);
  expect(q3()).toBe("sixth quarter\n");
  expect(await asAlice("undo", "-y")).toMatchObject({ status: 0, stdout: expect.stringContaining("+fifth quarter") });
  expect(await asAlice("undo", "--last", "2", "-y")).toMatchObject({ status: 0, stderr: "" });
  expect(q3()).toBe("third quarter\n");
});

test("a session is taken back past a change that was purged, which is named", async () => {
  const { folder, venueFiles } = makeGround();
  const run = (...args: string[]) => venueFiles([...args, "--config", "venue.json5"]);
  const names = ["one", "two", "three"];
  for (const name of names) writeFileSync(join(folder, name), "new");
  writeFileSync(join(folder, "docs/two"), "a key");
  expect(await run("put", ...names.map((name) => join(folder, name)), "docs:")).toMatchObject({ status: 0 });
  expect(await run("purge", "-y", "docs:two")).toMatchObject({ status: 0 });
  const undone = await run("undo", "--session", "-y");
  expect(undone).toMatchObject({ status: 0, stderr: expect.stringMatching(/purged:\n .* docs:two\n$/) });
  expect(names.filter((name) => existsSync(join(folder, "docs", name)))).toEqual(["two"]);
});
