// An operator issues an access token for one folder, an agent works with it and follows its changes, and the operator ends it.
// Overwriting waits for the operator: the root asks. Run: node examples/access-token.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVenue } from "venue-files";

const home = await mkdtemp(join(tmpdir(), "access-token-"));
await mkdir(join(home, "files/inbox"), { recursive: true });
await writeFile(join(home, "files/inbox/note.txt"), "first\n");
await writeFile(join(home, "files/plans.txt"), "secret\n");

const venue = await createVenue({
  port: 0,
  seedFile: join(home, "venue.seed"),
  stateDir: join(home, "state"),
  auth: { public: { caps: [] } },
  file: { roots: { docs: { path: join(home, "files"), approve: { for: ["overwrite"] } } } },
});
const { url } = await venue.listen();

/** Runs an operation with a bearer token. */
async function run(bearer, operation, input = {}) {
  const response = await fetch(`${url}/api/v1/run`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ operation, input }),
  });
  return { status: response.status, ...(await response.json()) };
}

try {
  const operator = venue.localToken;
  const caps = [{ with: "file://docs/inbox/", can: "crud" }];
  const { id, token } = await run(operator, "auth:issue", { label: "agent", caps, lifetimeSeconds: 600 });

  const read = await run(token, "file:read", { root: "docs", path: "inbox/note.txt" });
  console.log("The agent reads its folder:  ", JSON.stringify(read.content));
  assert.equal(read.content, "first\n");

  const outside = await run(token, "file:read", { root: "docs", path: "plans.txt" });
  console.log("The agent reads outside:     ", outside.errorCode);
  assert.equal(outside.errorCode, "CAPABILITY_DENIED");

  // It follows what happens in its folder.
  const { cursor } = await run(token, "file:watch", { root: "docs", path: "inbox" });

  const change = { root: "docs", path: "inbox/note.txt", content: "second\n" };
  const asked = await run(token, "file:write", change);
  const { approvalId, diff } = asked.errorData;
  console.log("The agent overwrites a file: ", asked.errorCode);
  assert.equal(asked.errorCode, "APPROVAL_REQUIRED");

  // The operator signs in by a link, as a person does, and decides.
  const link = await run(operator, "auth:issue", { label: "person", link: true });
  const login = await fetch(`${url}/api/v1/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code: new URL(link.url).hash.slice("#login=".length) }),
  });
  const person = (await login.json()).token;
  console.log(diff.trimEnd());
  const decided = await run(person, "approval:decide", { id: approvalId, decision: "once" });
  console.log("The operator decides:        ", decided.state);
  const written = await run(token, "file:write", { ...change, approval: approvalId });
  assert.equal(written.written, 7);

  const { events } = await run(token, "file:watch", { root: "docs", path: "inbox", cursor, waitMs: 5000 });
  console.log("The agent hears of changes:  ", events[0].type, events[0].path);
  assert.deepEqual([events[0].type, events[0].path], ["modified", "inbox/note.txt"]);

  // What the token did is its maker's to see.
  const jobs = await fetch(`${url}/api/v1/jobs`, { headers: { Authorization: `Bearer ${operator}` } });
  assert.equal(jobs.status, 200);
  const [entry] = (await run(operator, "auth:list", { kind: "access" })).entries;
  console.log("The list shows it:           ", entry.label, JSON.stringify(entry.grants));
  assert.equal(entry.id, id);

  await run(operator, "auth:revoke", { id });
  const late = await run(token, "file:read", { root: "docs", path: "inbox/note.txt" });
  console.log("After the token is revoked:  ", late.status, late.error);
  assert.equal(late.status, 401);
} finally {
  await venue.close();
  await rm(home, { recursive: true });
}
