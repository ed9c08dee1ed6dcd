import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, tempRootsIn } from "../../cli/process.js";
import { linesOf, type RawClient, startRaw, toolCall } from "./raw.js";
import { closeSessions, connect, textOf } from "./sessions.js";

const LIMIT = 8_388_608;

afterAll(async () => {
  await closeSessions();
  await cleanUp();
});

const hash = (data: Buffer | string) => createHash("sha256").update(data).digest("hex");

test("a real client writes 8 MiB in one call, and not a byte more", async () => {
  const folder = makeFolder({ "c.json5": `{ file: { roots: { r: { path: ".", durability: "none" } } } }` });
  const session = await connect("client 2, newest protocol", { args: ["--config", "c.json5"], cwd: folder });
  const write = (path: string, source: object) => session.call("file_write", { root: "r", path, ...source });

  const bytes = Buffer.alloc(LIMIT, "\u0000\u00ffinteresting bytes \u0010", "latin1");
  const written = await write("b.bin", { bytes: bytes.toString("base64") });
  expect(written.structuredContent).toMatchObject({ written: LIMIT, created: true });
  expect(hash(readFileSync(join(folder, "b.bin")))).toBe(hash(bytes));

  const text = 'é\n"'.repeat(LIMIT / 4);
  expect((await write("a.txt", { content: text })).structuredContent).toMatchObject({ written: LIMIT, created: true });
  const tooMuch = await write("a.txt", { content: `${text}x` });
  expect(textOf(tooMuch)).toBe(`Content too large: ${LIMIT + 1} bytes, limit ${LIMIT} [TOO_LARGE]`);
  expect(tooMuch._meta?.["venue-files/error"]).toEqual({
    errorCode: "TOO_LARGE",
    errorData: { root: "r", path: "a.txt", size: LIMIT + 1, limit: LIMIT },
  });
  expect(hash(readFileSync(join(folder, "a.txt")))).toBe(hash(text));
});

describe("a message too long for any write", () => {
  /** With limits this small a message of 2 MiB is too long. */
  async function sendTooLong(): Promise<RawClient> {
    const tmp = makeFolder({ "c.json5": "{ file: { limits: { maxWriteBytes: 1000 } } }" });
    const client = await startRaw(["--config", "c.json5"], { cwd: tmp, tmp });
    const args = { root: "tmp", path: "a.txt", content: "x".repeat(2_097_152) };
    client.write(linesOf({ id: 99, ...toolCall("file_write", args) }));
    return client;
  }

  test("is answered, or ends the connection with a reason", async () => {
    const { process } = await sendTooLong();
    const never = new Promise<never>(() => {});
    const outcome = await Promise.race([
      process.until(/"id":99/).then(
        ([line]) => line,
        () => never,
      ),
      process.ended.then(({ stderr }) => stderr),
    ]);
    expect(outcome).not.toBe("");
    await process.stop();
    expect(process.stdout()).not.toContain('"written"');
  });

  // Until surfaces/mcp/stdio.ts ends when the transport has closed itself; the process then just runs out of work.
  test("leaves no temp root behind", async () => {
    const { process } = await sendTooLong();
    process.child.stdin.end();
    expect((await process.ended).signal).toBeNull();
    expect(tempRootsIn(process.tmp)).toEqual([]);
  });
});
