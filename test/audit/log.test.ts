import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openAuditFile } from "../../src/audit/audit-file.js";
import { AuditLog, type AuditPage, type AuditQuery } from "../../src/audit/log.js";
import type { AuditRecord } from "../../src/audit/record.js";
import { listLogFiles } from "../../src/audit/verify.js";
import { auditSigner } from "../../src/venue/start/audit-signer.js";

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
    expect(records).toEqual([{ ...record(COUNT - 1), chain: expect.stringMatching(/^.{16}$/), n: expect.any(Number) }]);
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
