import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { Sys } from "../../../src/jail/sys.js";
import { useGround } from "../ground.js";

// Without native calls, so that each system call is one that a test can follow.
const ground = useGround({ root: { io: "pool", deny: ["**/hidden"] } });
afterEach(() => {
  jest.restoreAllMocks();
});

const WARNINGS = ["Entries vanished while the directory was read and are left out"];

/** Removes an entry of the root once the names beside it have been read. */
function removeMeanwhile(...paths: readonly string[]): void {
  const { names } = Sys.prototype;
  jest.spyOn(Sys.prototype, "names").mockImplementation(function* (this: Sys, directory) {
    const found = yield* names.call(this, directory);
    const read = paths.filter((path) => found.some(({ name }) => String(name) === basename(path)));
    for (const path of read) rmSync(join(ground.dir, path), { recursive: true, force: true });
    return found;
  });
}

test.each([[["d/b"]], [["d/b", "d/c"]], [["d/sub"]]])(
  "a list without %j, which vanish meanwhile, says so",
  async (gone) => {
    for (const name of ["a", "b", "c", "sub/e"]) ground.put(`d/${name}`);
    removeMeanwhile(...gone);
    const answer = await ground.run("list", { path: "d" });
    const left = ["a", "b", "c", "sub"].filter((name) => !gone.includes(`d/${name}`));
    expect(answer.entries.map(({ name }) => name)).toEqual(left);
    expect(answer).toMatchObject({ warnings: WARNINGS, complete: true });
    expect(answer).not.toHaveProperty("hidden");
    jest.restoreAllMocks();
    expect(await ground.run("list", { path: "d" })).not.toHaveProperty("warnings");
  },
);

test.each([
  ["a file whose size is shown", "d/b", { info: "size" }],
  ["a directory", "d/sub", {}],
  ["a directory further down", "d/sub/deep", { info: "size" }],
] as const)("a tree without %s that vanishes meanwhile says so", async (_what, gone, input) => {
  for (const name of ["a", "b", "sub/e", "sub/deep/f"]) ground.put(`d/${name}`);
  removeMeanwhile(gone);
  const answer = await ground.run("tree", { path: "d", ...input });
  expect(answer).toMatchObject({ warnings: WARNINGS, complete: true });
  expect(answer.tree).toContain("a");
  expect(answer).not.toHaveProperty("hidden");
  jest.restoreAllMocks();
  expect(await ground.run("tree", { path: "d", ...input })).not.toHaveProperty("warnings");
});

test("what is hidden is counted apart from what vanished", async () => {
  for (const name of ["a", "b", "hidden"]) ground.put(`d/${name}`);
  removeMeanwhile("d/b");
  const hidden = { policy: 1 };
  expect(await ground.run("list", { path: "d" })).toMatchObject({ total: 2, warnings: WARNINGS, hidden });
  ground.put("d/b");
  expect(await ground.run("tree", { path: "d", info: "size" })).toMatchObject({ warnings: WARNINGS, hidden });
});

test("a start that vanishes is not there", async () => {
  ground.put("d/a");
  rmSync(join(ground.dir, "d"), { recursive: true });
  for (const operation of ["list", "tree"])
    expect(await ground.fail(operation, { path: "d" })).toMatchObject({ code: "NOT_FOUND" });
});
