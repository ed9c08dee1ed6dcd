import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Callers } from "../../../src/cli/calls/callers.js";
import { changesOf } from "../../../src/cli/files/makers.js";
import type { FileSession } from "../../../src/cli/files/session.js";
import { createVenue } from "../../../src/index.js";
import { bodyOf, run as runOverHttp } from "../../surfaces/http/client.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

const FILES = ["one.md", "two.md", "three.md"];
const CONFIG = {
  ...{
    port: 0,
    stateDir: "state",
    seed: "17".repeat(32),
    log: { file: "venue.log" },
    file: { roots: { docs: "docs" } },
  },
  auth: { tokens: [{ name: "gemini", token: { env: "GEMINI" }, caps: [{ with: "file://docs/", can: "crud" }] }] },
};
const folder = makeFolder({
  ...Object.fromEntries(FILES.map((name) => [`docs/${name}`, "before\n"])),
  "venue.json5": JSON.stringify(CONFIG),
});
const run = (...args: readonly string[]) => runHere([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder });
const text = (name: string): string => readFileSync(join(folder, "docs", name), "utf8");
const issued: { readonly id: string; readonly token: string }[] = [];

beforeAll(async () => {
  const env = { GEMINI: "g".repeat(40) };
  const venue = await createVenue(CONFIG, { baseDir: folder, env });
  const { url } = await venue.listen();
  const call = async (token: string | undefined, operation: string, input: object) => {
    const response = await runOverHttp(url, operation, input, token);
    expect(response.status).toBe(200);
    return bodyOf<{ id: string; token: string }>(response);
  };
  for (const label of ["claude", "codex", "claude"]) {
    const caps = [{ with: "file://docs/", can: "crud" }];
    issued.push(await call(venue.localToken, "auth:issue", { label, caps }));
  }
  for (const [index, name] of FILES.entries()) {
    await call(issued[index]?.token, "file:write", { root: "docs", path: name, content: `by ${index}\n` });
  }
  await call(env.GEMINI, "file:write", { root: "docs", path: "four.md", content: "by gemini\n" });
  await venue.close();
});
afterAll(cleanUp);

const idOf = (index: number): string => issued[index]?.id ?? "";

test("a venue elsewhere tells the labels that the caller may list", async () => {
  const venue = await createVenue(CONFIG, { baseDir: folder, env: { GEMINI: "g".repeat(40) } });
  const { url } = await venue.listen();
  const remote = (token: string | undefined, ...args: readonly string[]) =>
    runHere([...args, "--url", url, "--token", "env:TOKEN"], { cwd: folder, tmp: folder, env: { TOKEN: token ?? "" } });
  const listed = await remote(venue.localToken, "history", "--actor", "codex");
  expect(listed.stdout).toMatch(/ codex http .* docs:two\.md\n$/);
  const other = await remote(issued[0]?.token, "history");
  expect(other.stdout).toContain(` access:${idOf(1).slice(0, 8)} http `);
  expect(other.stdout).not.toContain("codex");
  await venue.close();
});

test("nobody passes for the operator, or for another token, by a label", () => {
  const [did, other] = ["3f", "4a"].map((start) => `did:key:z6MkVenue:access:${start.repeat(16)}`);
  const callers = new Callers([
    { label: "operator", did: did ?? "", id: "3f".repeat(16) },
    { label: "a\u001b[2K", id: "4a".repeat(16) },
  ]);
  expect([did, other, "operator"].map((actor) => callers.nameOf(actor ?? ""))).toEqual([
    "operator (3f3f3f3f)",
    "a\\u{1b}[2K",
    "operator",
  ]);
  // A did:web may end like the DID of those without credentials, and is somebody.
  const actors = ["did:key:z6MkVenue:public", "did:web:example.com:public"];
  expect(actors.map((actor) => callers.nameOf(actor))).toEqual(["anonymous", "did:web:example.…blic"]);
  expect(callers.actorOf("anonymous", [{ actor: actors[0] ?? "", via: "v" }])).toBe(actors[0]);
  const named = new Callers([{ label: "anonymous", id: "3f".repeat(16) }]);
  expect(named.nameOf(did ?? "")).toBe("anonymous (3f3f3f3f)");
  const entries = [did, "operator"].map((actor) => ({ actor: actor ?? "", via: "v" }));
  expect(callers.actorOf("operator", entries)).toBe("operator");
});

describe("the makers of changes", () => {
  test("are called by the labels of their tokens, those with one label by their ids too", async () => {
    const { stdout, stderr } = await run("history");
    expect(stderr).toBe("");
    expect(stdout.split("\n").map((line) => / {2}(\S+(?: \(\w+\))?) http /.exec(line)?.[1])).toEqual([
      "gemini",
      `claude (${idOf(2).slice(0, 8)})`,
      "codex",
      `claude (${idOf(0).slice(0, 8)})`,
      undefined,
    ]);
  });

  test.each([
    ["a label", () => ["--actor", "codex"], 1],
    ["the name of a configured token", () => ["--actor", "gemini"], 1],
    ["the beginning of an id", () => ["--actor", idOf(2).slice(0, 6)], 1],
    ["what a line shows", () => ["--actor", `claude (${idOf(0).slice(0, 8)})`], 1],
    ["the label of a credential", () => ["--via", "codex"], 1],
    ["the beginning of the id of a credential", () => ["--via", idOf(0).slice(0, 5)], 1],
    ["a label, for changes since", () => ["--actor", "codex", "--since", "1h"], 1],
  ])("are found by %s", async (_, args, count) => {
    const { stdout, status } = await run("history", ...args());
    expect([status, stdout.trimEnd().split("\n").length]).toEqual([0, count]);
  });

  test("are listed where a name means several, and where it means nobody", async () => {
    const several = await run("history", "--actor", "claude");
    expect([several.status, several.stdout]).toEqual([64, ""]);
    expect(several.stderr).toContain("'claude' means several. Give the id of one:");
    for (const index of [0, 2]) expect(several.stderr).toContain(`:access:${idOf(index)}`);
    const nobody = await run("undo", "--actor", "cluade", "-n");
    expect(nobody.stderr).toContain("Nothing was recorded of 'cluade'. There are changes by gemini, claude (");
  });

  test("lose what they did since a time, and nobody else does", async () => {
    const looked = await run("undo", "--actor", "codex", "--since", "2h", "-n");
    expect(looked.stdout).toContain("would restore two.md\nNothing was changed.");
    expect(text("two.md")).toBe("by 1\n");
    expect(await run("undo", "--actor", "codex", "--since", "2h", "-y")).toMatchObject({ status: 0 });
    expect(FILES.map(text)).toEqual(["by 0\n", "before\n", "by 2\n"]);
  });

  test("lose the last that they did, and their last session, by name", async () => {
    expect(await run("undo", "--actor", idOf(2).slice(0, 8), "-y")).toMatchObject({ status: 0 });
    expect(FILES.map(text)).toEqual(["by 0\n", "before\n", "before\n"]);
    expect(await run("undo", "--session", idOf(0), "-y")).toMatchObject({ status: 0 });
    expect(text("one.md")).toBe("before\n");
    expect((await run("undo", "--session", "gemini", "--last", "2")).status).toBe(64);
  });
});

/** A session in which there are so many pages of changes. */
function sessionWith(pages: number) {
  const told: string[] = [];
  let page = 0;
  const session = {
    context: { stderr: { write: (text: string) => told.push(text) } },
    invoke: async () => ({
      entries: Array.from({ length: 500 }, () => ({})),
      ...(++page < pages ? { nextCursor: `${page}` } : {}),
    }),
  };
  return { session: session as unknown as FileSession, told };
}

test("changes that are not looked through are told of", async () => {
  const all = sessionWith(40);
  expect(await changesOf({}, all.session)).toHaveLength(20_000);
  expect(all.told).toEqual([]);
  const some = sessionWith(41);
  expect(await changesOf({}, some.session)).toHaveLength(20_000);
  expect(some.told).toEqual(["venue-files: looked through the newest 20000 changes only\n"]);
});
