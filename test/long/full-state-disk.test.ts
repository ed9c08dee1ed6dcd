// Taking rights away where the disk of the state directory is full.

import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder, type Running, startNode } from "../cli/process.js";
import { mounted, mountsPossible } from "../jail/start-child.js";
import { bodyOf, outcome, run as runOverHttp, send } from "../surfaces/http/client.js";

const folder = makeFolder({ "docs/a.md": "one\n" });
const state = join(folder, "state");
mkdirSync(state, { mode: 0o700 });
const mount = `mount -t tmpfs -o size=256k,mode=700 tmpfs ${state}`;
const { possible, reason } = mountsPossible(mount);
const maybe = possible ? test : test.skip;
const config = join(folder, "venue.json5");
writeFileSync(
  config,
  `{ port: 0, seedFile: "venue.seed", stateDir: "state",
     file: { roots: { docs: { path: "docs", journal: "off", approve: { for: ["overwrite"] } } } } }`,
);

let holder: ChildProcess;
let served: Running & { url: string };
const inside = (): string => `/proc/${holder.pid}/root${state}`;
const under = (): string[] => ["nsenter", "--target", `${holder.pid}`, "--mount", "--wd=/"];

async function serve(): Promise<typeof served> {
  const running = startNode([CLI, "serve", "--config", config], { cwd: folder, under: under() });
  const [, url = ""] = await running.until(/listens on (\S+)\n[\s\S]*Stop with Ctrl-C/);
  return { ...running, url };
}

const venueFiles = (...args: readonly string[]) =>
  startNode([CLI, ...args, "--config", config], { cwd: folder, under: under() }).ended;

const run = (operation: string, input: object, bearer = localToken()) =>
  outcome<Record<string, unknown>>(runOverHttp(served.url, operation, input, bearer));

const localToken = (): string => readFileSync(join(inside(), "local-token"), "utf8").trim();
const issue = async (input: object, bearer?: string): Promise<{ id: string; token: string }> =>
  (await run("auth:issue", { label: "test", ...input }, bearer)).body as { id: string; token: string };
/** As a person does, who may decide what tokens of the operator ask for. */
async function logIn(): Promise<string> {
  const { body } = await run("auth:issue", { label: "person", link: true });
  const [, code] = /#login=(.*)$/.exec(String(body["url"])) ?? [];
  return (await bodyOf<{ token: string }>(send(`${served.url}/api/v1/login`, { json: { code } }))).token;
}
const statusWith = async (bearer: string): Promise<number> => (await run("auth:whoami", {}, bearer)).status;

function fill(): void {
  const file = join(inside(), "filler");
  for (const size of [4096, 256, 1]) {
    try {
      for (let count = 0; count < 1000; count += 1) appendFileSync(file, "x".repeat(size));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  }
  expect(() => appendFileSync(file, "x")).toThrow("ENOSPC");
}

const CAPS = [{ with: "file://docs/", can: "crud" }];
const idOf = (index: number): string => `${index}`.padStart(42, "x").concat("A");

beforeAll(async () => {
  if (!possible) return;
  const [command = "", ...args] = [...mounted(mount), "sleep", "600"];
  holder = spawn(command, args, { stdio: "ignore" });
  while (!readFileSync(`/proc/${holder.pid}/mounts`, "utf8").includes(state)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  served = await serve();
});
afterAll(async () => {
  if (possible) {
    await served.stop();
    holder.kill();
  }
  await cleanUp();
});

describe(`on a full disk of the state directory${reason}`, () => {
  maybe("tokens, sessions, UCANs and approvals are taken away, over a restart too", async () => {
    const [agent, session, asking] = [await issue({ caps: CAPS }), await issue({}), await issue({ caps: CAPS })];
    const through = await issue({ caps: CAPS }, session.token);
    const person = await logIn();
    const write = { root: "docs", path: "a.md", content: "two\n" };
    const asked = await run("file:write", write, asking.token);
    const { approvalId } = asked.body["errorData"] as { approvalId: string };
    // The list is there, and has no room at its end.
    await run("ucan:revoke", { id: idOf(1) });
    fill();
    expect(await statusWith(through.token)).toBe(200);
    expect(await run("auth:revoke", { id: agent.id })).toMatchObject({ status: 200, body: { revoked: true } });
    expect(await run("auth:revoke", { id: session.id })).toMatchObject({ status: 200, body: { revoked: true } });
    const many = Array.from({ length: 90 }, (_, index) => idOf(index + 2));
    for (const id of many) expect((await run("ucan:revoke", { id })).status).toBe(200);
    expect(await run("approval:decide", { id: approvalId, decision: "deny" }, person)).toMatchObject({
      ...{ status: 200, body: { state: "denied" } },
    });
    expect(await run("file:write", { ...write, approval: approvalId }, asking.token)).toMatchObject({
      ...{ status: 403, body: { errorCode: "APPROVAL_DENIED", errorData: { reason: "denied" } } },
    });
    const refused = [agent, session, through].map(({ token }) => token);
    for (const token of refused) expect(await statusWith(token)).toBe(401);
    expect((await served.stop()).status).toBe(0);
    served = await serve();
    for (const token of refused) expect(await statusWith(token)).toBe(401);
    const again = await venueFiles("revoke", idOf(1), idOf(91));
    expect(again.stdout).toBe(`${idOf(1)} was revoked already\n${idOf(91)} was revoked already\n`);
  });

  maybe("what cannot be kept any more holds, and the caller is told what to do", async () => {
    const many = Array.from({ length: 200 }, (_, index) => idOf(index + 200));
    const answers: Awaited<ReturnType<typeof run>>[] = [];
    for (const id of many) answers.push(await run("ucan:revoke", { id }));
    expect(answers.at(-1)).toMatchObject({
      status: 507,
      body: { errorCode: "NO_SPACE", error: expect.stringMatching(/until the venue restarts.*Free space there/) },
    });
    writeFileSync(join(inside(), "filler"), "");
    expect(await run("ucan:revoke", { id: idOf(399) })).toMatchObject({ status: 200 });
    const list = readFileSync(join(inside(), "revocations"), "utf8");
    for (const id of [idOf(2), idOf(91), idOf(399)]) expect(list).toContain(`${id}\n`);
  });
});
