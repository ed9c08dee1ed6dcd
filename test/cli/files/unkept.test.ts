import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder } from "../process.js";
import { runFileLine } from "./file-stage.js";

afterAll(cleanUp);

const ground = () => makeFolder({ "docs/a.txt": "one\n", "docs/b.txt": "two\n", file: "" });
const said = (what: string) => ({ status: 0, stderr: expect.stringContaining(`venue-files: ${what}`) });

test("without a state directory, rm and edit say that nobody can take it back, and history that nothing is kept", async () => {
  const folder = ground();
  const run = (...args: string[]) =>
    runFileLine(folder, [...args, "--root", "d=docs"], { env: { VENUE_FILES_STATE_DIR: join(folder, "file") } });
  expect(await run("rm", "d:a.txt")).toMatchObject(said("d:a.txt is deleted for good (no_state_dir)\n"));
  const edited = await run("edit", "d:b.txt", "--old", "two", "--new", "2");
  expect(edited).toMatchObject(said("d:b.txt was overwritten for good (no_state_dir)\n"));
  expect(await run("history", "d:")).toMatchObject(said('Root "d" keeps no history: the state directory'));
  expect(await run("trash", "ls", "d:")).toMatchObject(said('Root "d" keeps no history: the state directory'));
  // Programs read it in the answer.
  const { stdout, stderr } = await run("rm", "d:b.txt", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ trashed: false, reason: "no_state_dir" });
  expect(stderr).not.toContain("for good");
});

test.each([
  ["cp", ["cp", "d:a.txt", "e:b.txt"], "e:b.txt was"],
  ["mv", ["mv", "d:a.txt", "e:b.txt"], "e:b.txt was"],
  ["patch", ["patch", "some.patch", "--in", "d:"], "what was there was"],
])("%s names what was overwritten, not what overwrote it", async (_name, args, what) => {
  const folder = makeFolder({
    ...{ "docs/a.txt": "one\n", "other/b.txt": "two\n", file: "" },
    "some.patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n",
  });
  const env = { VENUE_FILES_STATE_DIR: join(folder, "file") };
  const ran = await runFileLine(folder, [...args, "--root", "d=docs", "--root", "e=other"], { env });
  expect(ran).toMatchObject(said(`${what} overwritten for good (no_state_dir)\n`));
});

test("with the journal off, history, trash and undo name the key", async () => {
  const folder = ground();
  const config = { stateDir: "./state", file: { roots: { d: { path: "./docs", journal: "off" } } } };
  writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
  const run = (...args: string[]) => runFileLine(folder, [...args, "--config", join(folder, "venue.json5")]);
  expect(await run("rm", "d:a.txt")).toMatchObject({ status: 0, stderr: "" });
  const key = 'Root "d" keeps no history: its journal is off (set journal: "on")\n';
  expect(await run("history")).toMatchObject(said(key));
  expect(await run("trash", "ls")).toMatchObject(said(key));
  expect(await run("undo", "-y")).toMatchObject({ status: 1, stderr: expect.stringContaining(key.trim()) });
});

test("trash ls of all roots leaves out drives of users where the caller has none, and one that is named is refused", async () => {
  const folder = ground();
  const config = { stateDir: "./state", file: { roots: { mine: { dlfs: "n" }, d: { path: "./docs" } } } };
  writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
  const run = (...args: string[]) => runFileLine(folder, [...args, "--config", join(folder, "venue.json5")]);
  await run("rm", "d:a.txt");
  const all = await run("trash", "ls");
  expect(all).toMatchObject({ status: 0, stdout: expect.stringMatching(/ d:a\.txt\n$/) });
  expect(all.stderr).not.toContain("requires authenticated caller");
  expect(await run("trash", "ls", "mine:")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("requires authenticated caller"),
  });
});
