import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { openShared } from "../../../src/database/shared-database.js";
import { mintUcan, newSeed, signingKeyFromSeed } from "../../../src/index.js";
import { needs } from "../../needs.js";
import { bwrapHere, useShell } from "../ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const [owner, bearer] = [signingKeyFromSeed(newSeed()), signingKeyFromSeed(newSeed())];
const ground = useShell({
  roots: { fixed: { temp: true, readOnly: true }, owned: { temp: true, owner: owner.did } },
  capabilities: { operator: "did:example:operator" },
});

const caps = (...list: readonly [string, string][]) => ({
  caps: list.map(([resource, can]) => ({ with: resource, can })),
});
const ALL = caps(["file://r/", "exec/run"], ["file://r/", "crud"]);

describe("a command", () => {
  test.each([
    ["none", caps()],
    ["files alone", caps(["file://", "crud"])],
    ["another root", caps(["file://other/", "exec/run"])],
    ["a part of the root", caps(["file://r/sub", "exec/run"], ["file://r/sub", "*"])],
    ["another ability of that kind", caps(["file://r/", "exec/see"])],
  ])("needs exec/run on the whole root: %s is not enough", async (_what, context) => {
    const mounts = [{ root: "r", prefix: "sub", at: "/workspace" }];
    const failure = ground.sh("echo no", { context, mounts });
    await expect(failure).rejects.toMatchObject({
      code: "CAPABILITY_DENIED",
      data: { required: { with: "file://r/", can: "exec/run" } },
    });
    expect(ground.audit).toMatchObject([
      { operation: "file:exec", outcome: "CAPABILITY_DENIED", command: { start: "echo no" } },
    ]);
  });

  test.each([["exec/run"], ["exec"], ["*"]])("is run by whoever holds %s", async (can) => {
    const context = caps([can === "*" ? "file://" : "file://r/", can]);
    expect((await ground.sh("echo yes", { context })).stdout).toBe("yes\n");
  });

  test.each([
    ["only exec/run", caps(["file://r/", "exec/run"])],
    ["no right to delete", caps(["file://r/", "exec/run"], ["file://r/", "crud/write"])],
    ["rights on a part", caps(["file://r/", "exec/run"], ["file://r/a", "crud"])],
  ])("can change nothing with %s, but reads all", async (_what, context) => {
    ground.put("a", "there");
    const ran = await ground.sh("cat a; touch a b || echo refused", { context });
    expect(ran.stdout).toBe("there refused\n".replace(" ", ""));
    expect((await ground.sh("touch b && echo made", { context: ALL })).stdout).toBe("made\n");
  });

  test("can change nothing in a read-only root", async () => {
    const mounts = [{ root: "fixed", at: "/workspace" }];
    const ran = await ground.sh("ls -A; touch b || echo refused; echo x > /tmp/y && echo scratch", { mounts });
    expect(ran.stdout).toBe("refused\nscratch\n");
  });

  test("holds no open file of the venue, also of what was opened after the sandbox was tried", async () => {
    await ground.sh("true");
    const folder = mkdtempSync(join(tmpdir(), "venue-files-held-"));
    const database = openShared(folder, { maxTables: 1, flush: false });
    try {
      const { stdout } = await ground.sh("ls -l /proc/*/fd; echo listed");
      expect(stdout).toContain("listed");
      expect(stdout).not.toContain("mdb");
    } finally {
      await database.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("leaves one record: who, what, how it ended, how much it said", async () => {
    const command = `echo ${"é".repeat(300)}; exit 4`;
    await ground.sh(command, { context: { callerDID: "did:example:operator" } });
    expect(ground.audit).toEqual([
      {
        ...{ time: expect.any(Number), caller: "did:example:operator", operation: "file:exec", resource: "file://r/" },
        ...{ outcome: "OK", bytes: 601, ms: expect.any(Number), via: expect.any(String), exitCode: 4 },
        command: { sha256: createHash("sha256").update(command).digest("hex"), start: command.slice(0, 200) },
      },
    ]);
  });

  test("is run by a UCAN of the root's owner that says so, and by no other", async () => {
    const mounts = [{ root: "owned", at: "/workspace" }];
    const outcomes: unknown[] = [];
    for (const [resource, can] of [
      ["file://owned/", "exec/run"],
      ["file://owned/", "crud"],
      ["file://owned/sub", "*"],
    ] as const) {
      const { token } = await mintUcan({ key: owner, audience: bearer.did, capabilities: [{ with: resource, can }] });
      const context = { callerDID: bearer.did, ucans: [token] };
      outcomes.push(
        await ground.sh("touch a || echo ran", { mounts, context }).then(
          ({ stdout }) => stdout,
          ({ code }) => code,
        ),
      );
    }
    // It runs, and can change nothing: the token says no more.
    expect(outcomes).toEqual(["ran\n", "CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
    expect(ground.audit[0]).toMatchObject({ caller: bearer.did, proofs: [{ issuer: owner.did }] });
  });

  test("is one of nothing where the root is unknown", async () => {
    await expect(ground.sh("true", { mounts: [{ root: "no", at: "/w" }] })).rejects.toMatchObject({
      code: "UNKNOWN_ROOT",
    });
  });

  test("is found by no other way in", async () => {
    const input = { mounts: [{ root: "r" }] };
    await expect(ground.adapter.invoke("file:exec", input)).rejects.toMatchObject({ code: "UNKNOWN_OPERATION" });
    expect(ground.adapter.operations.map(({ name }) => name)).not.toContain("file:exec");
  });
});
