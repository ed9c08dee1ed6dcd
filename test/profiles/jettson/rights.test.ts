import { describe, expect, test } from "@jest/globals";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import type { AuditRecord } from "../../../src/audit/record.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { createFileAdapter, createProfile, mintUcan, newSeed, signingKeyFromSeed } from "../../../src/index.js";
import { openProfile } from "../../../src/profiles/create-profile.js";

const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });
const calls: readonly [string, object, string][] = [
  ["read", {}, "crud/read"],
  ["list", {}, "crud/read"],
  ["write", { content: "x" }, "crud/write"],
  ["delete", {}, "crud/delete"],
];

async function open() {
  const audit: AuditRecord[] = [];
  const adapter = await assembleAdapter(parseFileConfig({ roots: { r: { temp: true } } }, { baseDir: "/" }), {
    discloseHostPaths: false,
    audit: { write: (record) => void audit.push(record), close: async () => {} },
  });
  const jettson = openProfile(adapter, { profile: "jettson", root: "r", prefix: "s" }, { name: "mine" });
  await jettson.call("jettson_files_write", { path: "there/f", content: "1" });
  audit.length = 0;
  return { adapter, audit, jettson };
}

describe("rights", () => {
  test("a denial is the same whether the file is there, and names what is needed of the root itself", async () => {
    const { adapter, jettson } = await open();
    try {
      for (const path of ["there/f", "there", "nowhere", "nowhere/f"]) {
        for (const [tool, more, can] of calls) {
          const answer = await jettson.call(`jettson_files_${tool}`, { path, ...more }, { caps: [] });
          expect(answer).toEqual(rejected(`permission denied: requires ${can} on file://r/…/${path}`));
        }
      }
    } finally {
      await adapter.close();
    }
  });

  test("what caps give is what can be done", async () => {
    const { adapter, jettson } = await open();
    try {
      const caps = [{ with: "file://r/s/there/", can: "crud/read" }];
      const call = (tool: string, args: object) => jettson.call(`jettson_files_${tool}`, args, { caps });
      expect(await call("read", { path: "there/f" })).toMatchObject({ content: "1" });
      expect(await call("list", { path: "there" })).toMatchObject({ path: "there" });
      expect(await call("list", {})).toEqual(rejected("permission denied: requires crud/read on file://r/…"));
      expect(await call("write", { path: "there/f", content: "" })).toEqual(
        rejected("permission denied: requires crud/write on file://r/…/there/f"),
      );
    } finally {
      await adapter.close();
    }
  });

  test("a UCAN gives its bearer what it says, on the real paths of the root", async () => {
    const [owner, bearer] = [signingKeyFromSeed(newSeed()), signingKeyFromSeed(newSeed())];
    const adapter = await createFileAdapter({ roots: { r: { temp: true, owner: owner.did } } });
    try {
      const jettson = createProfile(adapter, { profile: "jettson", root: "r", prefix: "s" });
      await jettson.call("jettson_files_write", { path: "f", content: "1" });
      const capabilities = [{ with: "file://r/s/", can: "crud/read" }];
      const { token } = await mintUcan({ key: owner, audience: bearer.did, capabilities });
      const context = { callerDID: bearer.did, ucans: [token] };
      expect(await jettson.call("jettson_files_read", { path: "f" }, { callerDID: bearer.did })).toHaveProperty(
        "error",
      );
      expect(await jettson.call("jettson_files_read", { path: "f" }, context)).toMatchObject({ content: "1" });
      expect(await jettson.call("jettson_files_delete", { path: "f" }, context)).toHaveProperty("error");
    } finally {
      await adapter.close();
    }
  });
});

describe("the audit", () => {
  test("has a record of every call: of what was done, by which tool, or of what was refused before that", async () => {
    const { adapter, audit, jettson } = await open();
    try {
      await jettson.call("jettson_files_read", { path: "there/f" }, { callerDID: "did:web:a.example" });
      await jettson.call("jettson_files_read", { path: "there/f" });
      await jettson.call("jettson_files_read", { path: "../f" });
      await jettson.call("jettson_files_read", {});
      const tool = "mine:jettson_files_read";
      expect(audit.map(({ time, ms, via, ...record }) => record)).toEqual([
        {
          ...{ caller: "did:web:a.example", operation: "file:read", tool, resource: "file://r/s/there/f" },
          ...{ outcome: "CAPABILITY_DENIED", bytes: 0 },
          denied: { required: { with: "file://r/s/there/f", can: "crud/read" }, have: [] },
        },
        { caller: "operator", operation: "file:read", tool, resource: "file://r/s/there/f", outcome: "OK", bytes: 1 },
        { caller: "operator", operation: tool, resource: "file://r/", outcome: "PATH_ESCAPES_ROOT", bytes: 0 },
        { caller: "operator", operation: tool, resource: "file://r/", outcome: "INVALID_INPUT", bytes: 0 },
      ]);
    } finally {
      await adapter.close();
    }
  });
});
