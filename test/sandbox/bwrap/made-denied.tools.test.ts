import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { needs } from "../../needs.js";
import { bwrapHere, isRoot, useShell } from "../ground.js";
import { changesBy, told } from "../run-history.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const DENY = ["@secrets", "private"];
const MANY = "for i in $(seq 1001); do : > $i.key; done";
const told1001 = /^venue-files: 1,001 entries removed that this command made: their names are denied by policy/m;

describe("a command that makes more denied entries than can be hidden", () => {
  const ground = useShell({ root: { deny: DENY } });
  const keysIn = (path = "") => readdirSync(join(ground.dir, path)).filter((name) => name.endsWith(".key"));

  test("does not keep the next from being run: they are removed when it ends, and it is told", async () => {
    const ran = await ground.sh(`echo before >&2; ${MANY}`);
    expect(ran).toMatchObject({ exitCode: 0, stdout: "", stderr: expect.stringMatching(told1001) });
    expect(ran.stderr).toMatch(/^before\n/);
    expect(keysIn()).toEqual([]);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("loses directories with denied names too, at any depth", async () => {
    const ran = await ground.sh(`mkdir -p a/private/b && cd a/private/b && ${MANY}; cd ../..; mkdir c; cd c; ${MANY}`);
    expect(ran.stderr).toContain("venue-files: 2,004 entries removed");
    expect(readdirSync(join(ground.dir, "a"))).toEqual(["c"]);
    expect(readdirSync(join(ground.dir, "a/c"))).toEqual([]);
  });

  test("takes nothing along that existed before it, whatever its name is now", async () => {
    ground.put(".env", "SECRET");
    ground.put("private/old.key", "SECRET");
    ground.put("old/plain", "kept");
    ground.put("old/other", "kept");
    const ran = await ground.sh(
      `${MANY}; mv old/plain old/x.pem; mkdir old/.ssh; mv old/other old/.ssh/; echo x > new`,
    );
    expect(ran.stderr).toMatch(told1001);
    expect(keysIn()).toEqual([]);
    expect(readFileSync(join(ground.dir, ".env"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(ground.dir, "private/old.key"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(ground.dir, "old/x.pem"), "utf8")).toBe("kept");
    expect(readFileSync(join(ground.dir, "old/.ssh/other"), "utf8")).toBe("kept");
    expect(readFileSync(join(ground.dir, "new"), "utf8")).toBe("x\n");
  });

  test("takes nothing along that another user made meanwhile", async () => {
    const running = await ground.adapter.exec(
      ground.request(`${MANY}; : > made; until [ -e stop ]; do sleep 0.05; done`),
    );
    while (!existsSync(join(ground.dir, "made"))) await new Promise(setImmediate);
    // Root's, where the tests run as root; no command does.
    writeFileSync(join(ground.dir, "root.pem"), "SECRET");
    ground.put("stop");
    await running.exited;
    expect(keysIn()).toEqual([]);
    expect(existsSync(join(ground.dir, "root.pem"))).toBe(isRoot);
  });

  test("keeps them where they can be hidden", async () => {
    expect((await ground.sh("for i in $(seq 1000); do : > $i.key; done")).stderr).toBe("");
    expect(keysIn()).toHaveLength(1000);
    expect((await ground.sh(": > one-more.key")).stderr).toContain(
      "venue-files: 1 entry removed that this command made",
    );
    expect(keysIn()).toHaveLength(1000);
  });

  test("loses them only when the last command in the same directory ends", async () => {
    const waits = await ground.adapter.exec(
      ground.request(": > on; : > own.key; until [ -e stop ]; do sleep 0.05; done"),
    );
    while (!existsSync(join(ground.dir, "on"))) await new Promise(setImmediate);
    expect((await ground.sh(MANY)).stderr).toBe("");
    expect(keysIn()).toHaveLength(1002);
    await expect(ground.sh("true")).rejects.toMatchObject({ code: "DENIED_BY_POLICY", data: { denied: 1002 } });
    ground.put("stop");
    await waits.exited;
    expect(Buffer.from(waits.output().stderr).toString()).toContain("venue-files: 1,002 entries removed");
    expect(keysIn()).toEqual([]);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("leaves what is in the directory of another command that still runs", async () => {
    ground.put("in/x");
    const mounts = [{ root: "r", prefix: "in", at: "/workspace" }];
    const request = ground.request(": > own.key; : > on; until [ -e stop ]; do sleep 0.05; done", { mounts });
    const waits = await ground.adapter.exec(request);
    while (!existsSync(join(ground.dir, "in/on"))) await new Promise(setImmediate);
    expect((await ground.sh(MANY)).stderr).toMatch(told1001);
    ground.put("in/stop");
    await waits.exited;
    expect([keysIn(), keysIn("in")]).toEqual([[], ["own.key"]]);
  });
});

describe("where changes are recorded", () => {
  const ground = useShell({ journal: true, root: { deny: DENY } });

  test("they go to the trash, and nobody who may not see them is told", async () => {
    const changes = await changesBy(ground, async () => {
      const ran = await ground.sh(`${MANY}; echo KEY > last.key; echo x > new`);
      expect(ran.stderr).toContain("venue-files: 1,002 entries removed");
    });
    expect(changes.map(told)).toEqual(["new new"]);
    expect(changes[0]).toMatchObject({ undoable: true });
    const trash = join(ground.dir, ".venue-files/trash");
    const kept = readdirSync(trash);
    expect(kept).toHaveLength(1002);
    expect(kept.filter((name) => readFileSync(join(trash, name), "utf8") === "KEY\n")).toHaveLength(1);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(existsSync(join(ground.dir, "new"))).toBe(false);
  });

  test("files that were renamed go there as well, but nothing that a command did not see", async () => {
    ground.put(".env", "SECRET");
    ground.put("old/.env", "SECRET");
    for (let index = 0; index <= 1000; index++) ground.put(`many/${index}`, "x");
    const trash = join(ground.dir, ".venue-files/trash");
    const before = existsSync(trash) ? readdirSync(trash).length : 0;
    const ran = await ground.sh("cd many; for i in $(seq 0 1000); do mv $i $i.key; done; mv ../old ../private");
    expect(ran.stderr).toMatch(told1001);
    expect(readdirSync(join(ground.dir, "many"))).toEqual([]);
    for (const path of [".env", "private/.env"]) expect(readFileSync(join(ground.dir, path), "utf8")).toBe("SECRET");
    // Of the directory nothing is known but that it came there.
    expect(readdirSync(trash).length - before).toBe(1001);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });
});
