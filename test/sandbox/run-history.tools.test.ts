import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { needs } from "../needs.js";
import { bwrapHere, useShell } from "./ground.js";
import { changesBy, changesIn, told } from "./run-history.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({ journal: true, root: { deny: [".env"], protect: ["@git"] } });

const groupsOf = (changes: readonly { readonly group?: string }[]): (string | undefined)[] => [
  ...new Set(changes.map(({ group }) => group)),
];

describe("what a command has changed", () => {
  test("is one group, with what can be taken back", async () => {
    for (const name of ["edited", "deleted", "renamed", "same", "d/x", "d/y/z"]) ground.put(name, name);
    const context = { session: "s1", surface: "mcp" };
    const changes = await changesBy(ground, () =>
      ground.sh("echo more >> edited; rm -r deleted d; mv renamed moved; mkdir -p t/u; echo 1 > t/u/v; echo 2 > w", {
        context,
      }),
    );
    expect(changes.map(told).sort()).toEqual(
      ["now edited", "was deleted", "was d", "renamed > moved", "new t", "new w"].sort(),
    );
    expect(groupsOf(changes)).toEqual([expect.stringMatching(/^g/)]);
    for (const one of changes) {
      expect(one).toMatchObject({ op: "exec", actor: "operator", via: "s1", surface: "mcp", mayInclude: "external" });
      const isUndoable = one.before === null || one.from !== undefined;
      expect(one).toMatchObject(isUndoable ? { undoable: true } : { undoable: false, reason: "not_kept" });
    }
    expect(changes.find(({ path }) => path === "d")).toMatchObject({ kind: "directory", files: 2 });
    expect(changes.find(({ path }) => path === "t")).toMatchObject({ kind: "directory", files: 1 });
    expect(changes.find(({ path }) => path === "edited")).toMatchObject({ before: { size: 6 }, after: { size: 11 } });
  });

  test("is taken back as a whole where nothing was replaced, and made again", async () => {
    ground.put("a/k/old", "old");
    ground.put("b", "b");
    const changes = await changesBy(ground, () =>
      ground.sh("mv a c; mkdir -p n/m; mv b n/m/b2; echo x > n/x; mkdir e; echo y > c/k/y"),
    );
    expect(changes.map(told)).toEqual(expect.arrayContaining(["a > c", "new c/k/y", "b > n/m/b2", "new n", "new e"]));
    const group = changes[0]?.group ?? "";
    const undone = await ground.adapter.invoke("file:undo", { group });
    expect(
      readdirSync(ground.dir)
        .filter((name) => name !== ".venue-files")
        .sort(),
    ).toEqual(["a", "b"]);
    expect(readFileSync(join(ground.dir, "a/k/old"), "utf8")).toBe("old");
    expect(readFileSync(join(ground.dir, "b"), "utf8")).toBe("b");
    await ground.adapter.invoke("file:undo", { id: undone.group ?? undone.id ?? "" });
    expect(readFileSync(join(ground.dir, "n/m/b2"), "utf8")).toBe("b");
    expect(readFileSync(join(ground.dir, "n/x"), "utf8")).toBe("x\n");
    expect(readFileSync(join(ground.dir, "c/k/y"), "utf8")).toBe("y\n");
  });

  test("is not taken back as a whole where something was replaced, and nothing changes then", async () => {
    ground.put("edited", "1");
    const changes = await changesBy(ground, () => ground.sh("echo 2 > edited; echo 3 > made"));
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    expect(existsSync(join(ground.dir, "made"))).toBe(true);
    const made = changes.find(({ path }) => path === "made")?.id ?? "";
    await ground.adapter.invoke("file:undo", { id: made });
    expect(existsSync(join(ground.dir, "made"))).toBe(false);
  });

  test("leaves out what is denied, what calls made meanwhile, and what looks only", async () => {
    ground.put(".env", "SECRET");
    ground.put("file", "1");
    expect(await changesBy(ground, () => ground.sh("cat file; ls; true"))).toEqual([]);
    const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
    expect(await changesBy(ground, () => ground.sh("echo x > y", { context }))).toEqual([]);
    const changes = await changesBy(ground, async () => {
      // The command waits for the file that a call writes.
      const running = ground.sh("echo 1 > mine; until [ -e go/x ]; do sleep 0.05; done; echo 2 >> mine");
      await ground.adapter.invoke("file:write", { root: "r", path: "go/x", content: "theirs", parents: true });
      await running;
    });
    expect(changes.map((one) => [one.op, told(one)])).toEqual([
      ["write", "new go/x"],
      ["exec", "new mine"],
    ]);
  });

  test("leaves a folder that a call made meanwhile to that call, and says where both have changed a file", async () => {
    const changes = await changesBy(ground, async () => {
      const command = "until [ -e go ]; do sleep 0.05; done; echo 1 > theirs/mine; echo 2 >> both";
      const running = await ground.adapter.exec(ground.request(command));
      await ground.adapter.invoke("file:mkdir", { root: "r", path: "theirs" });
      await ground.adapter.invoke("file:write", { root: "r", path: "both", content: "1" });
      await ground.adapter.invoke("file:write", { root: "r", path: "go", content: "" });
      await running.exited;
    });
    expect(changes.map((one) => [one.op, told(one), one.reason])).toEqual([
      ["mkdir", "new theirs", undefined],
      ["write", "new both", undefined],
      ["write", "new go", undefined],
      ["exec", "new both", "concurrent"],
      ["exec", "new theirs/mine", undefined],
    ]);
  });

  test("has paths of the root where a directory in it is mounted, which is part of it where it was made", async () => {
    const mounts = [{ root: "r", prefix: "deep/er", at: "/workspace" }];
    const changes = await changesBy(ground, () => ground.sh("echo 1 > f", { mounts }));
    expect(changes.map((one) => [one.op, told(one), one.made])).toEqual([
      ["exec", "new deep/er", ["deep"]],
      ["exec", "new deep/er/f", undefined],
    ]);
    expect(groupsOf(changes)).toHaveLength(1);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(existsSync(join(ground.dir, "deep"))).toBe(false);
  });

  test("is known of a command that was killed too", async () => {
    const changes = await changesBy(ground, async () => {
      const process = await ground.adapter.exec(ground.request("echo 1 > f; echo ready; sleep 100"));
      while (!Buffer.from(process.output().stdout).includes("ready")) await new Promise((next) => setImmediate(next));
      await process.kill();
    });
    expect(changes.map(told)).toEqual(["new f"]);
  });

  test("blocks its undo where somebody has changed it since", async () => {
    const changes = await changesBy(ground, () => ground.sh("echo 1 > f; mkdir t; echo 1 > t/g"));
    const [file, newest] = [join(ground.dir, "t/g"), Math.max(...changes.map(({ time }) => time))];
    // The clock of file times goes by ticks of some milliseconds.
    do writeFileSync(file, "theirs");
    while (statSync(file).ctimeMs <= newest + 1);
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(readFileSync(join(ground.dir, "f"), "utf8")).toBe("1\n");
    expect(await changesIn(ground)).toEqual(expect.arrayContaining([...changes]));
  });

  test("is said to be incomplete in a tree that is too large to be looked at, and is not taken back as a whole", async () => {
    mkdirSync(join(ground.dir, "z"));
    for (let count = 0; count <= 50_000; count++) writeFileSync(join(ground.dir, "z", `${count}`), "");
    ground.put("a/b", "1");
    const changes = await changesBy(ground, () => ground.sh("echo 1 > a/c; echo 2 > a/b"));
    expect(changes.map((one) => [told(one), one.reason])).toEqual([
      ["now a/b", "visited"],
      ["new a/c", "visited"],
      ["now ", "visited"],
    ]);
    const page = await ground.adapter.invoke("file:history", { root: "r" });
    expect(page).toMatchObject({ complete: false, reason: "visited" });
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: expect.stringContaining("too large to see all that the command has changed"),
    });
  });

  test("comes back where the tree was cloned before, without what is denied, and no command sees the clone", async () => {
    for (const name of ["edited", "d/x", "d/y"]) ground.put(name, name);
    ground.put("secret/.env", "SECRET");
    let output = "";
    const changes = await changesBy(ground, async () => {
      const command = "echo 2 > edited; rm -r d; ls -A .venue-files; cat .venue-files/trash/*/edited";
      const ran = await ground.sh(command, { snapshot: true });
      output = ran.stdout;
    });
    expect(output).toBe("");
    expect(changes.map((one) => [told(one), one.undoable])).toEqual([
      ["now edited", true],
      ["was d", true],
    ]);
    const kept = readdirSync(join(ground.dir, ".venue-files/trash"), { recursive: true }).map(String);
    expect(kept.filter((name) => name.endsWith(".env"))).toEqual([]);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(["edited", "d/x", "d/y"].map((name) => readFileSync(join(ground.dir, name), "utf8"))).toEqual([
      ...["edited", "d/x", "d/y"],
    ]);
  });

  test("has no set-id file in it, wherever the command hid it, nor is one left", async () => {
    const hidden = ["x/.env/c/e", ".env/f", "s/.venue-files/g", "back\\slash/h", "$(printf '\\377')/i"];
    for (const place of [...hidden, "a", "d/b"]) {
      const changes = await changesBy(ground, () =>
        ground.sh(`f="${place}"; mkdir -p "$(dirname "$f")"; cp /bin/true "$f"; chmod 6755 "$f"; echo made`),
      );
      const left = (...how: string[]) =>
        spawnSync("find", [ground.dir, "-type", "f", ...how], { encoding: "latin1" }).stdout;
      expect([place, left("-perm", "/6000")]).toEqual([place, ""]);
      expect(left("-perm", "755", "-name", place.slice(-1))).toMatch(/\n$/);
      for (const { after } of changes) expect((after?.mode ?? 0) & 0o6000).toBe(0);
    }
  });
});
