import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import type { DocumentFault, DocumentReading, DocumentRequest, DocumentText } from "../../src/core/call/documents.js";
import { compiledFile, packageFile } from "../../src/core/package-files.js";
import { DocumentProcesses } from "../../src/documents/document-processes.js";
import { bombPdf, compressedPdf, damagedTable, doublingPdf, encryptedPdf, pdfWith } from "./make-pdf.js";

const folder = mkdtempSync(join(tmpdir(), "venue-files-pdf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const opened: DocumentProcesses[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** Reads each file as a call of its own does. */
function readerOf(program?: URL) {
  const reader = new DocumentProcesses(program);
  opened.push(reader);
  const read = async ({ signal, caller, ...request }: Request): Promise<DocumentText | DocumentFault> => {
    const session = reader.open({ signal, caller });
    try {
      return await session.read(request);
    } finally {
      session.close();
    }
  };
  return { read, open: () => reader.open({}), close: () => reader.close() };
}

type Request = DocumentRequest & DocumentReading;

/** The texts of pages, and how many the document has. */
function pagesOf(found: DocumentText | DocumentFault) {
  if ("fault" in found) return found;
  const { count, parts, ends } = found;
  return { count, pages: parts.map(({ text }) => text), ...(ends === undefined ? {} : { ends }) };
}

const SPENT = { fault: "spent" };

/** A program in place of the one that reads. */
function programOf(name: string, code: string): URL {
  const path = join(folder, name);
  writeFileSync(path, code);
  return pathToFileURL(path);
}

interface Told extends Request {
  /** Resolves when all bytes have been taken. */
  readonly taken: Promise<void>;
  isBegun(): boolean;
}

function requestOf(bytes: Buffer, more: Partial<Request> = {}): Told {
  let isBegun = false;
  let onTaken = () => {};
  const taken = new Promise<void>((resolve) => {
    onTaken = resolve;
  });
  async function* source() {
    isBegun = true;
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    onTaken();
  }
  const usual = { source: source(), size: bytes.length, kind: "pdf" as const, maxChars: 65_536, withinMs: 25_000 };
  return { ...usual, taken, isBegun: () => isBegun, ...more };
}

describe("the text of a PDF", () => {
  test.each([
    ["as it is", pdfWith("One\nline two", "Three")],
    ["from compressed pages", compressedPdf("One\nline two", "Three")],
    ["where the table of offsets is damaged", damagedTable("One\nline two", "Three")],
  ])("comes page by page, %s", async (_, bytes) => {
    const found = await readerOf().read(requestOf(bytes));
    expect(pagesOf(found)).toEqual({ count: 2, pages: ["One\nline two", "Three"] });
  });

  test("is read no further than is asked for", async () => {
    const bytes = pdfWith(...Array.from({ length: 40 }, () => "0123456789"));
    const found = await readerOf().read(requestOf(bytes, { maxChars: 100 }));
    expect(pagesOf(found)).toEqual({
      count: 40,
      // The lines that name them count too.
      pages: [...Array.from({ length: 4 }, () => "0123456789"), ""],
      ends: "enough",
    });
  });

  test.each([
    ["encrypted", "encrypted with a password", encryptedPdf()],
    ["damaged", "cut short", pdfWith("One").subarray(0, 200)],
    ["damaged", "none", Buffer.from("%PDF-1.7\nnothing")],
    ["damaged", "empty", Buffer.alloc(0)],
  ])("is %s where the file is %s", async (fault, _, bytes) => {
    expect(await readerOf().read(requestOf(bytes))).toEqual({ fault });
  });

  test("ends where memory does: a page that unpacks to gigabytes ends it, with what came before", async () => {
    const peak = join(folder, "peak");
    const measured = programOf(
      "measured.mjs",
      `import { writeFileSync } from "node:fs";
      // Before the answer, behind which it is killed.
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (...given) => {
        writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS));
        return write(...given);
      };
      await import(${JSON.stringify(compiledFile("documents/documents-process").href)});`,
    );
    const found = await readerOf(measured).read(requestOf(bombPdf(9000)));
    expect(pagesOf(found)).toEqual({ count: 2, pages: ["before"], ends: "spent" });
    const mebibytes = Number(readFileSync(peak, "utf8")) / 1024;
    expect(mebibytes).toBeGreaterThan(64);
    // 256, and what is taken between two looks, which are further apart on a busy machine. Unpacked it is gigabytes.
    expect(mebibytes).toBeLessThan(512);
  });

  test("ends where time does: a page that never ends is killed", async () => {
    expect(pagesOf(await readerOf().read(requestOf(doublingPdf(3))))).toMatchObject({
      pages: [expect.stringMatching(/^(x\s*){8}$/)],
    });
    expect(await readerOf().read(requestOf(doublingPdf(60), { withinMs: 1_500 }))).toEqual(SPENT);
  });
});

describe("the processes", () => {
  test("are killed when their time is over, and the text that they have told is kept", async () => {
    for (const [told, expected] of [
      ["", SPENT],
      ['{ "is": "text", "text": "before" }', { parts: [{ text: "before" }], ends: "spent" }],
    ] as const) {
      const mark = join(folder, `told${told.length}`);
      const program = programOf(
        `stuck${told.length}.mjs`,
        `import { writeFileSync } from "node:fs";
        process.stdin.once("data", () => {
          process.stdout.write(${JSON.stringify(told === "" ? "" : `${told}\n`)}, () => writeFileSync(${JSON.stringify(mark)}, ""));
        });
        setInterval(() => {}, 60_000);`,
      );
      const timers: { run: () => void; ms: number }[] = [];
      const hold = (run: () => void, ms = 0) => void timers.push({ run, ms });
      const held = jest.spyOn(globalThis, "setTimeout").mockImplementation(hold as never);
      try {
        const answer = readerOf(program).read(requestOf(Buffer.alloc(0), { withinMs: 2_000 }));
        while (!existsSync(mark)) await new Promise((resolve) => setImmediate(resolve));
        expect(timers).toHaveLength(1);
        expect(timers[0]?.ms).toBeLessThanOrEqual(2_000);
        timers[0]?.run();
        expect(await answer).toMatchObject(expected);
      } finally {
        held.mockRestore();
      }
    }
  });

  test("are two at most; a third file waits until one is cancelled", async () => {
    const reader = readerOf();
    const cancel = new AbortController();
    const endless = [1, 2].map(() => requestOf(doublingPdf(60), { signal: cancel.signal }));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    const third = requestOf(pdfWith("third"));
    const waiting = reader.read(third);
    await Promise.all(endless.map(({ taken }) => taken));
    expect(third.isBegun()).toBe(false);
    cancel.abort();
    await Promise.all(running);
    expect(pagesOf(await waiting)).toEqual({ count: 1, pages: ["third"] });
  });

  test("are given to callers by turns, and last to who has the other one as well", async () => {
    const reader = readerOf();
    const cancels = [new AbortController(), new AbortController()];
    const endless = cancels.map(({ signal }) => requestOf(doublingPdf(60), { signal, caller: "a" }));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    const served: string[] = [];
    const waiting = ["a", "a", "b", "b", "c"].map((caller) =>
      reader
        .read(requestOf(pdfWith(caller), { caller }))
        .then((found) => served.push(...("parts" in found ? found.parts.map(({ text }) => text) : []))),
    );
    cancels[0]?.abort();
    await Promise.all(waiting);
    expect(served).toEqual(["b", "c", "b", "a", "a"]);
    cancels[1]?.abort();
    await Promise.all(running);
  });

  test("tell a file that waited for most of its time from one that is too large", async () => {
    const reader = readerOf();
    const cancels = [new AbortController(), new AbortController()];
    const running = cancels.map(({ signal }) =>
      expect(reader.read(requestOf(doublingPdf(60), { signal }))).rejects.toMatchObject({ code: "ABORTED" }),
    );
    const late = reader.read(requestOf(doublingPdf(60), { withinMs: 4_000 }));
    setTimeout(() => cancels[0]?.abort(), 2_500);
    expect(await late).toEqual({ fault: "busy" });
    cancels[1]?.abort();
    await Promise.all(running);
    expect(await reader.read(requestOf(doublingPdf(60), { withinMs: 2_000 }))).toEqual({ fault: "spent" });
  });

  test("refuse whoever waits too long or is cancelled meanwhile, and stay usable", async () => {
    const reader = readerOf();
    const cancel = new AbortController();
    const endless = [1, 2].map(() => requestOf(doublingPdf(60), { signal: cancel.signal }));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    expect(await reader.read(requestOf(pdfWith("late"), { withinMs: 1 }))).toEqual({ fault: "busy" });
    const other = new AbortController();
    const cancelled = expect(reader.read(requestOf(pdfWith("gone"), { signal: other.signal }))).rejects.toMatchObject({
      code: "ABORTED",
    });
    other.abort();
    await cancelled;
    cancel.abort();
    await Promise.all(running);
    const all = ["a", "b", "c", "d"].map((text) => reader.read(requestOf(pdfWith(text))));
    const texts = (await Promise.all(all)).map((found) => "parts" in found && found.parts.map(({ text }) => text));
    expect(texts).toEqual([["a"], ["b"], ["c"], ["d"]]);
  });

  test("end when the reader is closed, whether they run or wait", async () => {
    const reader = readerOf();
    const endless = [1, 2, 3].map(() => requestOf(doublingPdf(60)));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    await Promise.all(endless.slice(0, 2).map(({ taken }) => taken));
    await reader.close();
    await Promise.all(running);
    await expect(reader.read(requestOf(pdfWith("x")))).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("have nothing of the environment, and compile nothing from strings", async () => {
    const told = programOf(
      "told.mjs",
      `const names = Object.keys(process.env).filter((name) => /^(PATH|HOME|NODE_OPTIONS)$/.test(name)).join();
      let compiles = true;
      try { new Function("return 1"); } catch { compiles = false; }
      process.stdin.once("data", () => process.stdout.write(JSON.stringify({ is: "fault", fault: names, peer: compiles }) + "\\n"));`,
    );
    expect(process.env["PATH"]).toBeDefined();
    expect(await readerOf(told).read(requestOf(pdfWith("x")))).toEqual({ fault: "", peer: false });
  });

  test.each([
    ["ends at once", "process.exit(1);"],
    ["answers no JSON", 'process.stdout.write("{");'],
    ["answers no message", 'process.stdout.write("null\\n"); setInterval(() => {}, 1_000);'],
    ["answers without an end", 'const more = () => process.stdout.write("x".repeat(1_000_000), more); more();'],
  ])("make no failure of a program that %s", async (_, code) => {
    // Longer than the test may last: nothing here ends by its time.
    const request = requestOf(Buffer.alloc(1_000_000), { withinMs: 600_000 });
    expect(await readerOf(programOf("odd.mjs", code)).read(request)).toEqual(SPENT);
  });

  test("pass on what the file itself fails with", async () => {
    async function* source(): AsyncGenerator<Buffer> {
      throw new Error("the disk is gone");
    }
    const request = requestOf(Buffer.alloc(10), { source: source() });
    await expect(readerOf().read(request)).rejects.toThrow("the disk is gone");
  });

  test("tell of a file that becomes shorter while it is read that it is damaged", async () => {
    const whole = pdfWith("x");
    expect(await readerOf().read(requestOf(whole, { size: whole.length + 1 }))).toEqual({ fault: "damaged" });
  });

  test("tell that a package is not installed", async () => {
    const alone = join(folder, "alone");
    mkdirSync(alone);
    writeFileSync(join(alone, "package.json"), '{ "type": "module" }');
    cpSync(packageFile("dist/documents"), join(alone, "dist", "documents"), { recursive: true });
    cpSync(packageFile("dist/bundle"), join(alone, "dist", "bundle"), { recursive: true });
    const reader = readerOf(pathToFileURL(join(alone, "dist", "documents", "documents-process.js")));
    for (const kind of ["pdf", undefined] as const) {
      expect(await reader.read(requestOf(pdfWith("x"), { kind }))).toEqual({ fault: "missing", peer: "unpdf" });
    }
  });
});
