import { afterEach, describe, expect, test } from "@jest/globals";
import type { LineQuery, LineScanner, ScanJob } from "../../src/core/call/scan.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { ScanPool } from "../../src/search/scan-pool.js";

const LONG_MS = 20_000;
const query = (pattern: string, more: Partial<LineQuery> = {}): LineQuery => ({
  ...{ pattern, literal: false, ignoreCase: false },
  ...more,
});
const job = (text: string): ScanJob => ({
  ...{ bytes: Uint8Array.from(Buffer.from(text)), afterLine: 0, most: 10, mostChars: 1000, before: 0, after: 0 },
  firstOnly: false,
});
/** Which takes an automaton with so many states that none is kept for long. */
const SLOW = { pattern: "(?:a|b)*a(?:a|b){400}[cd]", text: ababs(100_000) };

function ababs(length: number): string {
  let text = "";
  for (let state = 1; text.length < length; text += state & 0x10000 ? "a" : "b") {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
  }
  return text;
}

const codeOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof FileAdapterError ? error.code : String(error)),
  );

describe("threads for expressions", () => {
  const pools: ScanPool[] = [];
  const pool = (): ScanPool => {
    const made = new ScanPool();
    pools.push(made);
    return made;
  };
  afterEach(async () => {
    for (const one of pools.splice(0)) await one.close();
  });
  const counts = async (scanner: LineScanner, text: string): Promise<unknown> =>
    (await scanner.scan([job(text)], LONG_MS)).map((scan) => (scan === "binary" ? scan : scan.count));

  test("are two; the next search waits for one, and not longer than it may", async () => {
    const threads = pool();
    const first = await threads.open(query("a+"), LONG_MS);
    const second = await threads.open(query("b+"), LONG_MS);
    expect(await codeOf(threads.open(query("c+"), 1))).toBe("TIMEOUT");
    const third = threads.open(query("c+"), LONG_MS);
    expect(await counts(first, "aa\nb")).toEqual([1]);
    first.close();
    expect(await counts(await third, "c\nc")).toEqual([2]);
    second.close();
  });

  test("are given to callers by turns", async () => {
    const threads = pool();
    const [first, second] = [
      await threads.open(query("a+"), LONG_MS, "a"),
      await threads.open(query("a+"), LONG_MS, "a"),
    ];
    const served: string[] = [];
    const waiting = ["a", "a", "a", "b"].map(async (caller) => {
      const scanner = await threads.open(query("a+"), LONG_MS, caller);
      served.push(caller);
      scanner.close();
    });
    first.close();
    await Promise.all(waiting);
    expect(served).toEqual(["a", "b", "a", "a"]);
    second.close();
  });

  test("serve nobody whose search has ended, so that no answer comes to somebody else", async () => {
    const threads = pool();
    const ended = await threads.open(query("a+"), LONG_MS);
    ended.close();
    ended.close();
    const next = await threads.open(query("b+"), LONG_MS);
    expect(await codeOf(Promise.resolve(ended.scan([job("a")], LONG_MS)))).toBe("ABORTED");
    expect(await counts(next, "b")).toEqual([1]);
  });

  test("end when they take too long, and others take their place", async () => {
    const threads = pool();
    const slow = await threads.open(query(SLOW.pattern), LONG_MS);
    expect(await codeOf(Promise.resolve(slow.scan([job(SLOW.text)], 20)))).toBe("TIMEOUT");
    slow.close();
    for (let round = 0; round < 3; round++) {
      const scanner = await threads.open(query("a+b"), LONG_MS);
      expect(await counts(scanner, "aab")).toEqual([1]);
      scanner.close();
    }
  });

  test("refuse who waits for one when they are closed", async () => {
    const threads = pool();
    await threads.open(query("a+"), LONG_MS);
    const busy = await threads.open(query(SLOW.pattern), LONG_MS);
    const waiting = codeOf(threads.open(query("c+"), LONG_MS));
    const scanning = codeOf(Promise.resolve(busy.scan([job(SLOW.text)], LONG_MS)));
    await threads.close();
    expect(await waiting).toBe("ABORTED");
    expect(await scanning).toBe("ABORTED");
    expect(await codeOf(threads.open(query("d+"), LONG_MS))).toBe("ABORTED");
    expect(await codeOf(threads.open(query("d", { literal: true }), LONG_MS))).toBe("ABORTED");
  });

  test("are not needed for a text, however it is written", async () => {
    const threads = pool();
    for (const plain of [query("a.b", { literal: true }), query("a b"), query("a\\.b\\(\\)"), query("äöü-x")]) {
      expect((await threads.open(plain, LONG_MS)).isInline).toBe(true);
    }
    expect(await counts(await threads.open(query("a\\.b\\("), LONG_MS), "a.b(\naxb(\na\\.b(")).toEqual([1]);
    for (const other of [query("a.b"), query("a\\_b"), query("a\\db"), query("a", { ignoreCase: true })]) {
      const opened = await threads.open(other, LONG_MS).catch(() => undefined);
      expect(opened?.isInline ?? false).toBe(false);
      opened?.close();
    }
  });
});
