import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import type { PdfRequest } from "../../src/core/call/pdf.js";
import { compiledFile, packageFile } from "../../src/core/package-files.js";
import { PdfProcesses } from "../../src/pdf/pdf-processes.js";
import { bombPdf, compressedPdf, damagedTable, doublingPdf, encryptedPdf, pdfWith } from "./make-pdf.js";

const folder = mkdtempSync(join(tmpdir(), "venue-files-pdf-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const opened: PdfProcesses[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function readerOf(program?: URL): PdfProcesses {
  const reader = new PdfProcesses(program);
  opened.push(reader);
  return reader;
}

/** A program in place of the one that reads. */
function programOf(name: string, code: string): URL {
  const path = join(folder, name);
  writeFileSync(path, code);
  return pathToFileURL(path);
}

interface Told extends PdfRequest {
  /** Resolves when all bytes have been taken. */
  readonly taken: Promise<void>;
  isBegun(): boolean;
}

function requestOf(bytes: Buffer, more: Partial<PdfRequest> = {}): Told {
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
  const usual = { source: source(), size: bytes.length, maxBytes: 65_536, withinMs: 25_000 };
  return { ...usual, taken, isBegun: () => isBegun, ...more };
}

describe("the text of a PDF", () => {
  test.each([
    ["as it is", pdfWith("One\nline two", "Three")],
    ["from compressed pages", compressedPdf("One\nline two", "Three")],
    ["where the table of offsets is damaged", damagedTable("One\nline two", "Three")],
  ])("comes page by page, %s", async (_, bytes) => {
    expect(await readerOf().read(requestOf(bytes))).toEqual({ count: 2, pages: ["One\nline two", "Three"] });
  });

  test("is read no further than is asked for", async () => {
    const bytes = pdfWith(...Array.from({ length: 40 }, () => "0123456789"));
    const found = await readerOf().read(requestOf(bytes, { maxBytes: 100 }));
    expect(found).toEqual({ count: 40, pages: Array.from({ length: 10 }, () => "0123456789") });
  });

  test.each([
    ["encrypted with a password", encryptedPdf()],
    ["cut short", pdfWith("One").subarray(0, 200)],
    ["none", Buffer.from("%PDF-1.7\nnothing")],
    ["empty", Buffer.alloc(0)],
  ])("is undefined where the file is %s", async (_, bytes) => {
    expect(await readerOf().read(requestOf(bytes))).toBeUndefined();
  });

  test("ends where memory does: a page that unpacks to gigabytes ends it, with what came before", async () => {
    const peak = join(folder, "peak");
    const measured = programOf(
      "measured.mjs",
      `import { writeFileSync } from "node:fs";
      process.on("exit", () => writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)));
      await import(${JSON.stringify(compiledFile("pdf/pdf-process").href)});`,
    );
    const found = await readerOf(measured).read(requestOf(bombPdf(9000)));
    expect(found).toEqual({ count: 2, pages: ["before"], isSpent: true });
    const mebibytes = Number(readFileSync(peak, "utf8")) / 1024;
    expect(mebibytes).toBeGreaterThan(64);
    // 256, and what is taken between two looks, which are further apart on a busy machine. Unpacked it is gigabytes.
    expect(mebibytes).toBeLessThan(512);
  });

  test("ends where time does: a page that never ends is killed", async () => {
    expect((await readerOf().read(requestOf(doublingPdf(3))))?.pages[0]).toMatch(/^(x\s*){8}$/);
    expect(await readerOf().read(requestOf(doublingPdf(60), { withinMs: 1_500 }))).toBeUndefined();
  });
});

describe("the processes", () => {
  test("are to end by themselves before their time is over, and are killed then", async () => {
    const bounds = join(folder, "bounds");
    const program = programOf(
      "stuck.mjs",
      `import { renameSync, writeFileSync } from "node:fs";
      writeFileSync(${JSON.stringify(`${bounds}.new`)}, process.argv[2]);
      renameSync(${JSON.stringify(`${bounds}.new`)}, ${JSON.stringify(bounds)});
      setInterval(() => {}, 60_000);`,
    );
    const timers: { run: () => void; ms: number }[] = [];
    const hold = (run: () => void, ms = 0) => void timers.push({ run, ms });
    const held = jest.spyOn(globalThis, "setTimeout").mockImplementation(hold as never);
    try {
      const answer = readerOf(program).read(requestOf(Buffer.alloc(0), { withinMs: 2_000 }));
      while (!existsSync(bounds)) await new Promise((resolve) => setImmediate(resolve));
      expect(timers).toHaveLength(1);
      const [kill] = timers;
      kill?.run();
      expect(await answer).toBeUndefined();
      expect(kill?.ms).toBeLessThanOrEqual(2_000);
      expect(JSON.parse(readFileSync(bounds, "utf8")).withinMs).toBe((kill?.ms ?? 0) * 0.75);
    } finally {
      held.mockRestore();
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
    expect(await waiting).toEqual({ count: 1, pages: ["third"] });
  });

  test("are given to callers by turns", async () => {
    const reader = readerOf();
    const cancels = [new AbortController(), new AbortController()];
    const endless = cancels.map(({ signal }) => requestOf(doublingPdf(60), { signal, caller: "a" }));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    const served: string[] = [];
    const waiting = ["a", "a", "a", "b"].map((caller) =>
      reader.read(requestOf(pdfWith(caller), { caller })).then((found) => served.push(...(found?.pages ?? []))),
    );
    cancels[0]?.abort();
    await Promise.all(waiting);
    expect(served).toEqual(["a", "b", "a", "a"]);
    cancels[1]?.abort();
    await Promise.all(running);
  });

  test("refuse whoever waits too long or is cancelled meanwhile, and stay usable", async () => {
    const reader = readerOf();
    const cancel = new AbortController();
    const endless = [1, 2].map(() => requestOf(doublingPdf(60), { signal: cancel.signal }));
    const running = endless.map((request) => expect(reader.read(request)).rejects.toMatchObject({ code: "ABORTED" }));
    expect(await reader.read(requestOf(pdfWith("late"), { withinMs: 1 }))).toBeUndefined();
    const other = new AbortController();
    const cancelled = expect(reader.read(requestOf(pdfWith("gone"), { signal: other.signal }))).rejects.toMatchObject({
      code: "ABORTED",
    });
    other.abort();
    await cancelled;
    cancel.abort();
    await Promise.all(running);
    const all = ["a", "b", "c", "d"].map((text) => reader.read(requestOf(pdfWith(text))));
    expect((await Promise.all(all)).map((found) => found?.pages)).toEqual([["a"], ["b"], ["c"], ["d"]]);
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
      `const pages = [Object.keys(process.env).filter((name) => /^(PATH|HOME|NODE_OPTIONS)$/.test(name)).join()];
      try { new Function("return 1"); pages.push("compiled"); } catch { pages.push("refused"); }
      process.stdin.resume().on("end", () => process.stdout.write(JSON.stringify({ count: 2, pages })));`,
    );
    expect(process.env["PATH"]).toBeDefined();
    expect(await readerOf(told).read(requestOf(pdfWith("x")))).toEqual({ count: 2, pages: ["", "refused"] });
  });

  test.each([
    ["ends at once", "process.exit(1);"],
    ["answers no JSON", 'process.stdout.write("{");'],
    ["answers without an end", 'const more = () => process.stdout.write("x".repeat(1_000_000), more); more();'],
  ])("make no failure of a program that %s", async (_, code) => {
    // Longer than the test may last: nothing here ends by its time.
    const request = requestOf(Buffer.alloc(1_000_000), { withinMs: 600_000 });
    expect(await readerOf(programOf("odd.mjs", code)).read(request)).toBeUndefined();
  });

  test("pass on what the file itself fails with", async () => {
    async function* source(): AsyncGenerator<Buffer> {
      throw new Error("the disk is gone");
    }
    const request = requestOf(Buffer.alloc(10), { source: source() });
    await expect(readerOf().read(request)).rejects.toThrow("the disk is gone");
  });

  test("are not started again where the package is not installed", async () => {
    const alone = join(folder, "alone");
    mkdirSync(alone);
    writeFileSync(join(alone, "package.json"), '{ "type": "module" }');
    cpSync(packageFile("dist/pdf"), join(alone, "dist", "pdf"), { recursive: true });
    cpSync(packageFile("dist/bundle"), join(alone, "dist", "bundle"), { recursive: true });
    const reader = readerOf(pathToFileURL(join(alone, "dist", "pdf", "pdf-process.js")));
    const [first, second] = [requestOf(pdfWith("x")), requestOf(pdfWith("x"))];
    expect(await reader.read(first)).toBeUndefined();
    expect(await reader.read(second)).toBeUndefined();
    expect([first.isBegun(), second.isBegun()]).toEqual([true, false]);
  });
});
