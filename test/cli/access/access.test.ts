// Links, access tokens and approvals of a venue that runs, as commands.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { CommandContext } from "../../../src/cli/context.js";
import { main } from "../../../src/cli/main.js";
import { serve } from "../../../src/cli/serve/serve.js";
import { outcome, run as runHttp, send } from "../../surfaces/http/client.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const VENUE = `{ port: 0, seedFile: "venue.seed", stateDir: "state", log: { file: "venue.log" },
  file: { roots: { docs: { path: "docs", approve: { for: ["overwrite", "delete"] } } } } }`;

function streams(isTTY: boolean) {
  const [stdin, stdout, stderr] = [1, 2, 3].map(() => Object.assign(new PassThrough(), { isTTY }));
  if (stdin === undefined || stdout === undefined || stderr === undefined) throw new Error("no streams");
  const texts = { stdout: "", stderr: "" };
  stdout.on("data", (chunk: Buffer) => {
    texts.stdout += chunk.toString();
  });
  stderr.on("data", (chunk: Buffer) => {
    texts.stderr += chunk.toString();
  });
  return { stdin, stdout, stderr, texts };
}

function contextIn(folder: string, isTTY: boolean) {
  const ends = streams(isTTY);
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const context = {
    ...{ env: { HOME: folder }, cwd: folder, stdin: ends.stdin, stdout: ends.stdout, stderr: ends.stderr },
    untilStopped: () => stopped,
    onReload: () => {},
  } as unknown as CommandContext;
  const until = async (wanted: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = wanted.exec(ends.texts.stdout);
      if (found !== null) return found;
      await new Promise((resolve) => ends.stdout.once("data", resolve));
    }
  };
  return { ...ends, context, until, stop: () => stop() };
}

async function start(isTTY = false, more = "") {
  const folder = makeFolder({ "venue.json5": VENUE.replace("{", `{ ${more}`), "docs/a.md": "one\n" });
  const own = contextIn(folder, isTTY);
  const status = serve({ file: join(folder, "venue.json5"), roots: [] }, own.context);
  await own.until(/Stop with Ctrl-C/);
  const [, url = ""] = /listens on (\S+)/.exec(own.texts.stdout) ?? [];
  const run = async (...args: readonly string[]) => {
    const { context, texts } = contextIn(folder, false);
    const code = await main([...args, "--config", join(folder, "venue.json5")], context);
    return { code, ...texts };
  };
  const call = async (bearer: string, operation: string, input: object) => {
    return outcome<Record<string, unknown>>(runHttp(url, operation, input, bearer));
  };
  const close = async () => {
    own.stop();
    expect(await status).toBe(0);
  };
  return { folder, url, texts: own.texts, run, call, close };
}

const RIGHTS = ["--with", "file://docs/", "--can", "crud"];
const WRITE = { root: "docs", path: "a.md", content: "two\n" };

describe("a venue that runs", () => {
  test("is found by its state directory, issues, lists and revokes, and is not found when it has stopped", async () => {
    const { folder, run, call, close } = await start();
    const file = join(folder, "state/venue-files/running.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid: process.pid, url: expect.any(String) });
    const issued = await run("token", "issue", ...RIGHTS, "--label", "indexer", "--for", "10m");
    expect(issued).toMatchObject({ code: 0, stderr: expect.stringMatching(/ends in (9 min|10 min)/) });
    const token = issued.stdout.trim();
    expect((await call(token, "file:read", { root: "docs", path: "a.md" })).status).toBe(200);
    const listed = await run("token", "ls");
    expect(listed.stdout).toMatch(/access {2,}[0-9a-f]{32} {2}indexer +crud file:\/\/docs\//);
    expect(listed.stdout).not.toContain(token);
    const [, id = ""] = /([0-9a-f]{32}) {2}indexer/.exec(listed.stdout) ?? [];
    expect(await run("token", "revoke", id)).toMatchObject({ code: 0, stdout: `${id} is revoked\n` });
    expect((await call(token, "file:read", { root: "docs", path: "a.md" })).status).toBe(401);
    expect(await run("token", "revoke", "0".repeat(32))).toMatchObject({ code: 1, stdout: "" });
    expect((await run("link", "--for", "8h")).stdout).toMatch(/\/workspace\/#login=[A-Za-z0-9_-]{43}\n$/);
    await close();
    expect(existsSync(file)).toBe(false);
    // Nor is one found that runs without a local token.
    const none = expect.stringContaining("No venue with a local token ('auth.localToken'");
    expect(await run("token", "ls")).toMatchObject({ code: 69, stderr: none });
  });

  test("behind a proxy is called where it listens, and its links have the URL of the proxy", async () => {
    const more = `hostname: "127.0.0.1", baseUrl: "https://files.invalid/below", trustProxy: true, workspace: true,
      auth: { localToken: true, public: { enabled: false } },`;
    const { folder, run, close } = await start(false, more);
    expect(JSON.parse(readFileSync(join(folder, "state/venue-files/running.json"), "utf8"))).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/),
    });
    expect(await run("token", "issue", ...RIGHTS)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^vft_/) });
    expect(await run("approvals")).toMatchObject({ code: 0 });
    expect((await run("link")).stdout).toMatch(/^https:\/\/files\.invalid\/below\/workspace\/#login=/);
    await close();
  });

  test("lists the locks of WebDAV clients, and drops one", async () => {
    const { folder, url, run, close } = await start();
    const T = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    expect(await run("lock", "ls")).toMatchObject({ code: 0, stdout: "" });
    const dav = (method: string, more: object = {}) => send(`${url}/dav/docs/new.md`, { token: T, method, ...more });
    const kinds = "<lockscope><exclusive/></lockscope><locktype><write/></locktype>";
    const body = `<lockinfo xmlns="DAV:">${kinds}<owner>My &#x9b;laptop</owner></lockinfo>`;
    expect((await dav("LOCK", { body })).status).toBe(201);
    const { stdout } = await run("lock", "ls");
    expect(stdout).toMatch(/^ *[0-9a-f]{16} +docs:new\.md +\S+ +My \S*laptop +since \d{4}-\S+ +\d+ min\b.* left\n$/);
    expect(stdout).not.toContain("\u009b");
    const [id = ""] = /[0-9a-f]{16}/.exec(stdout) ?? [];
    expect(JSON.parse((await run("lock", "ls", "--json")).stdout)).toMatchObject({ id, root: "docs", path: "new.md" });
    expect((await dav("PUT", { body: "x" })).status).toBe(423);
    expect(await run("lock", "drop", id)).toMatchObject({ code: 0, stdout: `${id} is dropped\n` });
    expect((await dav("PUT", { body: "x" })).status).toBe(204);
    expect(await run("lock", "drop", id)).toMatchObject({ code: 1, stdout: "" });
    await close();
  });

  test("refuses misspelt abilities, and tells of a root that is not there", async () => {
    const { run, close } = await start();
    const issue = (resource: string, can: string) => run("token", "issue", "--with", resource, "--can", can);
    expect(await issue("file://docs/", "crud/raed")).toMatchObject({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringMatching(/must be an ability: crud\/read, .* not 'crud\/raed'\n$/),
    });
    expect(await issue("file://dosc/", "crud/read")).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/There is no root for file:\/\/dosc\/, which leads nowhere\n$/),
    });
    await close();
  });

  test("is found by its address too, from anywhere", async () => {
    const { folder, url, close } = await start();
    const T = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    const elsewhere = makeFolder({ "a.txt": "" });
    const run = async (...args: readonly string[]) => {
      const { context, texts } = contextIn(elsewhere, false);
      const code = await main([...args, "--url", url, "--token", "env:T"], { ...context, env: { ...context.env, T } });
      return { code, ...texts };
    };
    expect(await run("token", "issue", ...RIGHTS)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^vft_/) });
    const [, id = ""] = /access +([0-9a-f]{32})/.exec((await run("token", "ls")).stdout) ?? [];
    expect(await run("token", "revoke", id)).toMatchObject({ code: 0, stdout: `${id} is revoked\n` });
    expect((await run("link")).stdout).toContain(`${url}/workspace/#login=`);
    expect(await run("approvals")).toMatchObject({ code: 0 });
    await close();
  });

  test("shows a link at a terminal only, and there never the operator's token to clients of a root that asks", async () => {
    const withTerminal = await start(true);
    const local = readFileSync(join(withTerminal.folder, "state/local-token"), "utf8").trim();
    const { stdout } = withTerminal.texts;
    expect(stdout).toMatch(/^Open http:\S+\/workspace\/#login=\S{43} \(once/);
    const client = stdout.slice(stdout.indexOf("MCP client configuration"));
    expect(client).toMatch(/Bearer vft_/);
    expect(client).not.toContain(local);
    await withTerminal.close();
    const without = await start(false);
    expect(without.texts.stdout).not.toMatch(/#login=|vft_/);
    await without.close();
    const withoutPage = await start(true, "workspace: false,");
    expect(withoutPage.texts.stdout).not.toContain("#login=");
    await withoutPage.close();
  });

  test("what waits for a person is listed, and allowed at a terminal by the code that is shown", async () => {
    const { folder, run, call, close } = await start();
    const token = (await run("token", "issue", ...RIGHTS)).stdout.trim();
    const refused = await call(token, "file:write", WRITE);
    expect(refused).toMatchObject({ status: 403, body: { errorCode: "APPROVAL_REQUIRED" } });
    const { approvalId } = refused.body["errorData"] as { approvalId: string };
    expect((await run("approvals")).stdout).toMatch(new RegExp(`^${approvalId} {2}overwrite docs:a.md`));
    const person = contextIn(folder, true);
    const ended = main(["approvals", "--config", join(folder, "venue.json5")], person.context);
    const [, code] = await person.until(/Type (\d{4}), or n to deny/);
    expect(person.texts.stdout).toContain("-one\n+two\n");
    person.stdin.write(`${code}\n`);
    await person.until(/Allowed once/);
    person.stop();
    person.stdin.end();
    expect(await ended).toBe(0);
    const allowed = await call(token, "file:write", { ...WRITE, approval: approvalId });
    expect(allowed.status).toBe(200);
    expect(readFileSync(join(folder, "docs/a.md"), "utf8")).toBe("two\n");
    await close();
  });

  /** What a person sees of a call, down to the question. */
  async function asked(path: string, content: string): Promise<string> {
    const { folder, run, call, close } = await start();
    writeFileSync(join(folder, "docs", path), "old\n");
    const token = (await run("token", "issue", ...RIGHTS)).stdout.trim();
    const { body } = await call(token, "file:write", { root: "docs", path, content });
    expect(body).toMatchObject({ errorCode: "APPROVAL_REQUIRED" });
    const person = contextIn(folder, true);
    const ended = main(["approvals", "--config", join(folder, "venue.json5")], person.context);
    await person.until(/Allow once\?/);
    const shown = person.texts.stdout;
    person.stop();
    person.stdin.end("\n");
    await ended;
    await close();
    return shown;
  }

  test.each([
    ["many lines", Array.from({ length: 60 }, (_, index) => `line ${index}\n`).join(""), 2],
    ["a line of many rows", `${"x".repeat(3000)}\n`, 2],
    ["few lines", "new\n", 1],
  ])("name and operation stand above a difference, and again below one of %s", async (_what, content, times) => {
    const shown = await asked("a.md", content);
    const line = /overwrite docs:a\.md.* {2}\(file:write by token by \S+\)\n/g;
    expect(shown.match(line)).toHaveLength(times);
    if (times === 2) expect(shown).toMatch(/\(file:write by token by \S+\)\n[^\n]*Allow once\?/);
  });

  test("what takes no place on a screen is shown by its number", async () => {
    const chars = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u{e0041}", "\u3164", "\u202e"];
    const shown = await asked(`a${chars.join("-")}b.md`, `n${chars.join("-")}ew\n`);
    const codes = chars.map((char) => `\\u{${char.codePointAt(0)?.toString(16)}}`).join("-");
    expect(shown).toContain(`docs:a${codes}b.md`);
    expect(shown).toContain(`+n${codes}ew`);
    for (const char of chars) expect(shown).not.toContain(char);
  });

  test("a folder that waits is listed with its first names", async () => {
    const { folder, run, call, close } = await start();
    mkdirSync(join(folder, "docs/lib"));
    for (let index = 10; index < 35; index += 1) writeFileSync(join(folder, `docs/lib/${index}`), "");
    const token = (await run("token", "issue", ...RIGHTS)).stdout.trim();
    const refused = await call(token, "file:delete", { root: "docs", path: "lib", recursive: true });
    expect(refused.status).toBe(403);
    expect((await run("approvals")).stdout).toMatch(
      / {2}delete docs:lib \(10, 11, .*28, 29 and 5 more\) {2}\(file:delete by /,
    );
    await close();
  });

  test.each([
    [["token", "issue"], "needs what the token may do"],
    [["token", "revoke"], "needs the id of a token"],
    [["token", "ls", "x"], "x"],
    [["link", "--with", "file://docs/"], "Each --with needs one --can"],
    [["token", "revoke", `vft_${"A".repeat(43)}`], "seems to be a token"],
  ])("%j is a mistake that says what to do", async (args, text) => {
    expect((await runHere(args)).stderr).toContain(text);
  });
});
