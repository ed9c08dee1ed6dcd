// Who did what, in an embedded venue: every call, refused ones included, is one line of the audit file. Other lines are
// signed checkpoints, by which `venue-files audit verify` finds changes.
// Run: node examples/audit.mjs
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVenue } from "venue-files";

const home = await mkdtemp(join(tmpdir(), "audit-"));
const venue = await createVenue({
  port: 0,
  stateDir: false,
  auth: { public: { caps: [{ with: "file://tmp/in/", can: "crud" }] } },
  audit: { file: join(home, "audit.jsonl") },
  file: { roots: { tmp: { temp: true } } },
});
const { url } = await venue.listen();
const call = (operation, input) =>
  fetch(`${url}/api/v1/invoke`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ operation, input: { root: "tmp", ...input }, wait: true }),
  });
try {
  await call("file:write", { path: "in/a.txt", content: "hello", parents: true });
  await call("file:read", { path: "secret.txt" });
} finally {
  await venue.close();
}
const lines = (await readFile(join(home, "audit.jsonl"), "utf8")).trim().split("\n");
const records = lines.map((line) => JSON.parse(line)).filter(({ checkpoint }) => checkpoint === undefined);
for (const { caller, operation, resource, outcome } of records) console.log(caller, operation, resource, outcome);
assert.deepEqual(
  records.map(({ operation, outcome }) => [operation, outcome]),
  [
    ["file:write", "OK"],
    ["file:read", "CAPABILITY_DENIED"],
  ],
);
await rm(home, { recursive: true });
