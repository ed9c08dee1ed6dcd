// An operator issues an access token for one folder, an agent works with it and follows its events, and the operator ends it.
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

/** Follows topics as server-sent events. @returns gives one event a call; `undefined` at the end of the stream */
async function follow(bearer, ...topics) {
  const query = topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
  const headers = { Authorization: `Bearer ${bearer}` };
  const { body } = await fetch(`${url}/api/v1/events?${query}`, { headers });
  const chunks = body.pipeThrough(new TextDecoderStream()).values();
  let text = "";
  return async () => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end < 0) {
        const { value, done } = await chunks.next();
        if (done) return undefined;
        text += value;
        continue;
      }
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const [, event] = /^event: (.*)$/m.exec(block) ?? [];
      const [, data = "{}"] = /^data: (.*)$/m.exec(block) ?? [];
      if (event !== undefined) return { event, ...JSON.parse(data) };
    }
  };
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

  // It follows what happens in its folder, and to its requests.
  const next = await follow(token, "files:docs/inbox", "approval");

  const change = { root: "docs", path: "inbox/note.txt", content: "second\n" };
  const asked = await run(token, "file:write", change);
  const { approvalId, diff } = asked.errorData;
  console.log("The agent overwrites a file: ", asked.errorCode);
  assert.equal(asked.errorCode, "APPROVAL_REQUIRED");
  assert.equal((await next()).state, "pending");

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
  const heard = await next();
  console.log("The agent hears of it:       ", heard.event, heard.state);
  assert.deepEqual([heard.event, heard.state], ["approval", "once"]);
  const written = await run(token, "file:write", { ...change, approval: approvalId });
  assert.equal(written.written, 7);

  // The approval is used, and the file has changed; which of the two is told first does not matter.
  const told = [await next(), await next()];
  const changed = told.find(({ event }) => event === "files:docs/inbox");
  console.log("The agent hears of changes:  ", changed.type, changed.path);
  assert.deepEqual([changed.type, changed.path], ["modified", "inbox/note.txt"]);
  assert.equal(told.find(({ event }) => event === "approval").state, "used");

  // What the token did is its maker's to see.
  const jobs = await fetch(`${url}/api/v1/jobs`, { headers: { Authorization: `Bearer ${operator}` } });
  assert.equal(jobs.status, 200);
  const [entry] = (await run(operator, "auth:list", { kind: "access" })).entries;
  console.log("The list shows it:           ", entry.label, JSON.stringify(entry.grants));
  assert.equal(entry.id, id);

  await run(operator, "auth:revoke", { id });
  const last = await next();
  console.log("The stream of its events:    ", last.event);
  assert.deepEqual([last.event, await next()], ["end", undefined]);
  const late = await run(token, "file:read", { root: "docs", path: "inbox/note.txt" });
  console.log("After the token is revoked:  ", late.status, late.error);
  assert.equal(late.status, 401);
} finally {
  await venue.close();
  await rm(home, { recursive: true });
}
