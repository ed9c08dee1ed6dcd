import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { FileOutputs } from "../../../src/schema/types.js";
import { useShell } from "../../sandbox/ground.js";

const ground = useShell({ journal: true, shell: { unsafe: true } });

const invoke = <K extends keyof FileOutputs>(op: K, input: object): Promise<FileOutputs[K]> =>
  ground.adapter.invoke(op as never, { root: "r", ...input } as never) as never;
const newest = async (limit: number): Promise<string[]> =>
  (await invoke("file:history", { limit })).entries.map(({ id }) => id);

/** Everything in the root, files with mode, time in milliseconds and content. */
function seen(): readonly string[] {
  return readdirSync(ground.dir, { recursive: true, encoding: "utf8" })
    .filter((path) => !path.startsWith(".venue-files"))
    .sort()
    .map((path) => {
      const at = join(ground.dir, path);
      const stat = statSync(at);
      if (stat.isDirectory()) return `${path}/ ${stat.mode}`;
      const hash = createHash("sha256").update(readFileSync(at)).digest("hex");
      return `${path} ${stat.mode} ${Math.floor(stat.mtimeMs)} ${hash}`;
    });
}

beforeEach(() => {
  for (const path of ["d/a", "d/b", "d/e/c"]) {
    ground.put(path, path);
    utimesSync(join(ground.dir, path), 1e9, 1e9 + 0.123);
  }
});

/** By a command that begins in the millisecond of the last change, which was made before it all the same. */
async function removeByCommand(): Promise<void> {
  const { entries } = await invoke("file:history", { limit: 1 });
  const clock = jest.spyOn(Date, "now").mockReturnValue(entries[0]?.time ?? Date.now());
  const starting = ground.adapter.exec(ground.request("rm -r d", { snapshot: true }));
  const running = await starting.finally(() => clock.mockRestore());
  await running.exited;
}

const deletions = [
  ["file:delete", () => invoke("file:delete", { path: "d", recursive: true })],
  ["a command, of which a copy is kept,", removeByCommand],
] as const;

describe.each(deletions)("a tree that was deleted by %s", (_, remove) => {
  test.each<[string, () => Promise<unknown>, number]>([
    ["a file written", () => invoke("file:write", { path: "d/a", content: "new" }), 1],
    ["a file appended to", () => invoke("file:append", { path: "d/a", content: " and more" }), 1],
    [
      "a file created with its folders",
      () => invoke("file:write", { path: "d/x/y/z", content: "z", parents: true }),
      1,
    ],
    ["a folder made", () => invoke("file:mkdir", { path: "d/x" }), 1],
    ["a file moved", () => invoke("file:move", { path: "d/a", to: "d/e/a" }), 1],
    [
      "a folder moved and then changed",
      async () => {
        await invoke("file:move", { path: "d/e", to: "d/f" });
        await invoke("file:write", { path: "d/f/c", content: "new" });
      },
      2,
    ],
    [
      "a file deleted, and another in its place",
      async () => {
        await invoke("file:delete", { path: "d/a" });
        await invoke("file:write", { path: "d/a", content: "new" });
      },
      2,
    ],
  ])("comes back as it was before, with %s in it, in one call, and goes again", async (__, change, count) => {
    const first = seen();
    await change();
    await remove();
    const last = seen();
    const undone = await invoke("file:undo", { ids: await newest(count + 1) });
    expect(seen()).toEqual(first);
    await invoke("file:undo", { id: undone.group ?? undone.id });
    expect(seen()).toEqual(last);
  });

  test("stays away where somebody else has changed a file in it before", async () => {
    await invoke("file:write", { path: "d/a", content: "mine" });
    writeFileSync(join(ground.dir, "d/a"), "else");
    await remove();
    const last = seen();
    const work = invoke("file:undo", { ids: await newest(2) });
    await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/a" }] } });
    expect(seen()).toEqual(last);
  });

  test("keeps a folder that was made in it where somebody else has put something into it", async () => {
    await invoke("file:mkdir", { path: "d/x" });
    ground.put("d/x/theirs", "theirs");
    await remove();
    const work = invoke("file:undo", { ids: await newest(2) });
    await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/x" }] } });
  });

  test("does not lose a change in a tree that was copied into it, which is left out", async () => {
    await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
    await invoke("file:write", { path: "d/x/c", content: "of somebody" });
    await remove();
    const [deleted, , copied] = await newest(3);
    const work = invoke("file:undo", { ids: [deleted, copied] });
    await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/x" }] } });
  });

  test("nor one that was made while the tree was elsewhere", async () => {
    await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
    await invoke("file:move", { path: "d", to: "t" });
    await invoke("file:write", { path: "t/x/c", content: "of somebody" });
    await invoke("file:move", { path: "t", to: "d" });
    await remove();
    const [deleted, back, , moved, copied] = await newest(5);
    const work = invoke("file:undo", { ids: [deleted, back, moved, copied] });
    await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "t" }, { path: "d/x" }] } });
  });
});
