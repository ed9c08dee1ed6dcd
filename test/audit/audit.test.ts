import { hash, verify } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { openAuditFile } from "../../src/audit/audit-file.js";
import { AuditChain } from "../../src/audit/chain.js";
import type { VerifySignature } from "../../src/audit/chain-check.js";
import { CheckpointStore, checkpointFolder } from "../../src/audit/checkpoints.js";
import { AuditLog, type AuditPage, type AuditQuery } from "../../src/audit/log.js";
import { type AuditRecord, type AuditSink, teeSink } from "../../src/audit/record.js";
import {
  type AuditReport,
  listLogFiles,
  readLines,
  realFile,
  sortOldestFirst,
  type VerifyOptions,
  verifyAudit,
} from "../../src/audit/verify.js";
import { newSeed, signingKeyFromSeed } from "../../src/ucan/mint/signing-key.js";
import { createPublicKeys } from "../../src/ucan/verify/public-keys.js";
import { auditSigner } from "../../src/venue/start/audit-signer.js";

describe("the audit log", () => {
  const COUNT = 6000;
  let dir = "";
  let file = "";
  let indexFolder = "";
  const callers = ["operator", "did:key:zAlice", 'did:web:"odd"'];

  /** Every record differs: `bytes` is its number. */
  const record = (bytes: number): AuditRecord => ({
    time: 1_000_000 + bytes,
    caller: bytes % 1000 === 7 ? "did:key:zRare" : (callers[bytes % 3] ?? ""),
    operation: bytes % 2 === 0 ? "file:read" : "file:write",
    resource: `file://r${bytes % 4}/d${bytes % 5}/f${bytes}`,
    ...(bytes === 2500 ? { others: ["file://elsewhere/x/y"] } : {}),
    outcome: bytes % 500 === 3 ? "NOT_FOUND" : "OK",
    bytes,
    ms: 0.5,
  });

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "venue-files-log-"));
    file = join(dir, "audit.jsonl");
    indexFolder = join(dir, "index");
    const audit = await openAuditFile(file, () => {}, { signer: auditSigner(undefined), maxBytes: 600_000, keep: 9 });
    for (let bytes = 0; bytes < COUNT; bytes++) {
      audit.write(record(bytes));
      if (bytes % 100 === 0) await new Promise(setImmediate);
    }
    await audit.close();
    expect((await listLogFiles(file)).length).toBeGreaterThan(2);
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const all = Array.from({ length: COUNT }, (_, index) => record(COUNT - 1 - index));
  const newLog = () => new AuditLog({ path: file, indexFolder });
  const numbers = ({ records }: AuditPage): number[] => records.map(({ bytes }) => bytes);

  const QUERIES: readonly [string, Omit<AuditQuery, "limit">, (one: AuditRecord) => boolean][] = [
    ["everything", {}, () => true],
    ["a caller", { actor: "did:key:zRare" }, ({ caller }) => caller === "did:key:zRare"],
    ["a caller whose name JSON escapes", { actor: 'did:web:"odd"' }, ({ caller }) => caller === 'did:web:"odd"'],
    ["nobody", { actor: "did:key:zNobody" }, () => false],
    ["an operation", { operation: "file:write" }, ({ operation }) => operation === "file:write"],
    ["an outcome", { outcome: "NOT_FOUND" }, ({ outcome }) => outcome === "NOT_FOUND"],
    ["a root", { under: ["file://r1"] }, ({ resource }) => resource.startsWith("file://r1/")],
    ["a folder", { under: ["file://r1/d1"] }, ({ resource }) => resource.startsWith("file://r1/d1/")],
    ["a file", { under: ["file://r1/d1/f21"] }, ({ bytes }) => bytes === 21],
    ["a further resource", { under: ["file://elsewhere/x"] }, ({ bytes }) => bytes === 2500],
    [
      "either of two folders",
      { under: ["file://r1/d1", "file://r3"] },
      ({ resource }) => resource.startsWith("file://r1/d1/") || resource.startsWith("file://r3/"),
    ],
    ["the beginning of a name only", { under: ["file://r1/d"] }, () => false],
    ["a time", { since: 1_000_100, until: 1_000_110 }, ({ bytes }) => bytes >= 100 && bytes <= 110],
    ["own calls only", { callers: new Set(["did:key:zRare", "x"]) }, ({ caller }) => caller === "did:key:zRare"],
    ["another's among own", { actor: "operator", callers: new Set(["x"]) }, () => false],
    [
      "several at once",
      { actor: "operator", outcome: "NOT_FOUND", under: ["file://r3"] },
      ({ bytes, caller, outcome }) => caller === "operator" && outcome === "NOT_FOUND" && bytes % 4 === 3,
    ],
  ];

  describe("a query finds the newest first, over all kept files", () => {
    test.each(QUERIES)("%s", async (_, query, matches) => {
      const expected = all.filter(matches).map(({ bytes }) => bytes);
      const log = newLog();
      for (const limit of [10, 1000]) {
        const page = await log.query({ ...query, limit });
        expect(numbers(page)).toEqual(expected.slice(0, limit));
        expect(page.next === undefined || page.reason === "limit").toBe(true);
      }
      const pages: number[] = [];
      let cursor: AuditQuery["cursor"];
      do {
        const page: AuditPage = await log.query({ ...query, limit: 700, cursor });
        pages.push(...numbers(page));
        cursor = page.next;
      } while (cursor !== undefined);
      expect(pages).toEqual(expected);
    });

    test("with their place in the chain, and nothing else that is not of the record", async () => {
      const { records } = await newLog().query({ limit: 1 });
      expect(records).toEqual([
        { ...record(COUNT - 1), chain: expect.stringMatching(/^.{16}$/), n: expect.any(Number) },
      ]);
    });
  });

  describe("the index", () => {
    const rare: AuditQuery = { actor: "did:key:zRare", limit: 100 };

    test("is kept for the next process, made again where it is missing or damaged, and removed with its file", async () => {
      const expected = numbers(await newLog().query(rare));
      const names = readdirSync(indexFolder);
      expect(names.length).toBeGreaterThanOrEqual((await listLogFiles(file)).length - 1);
      for (const name of names) writeFileSync(join(indexFolder, name), "damaged");
      expect(numbers(await newLog().query(rare))).toEqual(expected);
      rmSync(indexFolder, { recursive: true });
      expect(numbers(await newLog().query(rare))).toEqual(expected);
      expect(readdirSync(indexFolder)).toEqual(names);
      writeFileSync(join(indexFolder, `${"0".repeat(32)}.index`), "of a file that is gone");
      await newLog().query(rare);
      expect(readdirSync(indexFolder)).toEqual(names);
    });

    test("follows the file while it grows, and what stands in it without being a record is left out", async () => {
      const log = newLog();
      const before = numbers(await log.query(rare));
      const size = readFileSync(file).length;
      const line = { ...record(7), bytes: -1, chain: "x".repeat(16), n: 1, prev: "" };
      appendFileSync(file, `${JSON.stringify(line)}\nnonsense\n{"time":1,"chain":"x","n":2,"prev":""}\n{"torn`);
      try {
        expect(numbers(await log.query(rare))).toEqual([-1, ...before]);
        expect(numbers(await log.query({ limit: 2 }))).toEqual([-1, COUNT - 1]);
      } finally {
        writeFileSync(file, readFileSync(file).subarray(0, size));
      }
    });

    test("does not change what a cancelled query leaves behind", async () => {
      const page = await newLog().query({ ...rare, limit: 3 }, AbortSignal.abort());
      expect(page.records).toHaveLength(0);
      expect(numbers(await newLog().query({ ...rare, limit: 3 }))).toEqual([5007, 4007, 3007]);
    });

    test("a cursor into a file that is not kept any more has lapsed", async () => {
      const cursor = { file: "0".repeat(32), offset: 5 };
      expect(await newLog().query({ ...rare, cursor })).toEqual({ records: [], lapsed: true });
    });
  });
});

const RECORD: AuditRecord = {
  time: 1,
  caller: "operator",
  operation: "file:read",
  resource: "file://r/a",
  outcome: "OK",
  bytes: 0,
  ms: 0.5,
};

function listing(): AuditSink & { readonly seen: unknown[] } {
  const seen: unknown[] = [];
  return { seen, write: (record) => void seen.push(record), close: async () => void seen.push("closed") };
}

const failing = (error: Error): AuditSink => ({
  write: () => {
    throw error;
  },
  close: () => Promise.reject(error),
});

test("every sink of several gets every record and is closed", async () => {
  const [one, other] = [listing(), listing()];
  const sink = teeSink(one, other);
  sink.write(RECORD);
  await sink.close();
  expect([one.seen, other.seen]).toEqual([
    [RECORD, "closed"],
    [RECORD, "closed"],
  ]);
});

test("a sink that breaks its promise does not keep the others from theirs, and is reported", async () => {
  const [broken, last] = [new Error("broken"), listing()];
  const sink = teeSink(failing(broken), last);
  expect(() => sink.write(RECORD)).toThrow(broken);
  await expect(sink.close()).rejects.toBe(broken);
  expect(last.seen).toEqual([RECORD, "closed"]);
});

describe("verification of the audit", () => {
  const key = signingKeyFromSeed(newSeed());
  const signer = auditSigner(key);
  const keys = createPublicKeys();
  const verifySignature: VerifySignature = (did, text, signature) => {
    const known = keys.of(did);
    return known !== undefined && verify(null, Buffer.from(text), known, Buffer.from(signature, "base64url"));
  };
  const record = (bytes: number): AuditRecord => ({
    ...{ time: Date.now(), caller: "operator", operation: "file:read", resource: "file://r/ä", outcome: "OK", ms: 0.5 },
    bytes,
  });

  let dir = "";
  let made = 0;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "venue-files-verify-"));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const newFile = (): string => join(dir, `audit-${++made}.jsonl`);
  interface Writing {
    readonly count: number;
    readonly stateDir?: string;
    readonly maxBytes?: number;
    /** `false`: it stops without an end, as by a crash. */
    readonly ends?: boolean;
  }

  /** Writes records as one process does. @returns its chain */
  async function write(file: string, { count, ends = true, ...options }: Writing): Promise<string> {
    const audit = await openAuditFile(file, () => {}, { signer, keep: 100, ...options });
    for (let index = 1; index <= count; index++) {
      audit.write(record(index));
      if (index % 20 === 0) await new Promise(setImmediate);
    }
    await audit.close();
    expect(audit.lost).toBe(0);
    if (!ends) edit(file, (lines) => lines.slice(0, -1));
    return audit.chain;
  }

  const linesOf = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);
  const save = (file: string, lines: readonly string[]): void =>
    writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  const edit = (file: string, change: (lines: string[]) => string[]): void => save(file, change(linesOf(file)));

  async function check(file: string, options: Partial<VerifyOptions> & { state?: string } = {}): Promise<AuditReport> {
    const files = await listLogFiles(file);
    const { state, ...rest } = options;
    const store = state === undefined ? undefined : new CheckpointStore(checkpointFolder(state, await realFile(file)));
    const sources = files.map((name) => ({ name, lines: readLines(name) }));
    return verifyAudit(sources, { verifySignature, expected: (await store?.list()) ?? [], ...rest });
  }

  const replaced = (lines: string[], at: number, ...by: string[]) => [
    ...lines.slice(0, at),
    ...by,
    ...lines.slice(at + 1),
  ];

  describe("one chain in one file", () => {
    test("is intact as it was written, and says how it ended", async () => {
      const file = newFile();
      const chain = await write(file, { count: 2500 });
      const report = await check(file, { did: key.did });
      expect(report).toMatchObject({ intact: true, findings: [], torn: [], older: [], lines: 2504 });
      expect(report.chains).toEqual([
        { chain, from: 1, to: 2504, checkpoint: 2504, end: "ended", did: key.did, ephemeral: false, lost: 0 },
      ]);
    });

    // Lines: 0 the opening, 1 to 30 records, 31 the end. So line i has n = i + 1.
    const forged = (line: string): string => line.replace('"file:read"', '"file:stat"');
    test.each<[string, (lines: string[]) => string[], object]>([
      ["a changed record", (l) => replaced(l, 5, forged(l[5] ?? "")), { verdict: "changed", line: 6, n: 6 }],
      ["a changed byte of white space", (l) => replaced(l, 5, `${l[5]} `), { verdict: "changed", line: 6, n: 6 }],
      [
        "a changed first line",
        (l) => replaced(l, 0, (l[0] ?? "").replace('"time":1', '"time":2')),
        { verdict: "changed", n: 1 },
      ],
      [
        "a changed last line",
        (l) => replaced(l, 31, (l[31] ?? "").replace('"time":1', '"time":2')),
        { verdict: "changed", n: 32 },
      ],
      ["a removed record", (l) => replaced(l, 5), { verdict: "removed", line: 6, n: 6 }],
      ["several removed", (l) => [...l.slice(0, 5), ...l.slice(9)], { verdict: "removed", n: 6, to: 9 }],
      [
        "a record moved down",
        (l) => [...l.slice(0, 5), ...l.slice(6, 9), l[5] ?? "", ...l.slice(9)],
        { verdict: "moved", line: 9, n: 6 },
      ],
      [
        "a record moved up",
        (l) => [...l.slice(0, 5), l[8] ?? "", ...l.slice(5, 8), ...l.slice(9)],
        { verdict: "moved", n: 6 },
      ],
      ["a record written twice", (l) => replaced(l, 5, l[5] ?? "", l[5] ?? ""), { verdict: "added", n: 6 }],
      [
        "a forged one after the genuine",
        (l) => replaced(l, 5, l[5] ?? "", forged(l[5] ?? "")),
        { verdict: "added", line: 7, n: 6 },
      ],
      [
        "a forged one before the genuine",
        (l) => replaced(l, 5, forged(l[5] ?? ""), l[5] ?? ""),
        { verdict: "added", line: 6, n: 6 },
      ],
      ["an old one again at the end", (l) => [...l, l[5] ?? ""], { verdict: "added", line: 33, n: 6 }],
      [
        "a line of no chain",
        (l) => replaced(l, 5, l[5] ?? "", '{"operation":"file:read"}'),
        { verdict: "added", line: 7 },
      ],
      [
        "a line that says that it is linked",
        (l) => [...l, '{"link":{"chain":"abc","n":2,"prev":"x"}}'],
        { verdict: "added", line: 33 },
      ],
      ["a line that is no JSON", (l) => replaced(l, 5, l[5] ?? "", "hello"), { verdict: "added", line: 7 }],
      ["an empty line", (l) => replaced(l, 5, l[5] ?? "", ""), { verdict: "added", line: 7 }],
      [
        "a chain without a signed line",
        (l) => [...l, '{"time":1,"chain":"abc","n":1,"prev":null}'],
        { verdict: "added", chain: "abc" },
      ],
      [
        "a chain that claims to be older",
        (l) => [...l, '{"time":1,"chain":"abc","n":9,"prev":"x"}'],
        { verdict: "unsigned", chain: "abc" },
      ],
    ])("shows %s", async (_, change, finding) => {
      const file = newFile();
      await write(file, { count: 30 });
      edit(file, change);
      const { intact, findings } = await check(file);
      expect([intact, findings[0]]).toEqual([false, expect.objectContaining(finding)]);
    });

    test("shows a record changed together with all hashes after it", async () => {
      const file = newFile();
      await write(file, { count: 30 });
      const [opening = "", ...rest] = linesOf(file);
      const chain = JSON.parse(opening).chain;
      // What an attacker without the key can write: the whole chain again, up to the signature.
      const rebuilt = rechain(opening, rest.slice(0, -1), (line) => line.replace('"bytes":5,', '"bytes":6,'));
      save(file, [...rebuilt, rest.at(-1) ?? ""]);
      const { findings } = await check(file);
      expect(findings).toMatchObject([
        { verdict: "changed", chain, n: 31, detail: expect.stringContaining("back to") },
      ]);
    });

    test("signed by another key is foreign, where the key is known", async () => {
      const file = newFile();
      await write(file, { count: 3 });
      const other = new AuditChain(auditSigner(undefined), []);
      for (const { text } of [...other.add(JSON.stringify(record(1))), other.checkpoint({ end: true })])
        appendFileSync(file, text);
      const known = await check(file, { did: key.did });
      expect(known.findings[0]).toMatchObject({ verdict: "foreign", chain: other.id, n: 1 });
      // Without it, the report names who signed.
      const unknown = await check(file);
      expect(unknown.chains.map(({ did, ephemeral }) => [did === key.did, ephemeral])).toEqual([
        [true, false],
        [false, true],
      ]);
    });

    test("that goes on signed by another key is foreign even where none is known", async () => {
      const file = newFile();
      await write(file, { count: 3 });
      const lines = linesOf(file);
      const imposter = auditSigner(undefined);
      const open = (lines[4] ?? "").replace(/,"signature":.*$/, "").replace(key.did, imposter.did);
      save(file, replaced(lines, 4, `${open},"signature":"${imposter.sign(`venue-files audit 1\n${open}`)}"}`));
      expect((await check(file)).findings).toMatchObject([{ verdict: "foreign", n: 5 }]);
    });

    test("counts records that were lost before they were written", async () => {
      const file = newFile();
      const chain = new AuditChain(signer, []);
      const lines = [...chain.add(JSON.stringify(record(1)))];
      chain.countLost();
      chain.countLost();
      lines.push(...chain.add(JSON.stringify(record(2))), chain.checkpoint({ end: true }));
      writeFileSync(file, lines.map(({ text }) => text).join(""));
      expect(JSON.parse(linesOf(file)[2] ?? "").lost).toBe(2);
      expect(await check(file)).toMatchObject({ intact: true, chains: [{ lost: 2 }] });
    });
  });

  /** Links lines again after a change, as whoever has no key could. */
  function rechain(opening: string, lines: readonly string[], change: (line: string) => string): string[] {
    const done = [opening];
    for (const line of lines) {
      const { chain, n, prev, ...rest } = JSON.parse(change(line));
      done.push(JSON.stringify({ ...rest, chain, n, prev: sha256(done.at(-1) ?? "") }));
    }
    return done;
  }

  const sha256 = (text: string): string => hash("sha256", text, "hex");

  describe("the end of a chain", () => {
    test("without a checkpoint is a crash, or a cut of so much at most", async () => {
      const file = newFile();
      await write(file, { count: 30, ends: false });
      expect(await check(file)).toMatchObject({ intact: true, chains: [{ end: "open", checkpoint: 1, to: 31 }] });
    });

    test("torn by a crash is said, and the next process goes on", async () => {
      const file = newFile();
      await write(file, { count: 30, ends: false });
      writeFileSync(file, readFileSync(file, "utf8").slice(0, -20));
      await write(file, { count: 3 });
      const report = await check(file);
      expect(report).toMatchObject({
        intact: true,
        torn: [{ file, line: 31 }],
        chains: [{ to: 30, end: "open" }, { end: "ended" }],
      });
    });

    test("that was cut shows by the state directory", async () => {
      const [file, stateDir] = [newFile(), join(dir, "state-cut")];
      const chain = await write(file, { count: 30, stateDir });
      expect((await check(file, { state: stateDir })).intact).toBe(true);
      edit(file, (lines) => lines.slice(0, 10));
      expect((await check(file, { state: stateDir })).findings).toEqual([{ verdict: "cut", chain, n: 32 }]);
      expect((await check(file)).intact).toBe(true);
    });

    test("that was cut shows by the chain after it, without the state directory", async () => {
      const [file, stateDir] = [newFile(), join(dir, "state-next")];
      const chain = await write(file, { count: 30, stateDir });
      await write(file, { count: 3, stateDir });
      edit(file, (lines) => [...lines.slice(0, 10), ...lines.slice(32)]);
      expect((await check(file)).findings).toEqual([{ verdict: "cut", chain, n: 32 }]);
    });
  });

  describe("a chain that was taken out whole", () => {
    test("is missing, by the chain after it; one that is the last, by the state directory", async () => {
      const [file, stateDir] = [newFile(), join(dir, "state-missing")];
      const chains: string[] = [];
      for (let index = 0; index < 4; index++) chains.push(await write(file, { count: 3, stateDir }));
      const lines = linesOf(file);
      const without = (chain = "") => lines.filter((line) => JSON.parse(line).chain !== chain);
      save(file, without(chains[1]));
      expect((await check(file)).findings).toEqual([{ verdict: "missing", chain: chains[1], n: 5 }]);
      save(file, without(chains[3]));
      expect((await check(file)).intact).toBe(true);
      expect((await check(file, { state: stateDir })).findings).toEqual([
        { verdict: "missing", chain: chains[3], n: 5 },
      ]);
    });

    test("is older where it was rotated away", async () => {
      const [file, stateDir] = [newFile(), join(dir, "state-older")];
      const first = await write(file, { count: 3, stateDir });
      await new Promise((resolve) => setTimeout(resolve, 2));
      await write(file, { count: 3, stateDir });
      edit(file, (lines) => lines.slice(5));
      expect(await check(file, { state: stateDir })).toMatchObject({ intact: true, older: [first] });
    });
  });

  describe("several files", () => {
    test("that were rotated hold one chain, and a line moved between them shows", async () => {
      const file = newFile();
      await write(file, { count: 300, maxBytes: 20_000 });
      const files = await listLogFiles(file);
      expect(files.length).toBeGreaterThan(3);
      expect(await check(file)).toMatchObject({
        intact: true,
        lines: 302,
        chains: [{ from: 1, to: 302, end: "ended" }],
      });
      const [oldest = "", next = ""] = files;
      const moved = linesOf(oldest)[4] ?? "";
      edit(oldest, (lines) => replaced(lines, 4));
      edit(next, (lines) => [...lines, moved]);
      expect((await check(file)).findings).toMatchObject([{ verdict: "moved", file: next, n: 5 }]);
    });

    test("of which the oldest are gone begin where they begin; one gone from the middle shows", async () => {
      const file = newFile();
      await write(file, { count: 300, maxBytes: 20_000 });
      const [oldest = "", ...others] = await listLogFiles(file);
      const { length } = linesOf(oldest);
      rmSync(oldest);
      expect(existsSync(file)).toBe(true);
      expect(await check(file)).toMatchObject({ intact: true, chains: [{ from: length + 1, to: 302 }] });
      save(others[1] ?? "", []);
      expect((await check(file)).findings).toMatchObject([{ verdict: "removed" }]);
    });

    test("that logrotate renamed by date hold one chain, given as a shell lists them", async () => {
      const file = newFile();
      const audit = await openAuditFile(file, () => {}, { signer });
      const names = [`${file}-20260130`, `${file}-20260131`];
      for (const name of names) {
        audit.write(record(1));
        await audit.written();
        renameSync(file, name);
        audit.look();
      }
      audit.write(record(2));
      await audit.close();
      const files = sortOldestFirst([file, ...names]);
      expect(files).toEqual([...names, file]);
      const given = [file, `${file}.1`, `${file}.10.gz`, `${file}.2.gz`, `${file}.3`];
      const byAge = ["10.gz", "3", "2.gz", "1"].map((age) => `${file}.${age}`);
      expect(sortOldestFirst(given)).toEqual([...byAge, file]);
      expect(sortOldestFirst([file, `${file}-20260130.gz`, `${file}-20260131`])[0]).toBe(`${file}-20260130.gz`);
      const report = await verifyAudit(
        files.map((name) => ({ name, lines: readLines(name) })),
        { verifySignature },
      );
      expect(report).toMatchObject({ intact: true, lines: 5, chains: [{ chain: audit.chain, from: 1, to: 5 }] });
      expect(await check(file)).toMatchObject({ intact: true, chains: [{ from: 4, to: 5, end: "ended" }] });
    });

    test("that two processes write at once hold two chains", async () => {
      const file = newFile();
      const options = { count: 200, maxBytes: 20_000 };
      const chains = await Promise.all([write(file, options), write(file, options)]);
      const report = await check(file);
      expect(report).toMatchObject({ intact: true, lines: 404 });
      expect(report.chains.map(({ chain }) => chain).sort()).toEqual(chains.sort());
    });
  });

  test("a minute after a record there is a checkpoint, and none without records", async () => {
    const file = newFile();
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "performance"] });
    try {
      const audit = await openAuditFile(file, () => {}, { signer });
      audit.write(record(1));
      jest.advanceTimersByTime(60_000);
      jest.advanceTimersByTime(600_000);
      audit.write(record(2));
      jest.useRealTimers();
      await audit.close();
    } finally {
      jest.useRealTimers();
    }
    expect(linesOf(file).map((line) => Object.hasOwn(JSON.parse(line), "checkpoint"))).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
  });
});
