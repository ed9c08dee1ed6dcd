import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { TakeDownload } from "../../src/core/ports/streams.js";
import { failureOf } from "../ops/ground.js";
import { ALICE, ANONYMOUS, BOB, useDrives } from "./ground.js";

const CONTENT = randomBytes(3_000_000);

async function* inPieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000);
}

describe("a whole file on a drive", () => {
  const ground = useDrives();
  const put = (path: string, content: Buffer, who: SurfaceContext = ALICE, more = {}) =>
    ground.files.transfers.upload({ root: "mine", path, ...more }, { chunks: inPieces(content) }, who);
  async function get(path: string, who: SurfaceContext = ALICE): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const take: TakeDownload = async (file) => {
      for await (const chunk of file.read({ start: 0, end: file.size })) chunks.push(chunk);
      return file.size;
    };
    await ground.files.transfers.download({ root: "mine", path }, take, who);
    return Buffer.concat(chunks);
  }

  test("goes in and comes out, with its hash, and is its owner's alone", async () => {
    const sha256 = createHash("sha256").update(CONTENT).digest("hex");
    expect(await put("a.bin", CONTENT)).toEqual({ written: CONTENT.length, created: true, sha256 });
    expect((await get("a.bin")).equals(CONTENT)).toBe(true);
    expect(await failureOf(get("a.bin", BOB))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(put("b.bin", CONTENT, ANONYMOUS))).toMatchObject({ code: "DRIVE_REQUIRES_AUTH" });
    expect(ground.audit.map(({ operation, outcome, bytes }) => [operation, outcome, bytes]).slice(0, 2)).toEqual([
      ["file:upload", "OK", CONTENT.length],
      ["file:download", "OK", CONTENT.length],
    ]);
  });

  test("replaces what was expected, and nothing else", async () => {
    await put("a.bin", Buffer.from("one"));
    const ifMatch = `sha256:${createHash("sha256").update("one").digest("hex")}`;
    expect(await put("a.bin", Buffer.from("two"), ALICE, { ifMatch })).toMatchObject({ created: false });
    expect(await failureOf(put("a.bin", Buffer.from("x"), ALICE, { ifMatch }))).toMatchObject({ code: "CONFLICT" });
    expect(await failureOf(put("a.bin", Buffer.from("x"), ALICE, { ifNoneMatch: "*" }))).toMatchObject({
      code: "CONFLICT",
    });
    expect((await get("a.bin")).toString()).toBe("two");
  });

  test("does not change by a body that breaks off", async () => {
    await put("a.bin", Buffer.from("one"));
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield CONTENT;
      throw new Error("gone");
    }
    const upload = ground.files.transfers.upload({ root: "mine", path: "a.bin" }, { chunks: broken() }, ALICE);
    await expect(upload).rejects.toThrow();
    expect((await get("a.bin")).toString()).toBe("one");
  });

  test("is no operation for whoever brings no body", async () => {
    for (const name of ["file:upload", "file:download"]) {
      expect(await failureOf(ground.files.invoke(name, { root: "mine", path: "a" }, ALICE))).toMatchObject({
        code: "UNKNOWN_OPERATION",
      });
    }
  });
});
