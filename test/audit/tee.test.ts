import { expect, test } from "@jest/globals";
import type { AuditRecord, AuditSink } from "../../src/audit/record.js";
import { teeSink } from "../../src/audit/record.js";

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
