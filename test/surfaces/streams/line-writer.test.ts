import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { ContentBytes } from "../../../src/core/content-bytes.js";
import { LineWriter } from "../../../src/surfaces/streams/line-writer.js";

const LARGE = 2_000_000;
const line = 'Größe "a" \\ 中文 🙂\n';

/** A message with content in bytes, and the same with strings. */
function both(times: number): { message: object; same: object } {
  const text = Buffer.from(line.repeat(times));
  const blob = Buffer.from(Array.from({ length: 7 * times }, (_, index) => index & 255));
  const content = [new ContentBytes(text, "utf-8"), new ContentBytes(blob, "base64")];
  const around = { before: "é🙂".repeat(times), after: [null, 'x"'] };
  return {
    message: { ...around, content, end: 1 },
    same: { ...around, content: [text.toString("utf8"), blob.toString("base64")], end: 1 },
  };
}

/** A connected pair of sockets. */
async function socketPair(use: (near: Socket, far: Socket) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "line-writer-"));
  const server = createServer();
  server.listen(join(folder, "s"));
  await once(server, "listening");
  const { connect } = await import("node:net");
  const near = connect(join(folder, "s"));
  const [far] = (await once(server, "connection")) as [Socket];
  try {
    await use(near, far);
  } finally {
    near.destroy();
    far.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  }
}

async function linesOf(stream: NodeJS.ReadableStream, count: number): Promise<string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk as Buffer));
    const all = Buffer.concat(chunks);
    if (all.filter((byte) => byte === 10).length === count) return all.toString("utf8").split("\n").slice(0, -1);
  }
  return [];
}

describe("content in bytes is written as JSON.stringify writes the string", () => {
  const CASES = [
    [1, 0],
    [5_000, 0],
    [60_000, LARGE],
  ] as const;

  test("to a stream that keeps what it is given", async () => {
    for (const [times, held] of CASES) {
      const output = new PassThrough({ highWaterMark: 2 ** 26 });
      const { message, same } = both(times);
      const writer = new LineWriter(output);
      await writer.write(message, held);
      await writer.write({ next: 1 }, 0);
      expect(await linesOf(output, 2)).toEqual([JSON.stringify(same), '{"next":1}']);
    }
  });

  test("to a socket, in order with other lines, while the reader takes its time", async () => {
    await socketPair(async (near, far) => {
      const writer = new LineWriter(near);
      const all = CASES.flatMap(([times, held]) => [
        { ...both(times), held },
        { message: { times }, same: { times }, held: 0 },
      ]);
      const written = Promise.all(all.map(({ message, held }) => writer.write(message, held)));
      expect(writer.isBehind).toBe(true);
      expect(await linesOf(far, all.length)).toEqual(all.map(({ same }) => JSON.stringify(same)));
      await written;
      expect(writer.isBehind).toBe(false);
    });
  });

  test("a reader that goes leaves no write waiting", async () => {
    await socketPair(async (near, far) => {
      near.on("error", () => {});
      const writer = new LineWriter(near);
      const written = writer.write(both(60_000).message, LARGE);
      far.destroy();
      await written;
    });
  });
});

/** An output that counts what it is given. */
function counting(): { output: PassThrough; writes: string[] } {
  const writes: string[] = [];
  const output = new PassThrough();
  output.on("data", (chunk: Buffer) => writes.push(chunk.toString("utf8")));
  return { output, writes };
}

describe("while more lines are expected", () => {
  test("short lines go together with the last, in order", async () => {
    const { output, writes } = counting();
    const state = { more: true };
    const writer = new LineWriter(output, () => state.more);
    const first = [1, 2, 3].map((n) => writer.write({ n }, 0));
    expect(writer.isBehind).toBe(false);
    expect(writes).toEqual([]);
    state.more = false;
    await Promise.all([...first, writer.write({ n: 4 }, 0)]);
    expect(writes).toEqual(['{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n']);
  });

  test("they go without another one once none is expected, and after a while in any case", async () => {
    const { output, writes } = counting();
    const state = { more: true };
    const writer = new LineWriter(output, () => state.more);
    await writer.write({ n: 1 }, 0);
    expect(writes).toEqual(['{"n":1}\n']);
    const next = writer.write({ n: 2 }, 0);
    state.more = false;
    await next;
    expect(writes).toEqual(['{"n":1}\n', '{"n":2}\n']);
  });

  test("lines before a long one, and before one with content in bytes, go before it", async () => {
    const { output, writes } = counting();
    const writer = new LineWriter(output, () => true);
    const long = "x".repeat(5000);
    const { message, same } = both(700);
    const all = [
      writer.write({ n: 1 }, 0),
      writer.write({ long }, 0),
      writer.write({ n: 2 }, 0),
      writer.write(message, 0),
    ];
    await Promise.all([...all, writer.write({ n: 3 }, 0)]);
    const expected = [{ n: 1 }, { long }, { n: 2 }, same, { n: 3 }];
    expect(writes.join("")).toBe(expected.map((one) => `${JSON.stringify(one)}\n`).join(""));
  });

  test("an output that takes no more is waited for, as ever", async () => {
    const output = new PassThrough({ highWaterMark: 10 });
    const state = { more: true };
    const writer = new LineWriter(output, () => state.more);
    const waiting = [writer.write({ n: 1 }, 0), writer.write({ n: 2 }, 0)];
    const flushed = writer.flush();
    expect(flushed).toBeDefined();
    expect(writer.isBehind).toBe(true);
    expect(await linesOf(output, 2)).toEqual(['{"n":1}', '{"n":2}']);
    await Promise.all([...waiting, flushed]);
    expect(writer.isBehind).toBe(false);
  });
});
