import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, type Log, type LogFields, type Venue } from "../../../src/index.js";
import { newKeyPair } from "../../clients/key-pair.js";
import { send as sendHttp } from "../../surfaces/http/client.js";

const STATIC = "static-token-static-token-static-token";
const SECRET = "s3cret-content-of-a-file";
const lines: string[] = [];
const line = (fields: LogFields, text: string) =>
  void lines.push(JSON.stringify({ ...fields, text, err: String(fields["err"]) }));
const log: Log = { debugs: true, debug: line, info: line, warn: line, error: line };

let base: string;
let venue: Venue;
const answers: string[] = [];
const secrets: string[] = [STATIC, SECRET];

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  mkdirSync(join(base, "docs"));
  writeFileSync(join(base, "docs/a.txt"), "alpha");
  writeFileSync(join(base, "ci.token"), STATIC);
  venue = await createVenue(
    {
      ...{ port: 0, stateDir: "state", seedFile: "venue.seed", audit: { file: "audit.jsonl" } },
      auth: { tokens: [{ name: "ci", token: { file: "ci.token" }, caps: [{ with: "file://docs/", can: "crud" }] }] },
      file: { discloseHostPaths: false, roots: { docs: "docs" } },
    },
    { baseDir: base, log },
  );
  venue.register({
    name: "broken",
    description: "Fails.",
    operations: [{ name: "broken:fail", description: "Fails with a path." }],
    invoke: async () => {
      readFileSync(join(base, "no/such/file"));
    },
  });
  await venue.listen();
  await callEverything();
});
afterAll(async () => {
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

async function send(method: string, path: string, init: { token?: string; body?: unknown } = {}): Promise<void> {
  const response = await sendHttp(venue.url + path, { method, token: init.token, json: init.body });
  answers.push(`${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`);
}

/** Right and wrong tokens, everywhere, with operations that succeed, are denied, and fail. */
async function callEverything(): Promise<void> {
  const alice = newKeyPair();
  const grant = [{ with: "file://docs/", can: "crud" }];
  const right = [venue.localToken ?? "", STATIC, alice.identity(venue.did)];
  const wrong = [
    ...right.map((token) => `${token.slice(0, -2)}xx`),
    alice.identity("did:key:z6MkOther"),
    alice.delegation(newKeyPair().did, grant),
  ];
  secrets.push(...right, ...wrong, readFileSync(join(base, "venue.seed"), "utf8").trim());
  for (const token of [...right, ...wrong, undefined]) {
    const who = token === undefined ? {} : { token };
    const input = { root: "docs", path: "a.txt" };
    for (const [operation, more] of [
      ["file:read", {}],
      ["file:write", { content: SECRET }],
      ["file:read", { path: "no/such" }],
      ["broken:fail", {}],
      ["file:roots", undefined],
    ] as const) {
      const body = { operation, input: more === undefined ? {} : { ...input, ...more }, wait: true };
      await send("POST", "/api/v1/invoke", { ...who, body: { ...body, ucans: [alice.delegation(venue.did, grant)] } });
      await send("POST", "/api/v1/invoke", { ...who, body: { ...body, operation: operation.replace("read", "stat") } });
    }
    for (const path of ["/api/v1/status", "/api/v1/jobs", "/api/v1/assets", "/nope", "/metrics", "/openapi.json"]) {
      await send("GET", path, who);
    }
  }
}

describe("nothing that was said or written while everything was called", () => {
  const texts = (): [string, string[]][] => [
    ["answers", answers],
    ["log lines", lines],
    ["audit records", [readFileSync(join(base, "audit.jsonl"), "utf8")]],
  ];

  test("is empty, or this test would prove nothing", () => {
    expect(answers.length).toBeGreaterThan(100);
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((text) => text.includes("internal error")).length).toBeGreaterThan(3);
    expect(answers.filter((text) => text.startsWith("401")).length).toBeGreaterThan(30);
  });

  test("holds a token, a key or the content of a file", () => {
    for (const [where, all] of texts()) {
      for (const secret of secrets) {
        // What was written may be read again, by whoever may read it.
        const found = all.filter((text) => text.includes(secret) && !text.includes(`"content":"${SECRET}"`));
        expect([where, found]).toEqual([where, []]);
      }
    }
  });

  test("holds a host path", () => {
    const [[, said], , [, audited]] = texts() as [[string, string[]], unknown, [string, string[]]];
    expect([...said, ...audited].filter((text) => text.includes(base))).toEqual([]);
  });
});
