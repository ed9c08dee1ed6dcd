// An operator gives a lead agent a folder, the lead gives a worker a part of it, the worker is refused outside that part,
// and once the lead's grant is revoked the worker is refused everywhere. Run: node examples/delegation.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVenue, mintIdentity, mintUcan, newSeed, signingKeyFromSeed } from "venue-files";

const home = await mkdtemp(join(tmpdir(), "delegation-"));
await mkdir(join(home, "files/reports/drafts"), { recursive: true });
await writeFile(join(home, "files/reports/summary.txt"), "for the lead\n");
await writeFile(join(home, "files/reports/drafts/one.txt"), "for the worker\n");

// The operator is whoever holds the venue's own key: it owns every root that names no other owner.
const operatorSeed = newSeed();
const [operator, lead, worker] = [operatorSeed, newSeed(), newSeed()].map(signingKeyFromSeed);
const venue = await createVenue({
  port: 0,
  seed: Buffer.from(operatorSeed).toString("hex"),
  stateDir: join(home, "state"),
  auth: { public: { caps: [] } },
  file: { roots: { docs: join(home, "files") } },
});
const { url } = await venue.listen();

/** Calls an operation as the holder of a key, with the tokens that key was given. */
async function call(key, operation, input, ucans = []) {
  const identity = mintIdentity({ key, audience: venue.did });
  const response = await fetch(`${url}/api/v1/invoke`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${identity}` },
    body: JSON.stringify({ operation, input, ucans, wait: true }),
  });
  const { status, output, error, errorCode, errorData } = await response.json();
  return { status, output, error, errorCode, reasons: errorData?.reasons };
}

try {
  const toLead = await mintUcan({
    key: operator,
    audience: lead.did,
    capabilities: [{ with: "file://docs/reports/", can: "crud" }],
    lifetimeSeconds: 3600,
  });
  const toWorker = await mintUcan({
    key: lead,
    audience: worker.did,
    capabilities: [{ with: "file://docs/reports/drafts/", can: "crud/read" }],
    lifetimeSeconds: 600,
    proofs: [toLead.token],
  });
  const read = (path) => call(worker, "v/ops/file/read", { root: "docs", path }, [toWorker.token]);

  const allowed = await read("reports/drafts/one.txt");
  console.log("The worker reads its folder:      ", JSON.stringify(allowed.output.content));
  assert.equal(allowed.output.content, "for the worker\n");

  const outside = await read("reports/summary.txt");
  console.log("The worker reads outside of it:   ", outside.error);
  assert.deepEqual([outside.errorCode, outside.reasons], ["CAPABILITY_DENIED", ["not_covered"]]);

  const revoked = await call(operator, "v/ops/ucan/revoke", { id: toLead.id });
  console.log("The operator revokes the lead's grant:", revoked.status);
  assert.equal(revoked.status, "COMPLETE");

  const refused = await read("reports/drafts/one.txt");
  console.log("The worker reads its folder again:", refused.error);
  assert.deepEqual([refused.errorCode, refused.reasons], ["CAPABILITY_DENIED", ["revoked"]]);
} finally {
  await venue.close();
  await rm(home, { recursive: true });
}
