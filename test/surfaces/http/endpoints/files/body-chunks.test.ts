import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { BodyChunks } from "../../../../../src/surfaces/http/endpoints/body-chunks.js";

const open = () => {
  const raw = Object.assign(new PassThrough({ highWaterMark: 16_384 }), { socket: new EventEmitter() });
  return { raw, body: new BodyChunks(raw as unknown as IncomingMessage) };
};
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Writes a body in pieces, and ends it. */
async function send(raw: PassThrough, body: Buffer, piece: number): Promise<void> {
  for (let at = 0; at < body.length; at += piece) {
    if (!raw.write(body.subarray(at, at + piece))) await new Promise((resolve) => raw.once("drain", resolve));
  }
  raw.end();
}

afterEach(() => {
  jest.useRealTimers();
});

describe("the body of an upload", () => {
  test.each([1, 1000, 16_384, 65_536, 300_000])(
    "sent in pieces of %i bytes is taken whole, in large ones",
    async (piece) => {
      // However slow this machine is, no piece has waited for long.
      jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] });
      const { raw, body } = open();
      const sent = randomBytes(piece === 1 ? 3000 : 900_000);
      const sending = send(raw, sent, piece);
      const taken: Uint8Array[] = [];
      for await (const chunk of body) taken.push(chunk);
      await sending;
      expect(Buffer.concat(taken).equals(sent)).toBe(true);
      for (const chunk of taken.slice(0, -1)) expect(chunk.length).toBeGreaterThanOrEqual(65_536);
    },
  );

  test("may be empty", async () => {
    const { raw, body } = open();
    raw.end();
    expect(await body.next()).toEqual({ done: true, value: undefined });
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });

  test("that nobody takes makes its sender wait", async () => {
    const { raw, body } = open();
    const chunk = Buffer.alloc(65_536);
    expect(raw.write(chunk)).toBe(false);
    await body.next();
    let more = 0;
    while (raw.write(chunk) || !raw.isPaused()) {
      more += 1;
      await nextTurn();
    }
    expect(more).toBeLessThan(20);
    await body.next();
    expect(raw.isPaused()).toBe(false);
  });

  test("whose sender is gone has failed, before it is asked for or while it comes", async () => {
    const [early, late] = [open(), open()];
    early.raw.destroy();
    await nextTurn();
    await expect(early.body.next()).rejects.toMatchObject({ code: "ABORTED" });
    const taking = late.body.next();
    late.raw.write("begun");
    expect(Buffer.from((await taking).value ?? "").toString()).toBe("begun");
    late.raw.destroy();
    await expect(late.body.next()).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("whose connection closes has failed, unless all of it has come", async () => {
    const [begun, whole] = [open(), open()];
    begun.raw.write("begun");
    await begun.body.next();
    const waiting = begun.body.next();
    begun.raw.socket.emit("close");
    await expect(waiting).rejects.toMatchObject({ code: "ABORTED" });
    whole.raw.end("whole");
    const taking = whole.body.next();
    Object.assign(whole.raw, { complete: true }).socket.emit("close");
    expect(Buffer.from((await taking).value ?? "").toString()).toBe("whole");
    expect(await whole.body.next()).toEqual({ done: true, value: undefined });
    for (const { raw } of [begun, whole]) expect(raw.socket.listenerCount("close")).toBe(0);
  });

  test("has what came before its sender went", async () => {
    const { raw, body } = open();
    const taking = body.next();
    for (const some of ["be", "gun"]) {
      await new Promise((resolve) => {
        raw.once("data", resolve);
        raw.write(some);
      });
    }
    raw.destroy();
    const taken: Uint8Array[] = [(await taking).value ?? Buffer.alloc(0)];
    await expect(
      (async () => {
        for await (const chunk of body) taken.push(chunk);
      })(),
    ).rejects.toMatchObject({ code: "ABORTED" });
    expect(Buffer.concat(taken).toString()).toBe("begun");
  });

  test("that is not wanted any more leaves the connection as it is", async () => {
    const { raw, body } = open();
    raw.write(Buffer.alloc(70_000));
    for await (const chunk of body) {
      expect(chunk.length).toBe(70_000);
      break;
    }
    expect([raw.destroyed, raw.isPaused(), raw.listenerCount("data")]).toEqual([false, true, 0]);
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });
});
