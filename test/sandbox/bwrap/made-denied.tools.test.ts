import { chownSync, existsSync, linkSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { needs } from "../../needs.js";
import { bwrapHere, isRoot, OWNER, useShell } from "../ground.js";
import { changesBy, told } from "../run-history.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const DENY = ["@secrets", "private"];
const MANY = "for i in $(seq 1001); do : > $i.key; done";
const BACK =
  "renamed back, or to free names, that this command had renamed: their names are denied by policy, and too many of them";
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

  test("deletes nothing that existed before it; what it renamed is visible again, and what was denied stays so", async () => {
    ground.put(".env", "SECRET");
    ground.put("private/old.key", "SECRET");
    ground.put("old/plain", "kept");
    ground.put("old/other", "kept");
    const ran = await ground.sh(
      `${MANY}; mv old/plain old/x.pem; mkdir old/.ssh; mv old/other old/.ssh/; echo x > new`,
    );
    // The directory `.ssh` among them, now that it is empty.
    expect(ran.stderr).toContain("venue-files: 1,002 entries removed that this command made");
    expect(ran.stderr).toContain(`venue-files: 2 entries ${BACK}`);
    expect(keysIn()).toEqual([]);
    expect(readFileSync(join(ground.dir, ".env"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(ground.dir, "private/old.key"), "utf8")).toBe("SECRET");
    for (const path of ["old/plain", "old/other"]) expect(readFileSync(join(ground.dir, path), "utf8")).toBe("kept");
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

  test("what was renamed has its name back, nothing of it is in the trash, and the history does not tell of it", async () => {
    ground.put(".env", "SECRET");
    ground.put("old/.env", "SECRET");
    for (let index = 0; index <= 1000; index++) ground.put(`many/${index}`, "x");
    const trash = join(ground.dir, ".venue-files/trash");
    const before = existsSync(trash) ? readdirSync(trash).length : 0;
    const changes = await changesBy(ground, async () => {
      const ran = await ground.sh(
        "cd many; for i in $(seq 0 1000); do mv $i $i.key; done; mv ../old ../private; : > new",
      );
      expect(ran.stderr).toMatch(new RegExp(`^venue-files: 1,002 entries ${BACK}`));
    });
    expect(changes.map(told)).toEqual(["new many/new"]);
    expect(readdirSync(join(ground.dir, "many"))).toHaveLength(1002);
    for (const path of [".env", "old/.env"]) expect(readFileSync(join(ground.dir, path), "utf8")).toBe("SECRET");
    expect(existsSync(trash) ? readdirSync(trash).length : 0).toBe(before);
    expect((await ground.sh("cat old/.env; ls many | wc -l")).stdout).toBe("1002\n");
  });
});

describe("a command that renames more than can be hidden to denied names", () => {
  const ground = useShell({ root: { deny: ["@secrets", "private", "config/**/token"] } });
  const namesIn = (path: string) => readdirSync(join(ground.dir, path)).sort();
  const RENAME = 'for f in *; do mv "$f" "$f.key"; done';
  const fill = (path: string, names: readonly string[]) => {
    for (const name of names) ground.put(`${path}/${name}`, name);
  };
  const numbers = Array.from({ length: 1001 }, (_, index) => `${index}`).sort();

  test("does not keep the next from being run: they get their names back", async () => {
    fill("many", numbers);
    const ran = await ground.sh(`cd many; ${RENAME}`);
    expect(ran).toMatchObject({
      exitCode: 0,
      stdout: "",
      stderr: expect.stringContaining(`venue-files: 1,001 entries ${BACK}`),
    });
    expect(namesIn("many")).toEqual(numbers);
    expect(readFileSync(join(ground.dir, "many/17"), "utf8")).toBe("17");
    expect((await ground.sh("cat many/17")).stdout).toBe("17");
  });

  test("nor are directories lost, or what is in them, at any depth", async () => {
    for (const name of numbers) ground.put(`many/${name}/in`, name);
    ground.put("many/0/deep/in", "deep");
    // Each lies in the one before it, and the last holds what was made.
    const nest = "mv many/0/deep many/1; mv many/1 many/0/private; : > a.pem; : > b.pem";
    const ran = await ground.sh(
      `${nest}; mkdir private; cd many; ${RENAME}; cd 0.key/private/deep; ${MANY}; mv ../../../2.key ../../../../private/x`,
    );
    expect(ran.stderr).toContain("venue-files: 1,004 entries removed that this command made");
    expect(namesIn("many")).toEqual(numbers);
    for (const name of numbers) expect(readFileSync(join(ground.dir, "many", name, "in"), "utf8")).toBe(name);
    expect(readFileSync(join(ground.dir, "many/1/deep/in"), "utf8")).toBe("deep");
    expect((await ground.sh("ls many | wc -l")).stdout).toBe("1001\n");
  });

  test("nor where the old names are taken, or their directory is another: they get free ones", async () => {
    fill("many", numbers);
    for (const name of numbers) ground.put(`data/${name}/token`, name);
    const ran = await ground.sh(`cd many; ${RENAME}; echo new > 17; cd ..; mv data config`);
    expect(ran.stderr).toContain(`venue-files: 2,002 entries ${BACK}`);
    expect(readFileSync(join(ground.dir, "many/17"), "utf8")).toBe("new\n");
    const [other = ""] = namesIn("many").filter((name) => name.startsWith("17-"));
    expect(readFileSync(join(ground.dir, "many", other), "utf8")).toBe("17");
    const [token = ""] = namesIn("config/17");
    expect(token).toMatch(/^token-[0-9a-f]{16}$/);
    expect(readFileSync(join(ground.dir, "config/17", token), "utf8")).toBe("17");
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("nor where no path can have the old names, or the new ones", async () => {
    const odd = numbers.map((name) =>
      Buffer.concat([Buffer.from(`${ground.dir}/`), Buffer.of(0xff), Buffer.from(name)]),
    );
    for (const path of odd) {
      writeFileSync(path, "odd");
      if (isRoot) chownSync(path, OWNER, OWNER);
    }
    fill("many", numbers);
    const toOdd = 'for f in *; do mv "$f" "$(printf \'\\377\')$f.key"; done';
    const ran = await ground.sh(`for f in *[0-9]; do mv "$f" "$f.pem"; done; cd many; ${toOdd}`);
    expect(ran.stderr).toContain(`venue-files: 2,002 entries ${BACK}`);
    expect(namesIn("many")).toEqual(numbers);
    expect(namesIn("").filter((name) => name.startsWith("unnamed"))).toHaveLength(1001);
  });

  test("another name of a file that was denied before stays denied", async () => {
    ground.put(".env", "SECRET");
    linkSync(join(ground.dir, ".env"), join(ground.dir, "open"));
    fill("many", numbers);
    await ground.sh(`cd many; ${RENAME}; mv ../open ../x.pem`);
    expect([existsSync(join(ground.dir, ".env")), existsSync(join(ground.dir, "open"))]).toEqual([true, true]);
    expect(namesIn("")).not.toContain("x.pem");
  });

  test("what a program of the host puts there meanwhile stays denied", async () => {
    fill("many", numbers);
    writeFileSync(join(ground.outside, "moved"), "SECRET");
    const running = await ground.adapter.exec(
      ground.request(`cd many; ${RENAME}; : > ../made; until [ -e ../stop ]; do sleep 0.05; done`),
    );
    while (!existsSync(join(ground.dir, "made"))) await new Promise(setImmediate);
    renameSync(join(ground.outside, "moved"), join(ground.dir, "host.pem"));
    ground.put("stop");
    await running.exited;
    expect(namesIn("many")).toEqual(numbers);
    expect(readFileSync(join(ground.dir, "host.pem"), "utf8")).toBe("SECRET");
  });

  test("names are given back by the last of several commands, as the first of them saw them", async () => {
    fill("many", numbers);
    const mounts = [{ root: "r", prefix: "many", at: "/workspace" }];
    const first = await ground.adapter.exec(
      ground.request(
        `for f in ?; do mv $f $f.key; done; : > on; until [ -e stop ]; do sleep 0.05; done; for f in *[0-9]; do mv $f $f.key; done`,
        {
          mounts,
        },
      ),
    );
    while (!existsSync(join(ground.dir, "many/on"))) await new Promise(setImmediate);
    const last = await ground.adapter.exec(ground.request(": > on; until [ -e end ]; do sleep 0.05; done"));
    while (!existsSync(join(ground.dir, "on"))) await new Promise(setImmediate);
    ground.put("many/stop");
    await first.exited;
    expect(namesIn("many")).toContain("7.key");
    ground.put("end");
    await last.exited;
    expect(Buffer.from(last.output().stderr).toString()).toContain(`entries ${BACK}`);
    expect(namesIn("many").filter((name) => /^[0-9]+$/.test(name))).toEqual(numbers);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });
});
