import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { startRaw } from "../../surfaces/mcp/raw.js";
import { textOf } from "../../surfaces/mcp/sessions.js";
import { did, type Ground, makeGround, secretsIn, tokenOf } from "../people.js";
import { cleanUp } from "../process.js";

afterAll(cleanUp);

const q3 = { root: "docs", path: "reports/q3.md" };

function startIn({ folder }: Ground, ...args: string[]) {
  return startRaw(["--config", "venue.json5", ...args], { cwd: folder, tmp: folder });
}

/** The code of a failure, or that there was none. */
async function outcome(client: Awaited<ReturnType<typeof startRaw>>, name: string, args: object): Promise<string> {
  const { result } = await client.call(name, args);
  const failure = result._meta?.["venue-files/error"] as { errorCode: string } | undefined;
  return failure?.errorCode ?? "OK";
}

describe("mcp with a key", () => {
  test.concurrent("acts as the DID of that key, with its rights and no others", async () => {
    const ground = makeGround();
    const alice = await startIn(ground, "--key", "alice");
    expect(await outcome(alice, "file_read", q3)).toBe("OK");
    expect(await outcome(alice, "file_mkdir", { root: "work", path: "b" })).toBe("CAPABILITY_DENIED");
    const bob = await startIn(ground, "--key", "bob");
    expect(await outcome(bob, "file_read", q3)).toBe("UNKNOWN_ROOT");
    await Promise.all([alice.process.stop(), bob.process.stop()]);
  });

  test.concurrent("sends its proofs with every call, beside those of the call", async () => {
    const ground = makeGround();
    writeFileSync(join(ground.folder, "bob.ucan"), await tokenOf("alice", "bob"));
    const client = await startIn(ground, "--key", "bob", "--proof", "bob.ucan");
    expect(await outcome(client, "file_read", q3)).toBe("OK");
    const { result } = await client.call("file_read", { root: "docs", path: "secret.md" });
    expect(textOf(result)).toMatch(
      /^Capability denied: .*Your capabilities are: crud\/read on file:\/\/docs\/reports\/\./,
    );
    const capabilities = [{ with: "file://docs/secret.md", can: "crud/read" }];
    const more = { ucans: [await tokenOf("alice", "bob", { capabilities })] };
    expect(await outcome(client, "file_read", { root: "docs", path: "secret.md", ...more })).toBe("OK");
    expect(await outcome(client, "file_read", { ...q3, ...more })).toBe("OK");
    const { stderr } = await client.process.stop();
    expect(secretsIn(client.lines().join("\n") + stderr)).toEqual([]);
  });

  test.concurrent("is narrowed by caps all the same", async () => {
    const ground = makeGround({ "caps.json5": '[{ with: "file://docs/reports/", can: "crud/read" }]' });
    const client = await startIn(ground, "--key", "alice", "--caps", "caps.json5");
    expect(await outcome(client, "file_read", q3)).toBe("OK");
    expect(await outcome(client, "file_read", { root: "docs", path: "secret.md" })).toBe("CAPABILITY_DENIED");
    await client.process.stop();
  });

  test.concurrent("offers what says who calls only where the configuration names it", async () => {
    const ground = makeGround({
      "venue.json5": `{ mcp: { includeAdapters: ["file", "auth"] }, file: { roots: { docs: { path: "docs", owner: "${did("alice")}" } } } }`,
    });
    const named = await startIn(ground, "--key", "alice");
    const { result } = await named.call("auth_whoami");
    expect(result.structuredContent).toMatchObject({ did: did("alice"), authentication: "key" });
    const plain = await startIn(makeGround(), "--key", "alice");
    const { result: list } = await plain.request("tools/list");
    expect(JSON.stringify(list)).not.toContain("auth_whoami");
    await Promise.all([named.process.stop(), plain.process.stop()]);
  });

  test.concurrent("does not start with a key that cannot be used", async () => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(["mcp", "--key", "dave"])).toMatchObject({
      status: 66,
      stdout: "",
      stderr: "Cannot use key 'dave': there is no such file. Make it with: venue-files key new dave\n",
    });
  });
});
