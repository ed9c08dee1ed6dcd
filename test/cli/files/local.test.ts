import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Callers } from "../../../src/cli/calls/callers.js";
import { changesOf } from "../../../src/cli/files/makers.js";
import type { FileSession } from "../../../src/cli/files/session.js";
import { createVenue } from "../../../src/index.js";
import { run as runHttp } from "../../surfaces/http/client.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, type Running, serve, start } from "../process.js";
import { runFileLine } from "./file-stage.js";

afterAll(cleanUp);

describe("who made a change", () => {
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
  const run = (...args: readonly string[]) =>
    runHere([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder });
  const text = (name: string): string => readFileSync(join(folder, "docs", name), "utf8");
  const issued: { readonly id: string; readonly token: string }[] = [];

  beforeAll(async () => {
    const env = { GEMINI: "g".repeat(40) };
    const venue = await createVenue(CONFIG, { baseDir: folder, env });
    const { url } = await venue.listen();
    const call = async (token: string | undefined, operation: string, input: object) => {
      const response = await runHttp(url, operation, input, token);
      expect(response.status).toBe(200);
      return (await response.json()) as { id: string; token: string };
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

  const idOf = (index: number): string => issued[index]?.id ?? "";

  test("a venue elsewhere tells the labels that the caller may list", async () => {
    const venue = await createVenue(CONFIG, { baseDir: folder, env: { GEMINI: "g".repeat(40) } });
    const { url } = await venue.listen();
    const remote = (token: string | undefined, ...args: readonly string[]) =>
      runHere([...args, "--url", url, "--token", "env:TOKEN"], {
        cwd: folder,
        tmp: folder,
        env: { TOKEN: token ?? "" },
      });
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
});

// What a file command opens of a configuration: the file adapter, its audit and the caller, and nothing of the venue around it.
const files = (more: string) =>
  makeFolder({
    "docs/a.md": "one\n",
    "venue.json5": `{ stateDir: "state", ${more} file: { roots: { docs: "docs" } } }`,
  });

test("assets are not opened, so that a storage that cannot be is no concern of 'ls'", async () => {
  const cwd = files('storage: { content: "file", path: "docs/a.md/no" },');
  expect(await runHere(["ls", "docs:", "--config", "venue.json5"], { cwd })).toMatchObject({
    ...{ status: 0, stdout: "a.md\n" },
  });
  const whole = await runHere(["call", "auth:whoami", "--config", "venue.json5"], { cwd });
  expect(whole).toMatchObject({ status: 78, stderr: expect.stringContaining("'storage.path' cannot be opened") });
});

test("each call has its record in the audit, with an id of its own, and its change in the journal", async () => {
  const cwd = files('audit: { file: "audit.jsonl" },');
  const edit = ["edit", "docs:a.md", "--old", "one", "--new", "two", "--config", "venue.json5"];
  expect((await runHere(edit, { cwd })).status).toBe(0);
  expect(
    (await runHere(["call", "/v/ops/file/stat", '{"root":"docs","path":"a.md"}', "--config", "venue.json5"], { cwd }))
      .status,
  ).toBe(0);
  const records = readFileSync(join(cwd, "audit.jsonl"), "utf8")
    .split("\n")
    .filter((line) => /"operation":"file:/.test(line))
    .map((line) => JSON.parse(line) as unknown);
  expect(records).toMatchObject([
    { operation: "file:edit", caller: "operator", job: expect.stringMatching(/^[0-9a-f]{32}$/) },
    { operation: "file:stat", caller: "operator", job: expect.stringMatching(/^[0-9a-f]{32}$/) },
  ]);
  const history = await runHere(["history", "docs:", "--json", "--config", "venue.json5"], { cwd });
  expect(JSON.parse(history.stdout)).toMatchObject({ entries: [{ op: "edit", actor: "operator", surface: "cli" }] });
  expect(existsSync(join(cwd, "state"))).toBe(true);
});

test.each(["file:upload", "file:download", "file:nope", "/v/ops/file/nope"])(
  "'%s' is no operation for callers",
  async (name) => {
    const ran = await runHere(["call", name, '{"root":"docs","path":"a.md"}', "--config", "venue.json5"], {
      cwd: files(""),
    });
    expect(ran.status).toBe(1);
    expect(JSON.parse(ran.stderr)).toMatchObject({
      errorCode: "UNKNOWN_OPERATION",
      error: expect.stringContaining(name),
    });
  },
);

const ground = () => makeFolder({ "docs/a.txt": "one\n", "docs/b.txt": "two\n", file: "" });
const said = (what: string) => ({ status: 0, stderr: expect.stringContaining(`venue-files: ${what}`) });

test("without a state directory, rm and edit say that nobody can take it back, and history that nothing is kept", async () => {
  const folder = ground();
  const run = (...args: string[]) =>
    runFileLine(folder, [...args, "--root", "d=docs"], { env: { VENUE_FILES_STATE_DIR: join(folder, "file") } });
  expect(await run("rm", "d:a.txt")).toMatchObject(said("d:a.txt is deleted for good (no_state_dir)\n"));
  const edited = await run("edit", "d:b.txt", "--old", "two", "--new", "2");
  expect(edited).toMatchObject(said("d:b.txt was overwritten for good (no_state_dir)\n"));
  expect(await run("history", "d:")).toMatchObject(said('Root "d" keeps no history: the state directory'));
  expect(await run("trash", "ls", "d:")).toMatchObject(said('Root "d" keeps no history: the state directory'));
  // Programs read it in the answer.
  const { stdout, stderr } = await run("rm", "d:b.txt", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ trashed: false, reason: "no_state_dir" });
  expect(stderr).not.toContain("for good");
});

test.each([
  ["cp", ["cp", "d:a.txt", "e:b.txt"], "e:b.txt was"],
  ["mv", ["mv", "d:a.txt", "e:b.txt"], "e:b.txt was"],
  ["patch", ["patch", "some.patch", "--in", "d:"], "what was there was"],
])("%s names what was overwritten, not what overwrote it", async (_name, args, what) => {
  const folder = makeFolder({
    ...{ "docs/a.txt": "one\n", "other/b.txt": "two\n", file: "" },
    "some.patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n",
  });
  const env = { VENUE_FILES_STATE_DIR: join(folder, "file") };
  const ran = await runFileLine(folder, [...args, "--root", "d=docs", "--root", "e=other"], { env });
  expect(ran).toMatchObject(said(`${what} overwritten for good (no_state_dir)\n`));
});

test("with the journal off, history, trash and undo name the key", async () => {
  const folder = ground();
  const config = { stateDir: "./state", file: { roots: { d: { path: "./docs", journal: "off" } } } };
  writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
  const run = (...args: string[]) => runFileLine(folder, [...args, "--config", join(folder, "venue.json5")]);
  expect(await run("rm", "d:a.txt")).toMatchObject({ status: 0, stderr: "" });
  const key = 'Root "d" keeps no history: its journal is off (set journal: "on")\n';
  expect(await run("history")).toMatchObject(said(key));
  expect(await run("trash", "ls")).toMatchObject(said(key));
  expect(await run("undo", "-y")).toMatchObject({ status: 1, stderr: expect.stringContaining(key.trim()) });
});

test("trash ls of all roots leaves out drives of users where the caller has none, and one that is named is refused", async () => {
  const folder = ground();
  const config = { stateDir: "./state", file: { roots: { mine: { dlfs: "n" }, d: { path: "./docs" } } } };
  writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
  const run = (...args: string[]) => runFileLine(folder, [...args, "--config", join(folder, "venue.json5")]);
  await run("rm", "d:a.txt");
  const all = await run("trash", "ls");
  expect(all).toMatchObject({ status: 0, stdout: expect.stringMatching(/ d:a\.txt\n$/) });
  expect(all.stderr).not.toContain("requires authenticated caller");
  expect(await run("trash", "ls", "mine:")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("requires authenticated caller"),
  });
});

describe("watching", () => {
  const folder = makeFolder({ "docs/a.txt": "1" });

  /** Touches a file until the command shows that it watches. */
  async function begun(running: Running, shown: RegExp): Promise<void> {
    const touching = setInterval(() => writeFileSync(join(folder, "docs/begun"), String(Math.random())), 150);
    try {
      await running.until(shown);
    } finally {
      clearInterval(touching);
    }
  }

  test("watch shows a line for each change, until it is stopped", async () => {
    const running = start(["watch", "d:", "--root", "d=docs"], { cwd: folder });
    await begun(running, /^[+~] begun {2}\(external\)\n/);
    mkdirSync(join(folder, "docs/new"));
    await running.until(/\+ new\/ {2}\(external\)\n/);
    renameSync(join(folder, "docs/a.txt"), join(folder, "docs/new/b.txt"));
    await running.until(/\+ new\/b\.txt {2}\(external\)\n/);
    rmSync(join(folder, "docs/new"), { recursive: true });
    await running.until(/- new\/ {2}\(external\)\n/);
    const { status, stdout } = await running.stop("SIGINT");
    expect(status).toBe(0);
    expect(stdout).toContain("- a.txt  (external)\n");
  });

  test("watch --json --url shows what a venue elsewhere changes", async () => {
    const venue = await serve(["--root", "d=docs"], { cwd: folder });
    const running = start(["watch", "d:", "--json", "--url", venue.url], { cwd: folder });
    await begun(running, /"path":"begun".*\n/);
    writeFileSync(join(folder, "docs/own.txt"), "1");
    await running.until(/\{"type":"created","path":"own\.txt","entryType":"file","origin":"external"\}\n/);
    await running.stop("SIGINT");
    // Asked to end, it would wait five seconds for the job of the call that the client has just left.
    await venue.stop("SIGKILL");
  });

  test("watch of what is not there says so", async () => {
    expect(await runHere(["watch", "d:none", "--root", "d=docs"], { cwd: folder })).toMatchObject({
      ...{ status: 1, stderr: expect.stringContaining("Not found: d:none") },
    });
    expect(await runHere(["watch", "--root", "d=docs"], { cwd: folder })).toMatchObject({ status: 64 });
  });
});
