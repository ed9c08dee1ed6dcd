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
function both(times: number): { message: object; same: object; released: () => number } {
  let released = 0;
  const count = (): void => void released++;
  const text = Buffer.from(line.repeat(times));
  const blob = Buffer.from(Array.from({ length: 7 * times }, (_, index) => index & 255));
  const content = [new ContentBytes(text, "utf-8", count), new ContentBytes(blob, "base64", count)];
  const around = { before: "é🙂".repeat(times), after: [null, 'x"'] };
  return {
    message: { ...around, content, end: 1 },
    same: { ...around, content: [text.toString("utf8"), blob.toString("base64")], end: 1 },
    released: () => released,
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
      const { message, same, released } = both(times);
      const writer = new LineWriter(output);
      await writer.write(message, held);
      await writer.write({ next: 1 }, 0);
      expect(await linesOf(output, 2)).toEqual([JSON.stringify(same), '{"next":1}']);
      expect(released()).toBe(2);
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
