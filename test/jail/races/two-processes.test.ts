import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { stagedIn } from "../../staged.js";
import { ROOT } from "../files.js";
import { startChild, withChild } from "../start-child.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "venue-two-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const config = () => ({ roots: { [ROOT]: { path: root, durability: "none" as const } } });

describe("two processes on one root", () => {
  test("do not lose each other's appends", async () => {
    await withChild({ config: config() }, (one) =>
      withChild({ config: config() }, async (two) => {
        const lines = Array.from({ length: 100 }, (_, index) => index);
        const calls = lines.flatMap((line) =>
          [one, two].map((child, who) => child.invoke("append", { path: "log.txt", content: `${who}-${line}\n` })),
        );
        for (const { code } of await Promise.all(calls)) expect(code).toBe("ok");
      }),
    );
    const found = readFileSync(join(root, "log.txt"), "utf8").trimEnd().split("\n");
    expect(found.sort()).toEqual(
      [0, 1].flatMap((who) => Array.from({ length: 100 }, (_, line) => `${who}-${line}`)).sort(),
    );
  });

  test("never show mixed content", async () => {
    const bodies = ["x", "y"].map((letter) => letter.repeat(200_000));
    await withChild({ config: config() }, (one) =>
      withChild({ config: config() }, async (two) => {
        const writes = Array.from({ length: 20 }, () =>
          [one, two].map((child, who) => child.invoke("write", { path: "same.txt", content: bodies[who] })),
        ).flat();
        const reads = Array.from({ length: 40 }, () => one.invoke("read", { path: "same.txt" }));
        for (const { code } of await Promise.all(writes)) expect(code).toBe("ok");
        for (const { code, output } of await Promise.all(reads)) {
          if (code === "ok") expect(bodies.includes(String(output?.["content"]))).toBe(true);
          else expect(code).toBe("NOT_FOUND");
        }
      }),
    );
    expect(readdirSync(root)).toEqual(["same.txt"]);
  });

  test("leave each other's staged files alone at a start, which removes those of dead processes", async () => {
    const living = await startChild({ config: config() });
    try {
      // The directory exists from the first write on; a file in it with a living process's name is not to be touched.
      await living.invoke("write", { path: "a.txt", content: "a" });
      const staging = join(root, ".venue-files");
      const own = (pid: number) => `${bootId()}-${namespaceId()}-${pid}-0-${"0".repeat(16)}`;
      writeFileSync(join(staging, own(living.pid)), "living");
      writeFileSync(join(staging, own(2 ** 22 + 1)), "dead");
      await withChild({ config: config() }, async () => {});
      expect(stagedIn(dirname(staging))).toEqual([own(living.pid)]);
    } finally {
      await living.kill();
    }
  });
});

const bootId = () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);

const namespaceId = () => /\[(\d+)\]/.exec(readlinkSync("/proc/self/ns/pid"))?.[1] ?? "0";
