import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { ContentBytes } from "../../../src/core/content-bytes.js";
import { Intake } from "../../../src/surfaces/streams/intake.js";
import { putJson } from "../../../src/surfaces/streams/json-bytes.js";
import { jsonPieces } from "../../../src/surfaces/streams/json-pieces.js";
import { LineWriter } from "../../../src/surfaces/streams/line-writer.js";

function intake(): { one: Intake<number>; begun: number[]; state: { open: boolean } } {
  const begun: number[] = [];
  const state = { open: true };
  return { one: new Intake<number>({ isOpen: () => state.open, deliver: (n) => begun.push(n) }), begun, state };
}

describe("requests of one client", () => {
  test("begin at once when they come alone, and one in a turn when many come", async () => {
    const { one, begun } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    expect(begun).toEqual([1]);
    await turn();
    await turn();
    await turn();
    expect(begun).toEqual([1, 2, 3]);
  });

  test("begin in the same turn when the one before has been answered, for a millisecond", async () => {
    const begun: number[] = [];
    let nowMs = 0;
    const rules = {
      isOpen: () => true,
      deliver(n: number) {
        begun.push(n);
        nowMs += 0.3;
        if (n < 8) queueMicrotask(() => one.answered((request) => request === n));
      },
    };
    const one: Intake<number> = new Intake<number>(rules, () => nowMs);
    for (let n = 0; n < 12; n += 1) one.push(n);
    await new Promise<void>(process.nextTick);
    expect(begun).toEqual([0, 1, 2, 3]);
    await turn();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await turn();
    // Number 8 is not answered: the next have to wait for another turn each.
    expect(begun.at(-1)).toBe(8);
    await turn();
    expect(begun.at(-1)).toBe(9);
  });

  test("do not begin because an earlier one has been answered", () => {
    const { one, begun } = intake();
    for (const n of [1, 2]) one.push(n);
    one.answered((request) => request === 0);
    expect(begun).toEqual([1]);
    one.answered((request) => request === 1);
    expect(begun).toEqual([1, 2]);
  });

  test("wait until it is open again", async () => {
    const { one, begun, state } = intake();
    state.open = false;
    one.push(1);
    await turn();
    expect(begun).toEqual([]);
    state.open = true;
    one.startNext();
    expect(begun).toEqual([1]);
  });

  test("are taken back while they wait, and only then", async () => {
    const { one, begun } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    expect([one.drop((n) => n === 2), one.drop((n) => n === 1)]).toEqual([true, false]);
    await one.finish();
    expect(begun).toEqual([1, 3]);
  });

  test("that wait are few: no more are read then", () => {
    const { one, state } = intake();
    state.open = false;
    for (let n = 0; n < 63; n += 1) one.push(n);
    expect(one.isFull).toBe(false);
    one.push(63);
    expect(one.isFull).toBe(true);
  });

  test("all begin before the end, unless they would have to wait", async () => {
    const { one, begun, state } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    await one.finish();
    expect(begun).toEqual([1, 2, 3]);
    state.open = false;
    one.push(4);
    await one.finish();
    expect(begun).toEqual([1, 2, 3]);
  });
});

/** The inside of a JSON string, put into one buffer after the other. */
function put(content: ContentBytes, pieceBytes: number, offset = 0): string {
  const pieces: Buffer[] = [];
  for (let from = 0; from < content.bytes.length; ) {
    const into = Buffer.alloc(offset + pieceBytes);
    const { taken, put } = putJson(content, { from, into, at: offset });
    expect(taken).toBeGreaterThan(0);
    pieces.push(into.subarray(offset, offset + put));
    from += taken;
  }
  return Buffer.concat(pieces).toString("utf8");
}

const ASCII = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code));

test.each([
  [
    "every ASCII character at every place of a word",
    Array.from({ length: 9 }, (_, n) => "x".repeat(n) + ASCII).join(""),
  ],
  ["each character before, between and behind others", [...ASCII].map((one) => `a${one}bc${one}${one}`).join("")],
  ["text of several bytes a character", "Größe – “naïve” 中文 🙂 \u2028\u2029\u007f\u0080\ufeff".repeat(40)],
  ["nothing to escape", "plain text ".repeat(100)],
  ["nothing else", '"\\\n\u0000'.repeat(100)],
])("text is escaped as JSON.stringify does: %s", (_name, text) => {
  const content = new ContentBytes(Buffer.from(text), "utf-8");
  const expected = JSON.stringify(text).slice(1, -1);
  for (const bytes of [8, 9, 11, 13, 14, 15, 23, 64, 100_000])
    for (const at of [0, 1, 3]) expect(put(content, bytes, at)).toBe(expected);
});

test("base64 is that of the whole, whatever the size of the pieces", () => {
  for (const length of [1, 2, 3, 4, 100, 1001]) {
    const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 37) & 255));
    for (const piece of [8, 10, 400, 10_000]) {
      expect(put(new ContentBytes(bytes, "base64"), piece)).toBe(bytes.toString("base64"));
    }
  }
});

const long = (unit: string, times: number): string => unit.repeat(times);

describe("JSON in pieces", () => {
  test.each<[string, unknown]>([
    ["a short text", "abc"],
    ["a long text alone", long("abc\n", 50_000)],
    [
      "long texts in a record",
      { a: 1, b: { content: long('quo"te\\ \u0001', 20_000), rest: [null, true] }, c: long("ä", 99_999) },
    ],
    ["the same long text twice", { files: [{ content: long("x", 70_000) }, { content: long("x", 70_000) }], end: "…" }],
    ["surrogate pairs at every place where a piece may end", `x${long("😀", 60_000)}`],
    ["surrogates that stand alone", `${long("\ud83d", 40_000)}${long("\ude00", 40_000)}`],
    ["values that are left out", { a: undefined, b: [undefined], c: new Date(0), d: long("y", 40_000) }],
    ["no long text at all", { a: [1, 2, { b: "c" }] }],
  ])("is that which is written at once: %s", (_name, value) => {
    expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value));
  });

  test("keeps the digits of integers that no double holds", () => {
    const value = { a: long("a", 100_000), number: 9007199254740993n, b: long("b", 100_000) };
    const text = `{"a":"${value.a}","number":9007199254740993,"b":"${value.b}"}`;
    expect([...jsonPieces(value)].join("")).toBe(text);
  });

  test("has no piece of more than a bounded size, whatever the text", () => {
    const pieces = [...jsonPieces({ content: long("a", 3_000_000) })];
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(40_000);
  });

  test("fails before there is a piece where JSON cannot hold the value", () => {
    const endless: Record<string, unknown> = { content: long("a", 100_000) };
    endless["self"] = endless;
    expect(() => jsonPieces(endless)).toThrow(TypeError);
  });
});

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
