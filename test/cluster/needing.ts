// Calls that need the engine, one for each piece of what instances share, and what they leave behind.
import { expect } from "@jest/globals";
import type { VenueConfigInput } from "../../src/config/types.js";
import { type Instance, patiently } from "./instances.js";

/** Of instances that answer these calls: in one root a person is asked before each change. */
const CAPS = ["tmp", "asked"].map((root) => ({ with: `file://${root}/`, can: "crud" }));
const temp = { temp: true, perInstance: true } as const;
export const CONFIG: VenueConfigInput = {
  file: { roots: { tmp: temp, asked: { ...temp, approve: { for: ["create"] } } } },
  auth: { tokens: [{ name: "alice", token: { env: "ALICE" }, caps: CAPS }] },
};

/** Rows of all that these calls write. */
export const ROWS = ["access", "revocation", "repeat", "ticket", "approval", "dav_lock"]
  .map((table) => `(SELECT count(*) FROM ${table})`)
  .join(" + ");

const LOCK =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

const XML = { depth: "0", "content-type": "application/xml" };

type Call = (to: Instance, name: string) => Promise<Response>;

const run =
  (operation: string, input: (name: string) => object, who: "alice" | "operator" = "alice"): Call =>
  (to, name) =>
    to.ask("/api/v1/run", { method: "POST", body: JSON.stringify({ operation, input: input(name) }) }, who);

/** Status of each where the engine is there. */
export const WRITING: readonly (readonly [status: number, call: Call])[] = [
  [200, run("auth:issue", (name) => ({ label: name, caps: CAPS }), "operator")],
  [200, run("ucan:revoke", (name) => ({ id: Buffer.alloc(32, name).toString("base64url") }), "operator")],
  [200, run("file:write", (name) => ({ root: "tmp", path: name, content: name, operationId: name }))],
  [200, run("file:transfer", (name) => ({ root: "tmp", path: `${name}.bin`, direction: "upload" }))],
  [403, run("file:write", (name) => ({ root: "asked", path: name, content: name }))],
  [201, (to, name) => to.ask(`/dav/tmp/${name}.lock`, { method: "LOCK", body: LOCK, headers: XML })],
];

export const READING: typeof WRITING = [
  // Of an instance that nobody knows.
  [404, (to) => to.ask(`/api/v1/jobs/${"0".repeat(12)}fffe${"0".repeat(16)}`)],
  [401, (to, name) => to.ask("/api/v1/jobs", {}, { token: `vft_${name.padStart(43, "x")}` })],
];

/** They all say that the engine is not there, and when to come again. */
export async function expectRefused(calls: typeof WRITING, to: Instance, name: string): Promise<void> {
  const answers = await Promise.all(calls.map(([, call]) => call(to, name)));
  const told = answers.map(({ status, headers }) => [status, headers.get("retry-after")]);
  expect(told).toEqual(calls.map(() => [503, "1"]));
  for (const answer of answers) expect(await answer.text()).toContain("SHARED_STATE_UNAVAILABLE");
}

/**
 * They all do what they are for, one after another: far from the engine, many at once would wait too long for a connection. A call that
 * is told to come again, as on a busy machine, may have been made, so it then has another name.
 */
export async function expectDone(calls: typeof WRITING, to: Instance, name: string): Promise<void> {
  const told: unknown[] = [];
  for (const [, call] of calls) {
    let tries = 0;
    const answer = await patiently(() => call(to, `${name}${"x".repeat(tries++)}`));
    told.push([answer.status, answer.ok ? "" : await answer.text()]);
  }
  expect(told).toEqual(calls.map(([status]) => [status, expect.not.stringContaining("SHARED_STATE")]));
}
