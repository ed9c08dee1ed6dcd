import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../../src/index.js";

// A process that moves the protected entry into each tree that comes to be, a little later each time: into the directory
// that a removal looks into first.
const MOVER = `
  const { existsSync, renameSync } = require("node:fs");
  process.stdout.write("on\\n");
  for (let round = 0; ; ) {
    if (!existsSync("tree/a")) continue;
    const until = performance.now() + (round++ % 40) / 4;
    while (performance.now() < until);
    try { renameSync(".git", "tree/a/.git"); } catch {}
    while (existsSync("tree/a"));
  }
`;
const DIRECTORIES = 150;
/** Trees in which the removal has met the entry, or lost it. */
const ENOUGH = 10;

let dir = "";

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "protect-")));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function makeTree(): void {
  for (let n = 0; n < DIRECTORIES; n++) {
    mkdirSync(join(dir, `.new/b${n}/deep`), { recursive: true });
    writeFileSync(join(dir, `.new/b${n}/deep/f`), "f");
  }
  mkdirSync(join(dir, ".new/a"));
}

/** How often a tree was put back with the protected entry in it, and how often that entry was gone. */
interface Seen {
  readonly met: number;
  readonly lost: number;
}

/** Files named `config` that are left anywhere: there is one to begin with. */
const survives = (at = dir): boolean =>
  readdirSync(at, { withFileTypes: true }).some((entry) =>
    entry.isDirectory() ? survives(join(at, entry.name)) : entry.name === "config",
  );

/** Lets `remove` delete trees while the mover is at work, until it has met the protected entry often enough, or lost it. */
async function race(remove: () => Promise<void>, isEnough: (seen: Seen) => boolean): Promise<Seen> {
  const child = spawn(process.execPath, ["-e", MOVER], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  const seen = { met: 0, lost: 0 };
  try {
    while (!isEnough(seen)) {
      if (!existsSync(join(dir, "tree"))) {
        makeTree();
        mkdirSync(join(dir, ".git"), { recursive: true });
        writeFileSync(join(dir, ".git/config"), "[core]");
        renameSync(join(dir, ".new"), join(dir, "tree"));
      }
      await remove();
      const isInside = existsSync(join(dir, "tree"));
      if (!survives()) seen.lost++;
      else if (isInside) seen.met++;
      for (const name of ["tree", ".git"]) rmSync(join(dir, name), { recursive: true, force: true });
    }
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
  return seen;
}

describe("a protected entry that is moved into a tree while that is deleted", () => {
  test("is lost to a plain removal that looked first (control)", async () => {
    const holdsGit = (at: string): boolean =>
      readdirSync(at, { withFileTypes: true }).some(
        (entry) => entry.name === ".git" || (entry.isDirectory() && holdsGit(join(at, entry.name))),
      );
    const { lost } = await race(
      async () => {
        const tree = join(dir, "tree");
        if (holdsGit(tree)) return;
        await rm(tree, { recursive: true, force: true }).catch(() => {});
      },
      ({ lost }) => lost > 0,
    );
    expect(lost).toBeGreaterThan(0);
  });

  test("is never removed, and the tree is put back", async () => {
    const adapter = await createFileAdapter({ roots: { r: { path: dir, protect: ["@git"] } } });
    try {
      const { lost, met } = await race(
        async () => {
          await adapter.invoke("file:delete", { root: "r", path: "tree", recursive: true }, {}).catch((error) => {
            expect(error).toMatchObject({ code: "DENIED_BY_POLICY" });
          });
        },
        ({ met, lost }) => met + lost >= ENOUGH,
      );
      expect({ lost, met }).toEqual({ lost: 0, met: ENOUGH });
      expect(readdirSync(dir).filter((name) => name.includes("restored"))).toEqual([]);
    } finally {
      await adapter.close();
    }
  });
});
