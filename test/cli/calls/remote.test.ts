// The file commands with `--url`: the same on a venue that runs elsewhere.

import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createHttpCalls, travelsOpenly } from "../../../src/cli/calls/http-calls.js";
import { runFileLine } from "../files/file-stage.js";
import { cleanUp, makeFolder, type Running, serve } from "../process.js";

afterAll(cleanUp);

const FILES = {
  "docs/a.txt": "alpha\nbeta\n",
  "docs/sub/b.md": "# TODO\n",
  "docs/sub/c.txt": "gamma\n",
  "mine.txt": "mine",
};

describe("every command does the same there as here", () => {
  let served: Running & { url: string };
  let [there, here] = ["", ""];
  let token = "";
  beforeAll(async () => {
    [there, here] = [makeFolder(FILES), makeFolder(FILES)];
    served = await serve(["--root", "d=docs"], { cwd: there });
    token = join(served.tmp, ".local/state/venue-files/local-token");
  });
  const remotely = (args: readonly string[], input = "") =>
    runFileLine(here, [...args, "--url", served.url, "--token", token], { input });
  const locally = (args: readonly string[], input = "") => runFileLine(here, [...args, "--root", "d=docs"], { input });

  test.each<[string[], string]>([
    [["ls"], ""],
    [["ls", "-a", "d:", "d:sub"], ""],
    [["tree", "-s", "d:"], ""],
    [["cat", "-n", "d:a.txt", "d:sub/c.txt"], ""],
    [["head", "-n", "1", "d:a.txt"], ""],
    [["tail", "-n", "1", "d:a.txt"], ""],
    [["grep", "-n", "TODO", "d:"], ""],
    [["find", "d:", "-name", "*.txt"], ""],
    [["du", "-s", "d:"], ""],
    [["edit", "d:a.txt", "--old", "beta", "--new", "delta"], ""],
    [["mkdir", "-p", "d:new/deep"], ""],
    [["put", "mine.txt", "d:new/"], ""],
    [["put", "-n", "mine.txt", "d:new/"], ""],
    [["put", "-p", "-", "d:x/#1 %2f?.txt"], "from standard input"],
    [["put", "-", "d:no/y.txt"], "y"],
    [["put", "-", "d:../d/y.txt"], "y"],
    [["cat", "d:x/#1 %2f?.txt", "d:new/mine.txt"], ""],
    [["cp", "d:a.txt", "d:copy.txt"], ""],
    [["mv", "d:copy.txt", "d:new/"], ""],
    [["get", "d:a.txt", "-"], ""],
    [["tree", "d:a.txt"], ""],
    [["edit", "d:a.txt", "--old", "a", "--new", "b"], ""],
    [["restore", "d:a.txt", "abc"], ""],
    [["rm", "-r", "d:new"], ""],
    [["rm", "d:new"], ""],
    [["find", "d:"], ""],
    [["cat", "d:nope", "other:a"], ""],
    [["cat", "d:a.txt", "--json"], ""],
  ])("%j", async (args, input) => {
    const [one, other] = [await remotely(args, input), await locally(args, input)];
    const timeless = (text: string) => text.replaceAll(/"modified":\d+|"etag":"\w+"/g, "");
    // The endpoint for files calls a write by its own name.
    const stderr = one.stderr.replace("Cannot upload", "Cannot write");
    expect({ ...one, stdout: timeless(one.stdout), stderr }).toEqual({ ...other, stdout: timeless(other.stdout) });
  });

  test("without a token as anybody, who may only read", async () => {
    const anybody = (args: readonly string[]) => runFileLine(here, [...args, "--url", served.url]);
    expect(await anybody(["cat", "d:sub/c.txt"])).toEqual({ status: 0, stdout: "gamma\n", stderr: "" });
    const put = await anybody(["put", "mine.txt", "d:mine.txt"]);
    expect(put.status).toBe(1);
    expect(put.stderr).toMatch(/Capability denied.* structural\. Name a file with a token for it: --token FILE\n$/);
  });

  test("narrowed by a caps list, an upload too", async () => {
    writeFileSync(join(here, "caps.json5"), `[{ with: "file://d/sub/", can: "crud" }]`);
    const narrowed = (...args: string[]) => remotely([...args, "--caps", join(here, "caps.json5")]);
    expect(await narrowed("put", "mine.txt", "d:sub/mine.txt")).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(join(there, "docs/sub/mine.txt"), "utf8")).toBe("mine");
    expect(await narrowed("put", "mine.txt", "d:other.txt")).toMatchObject({ status: 1 });
    expect(await narrowed("cat", "d:a.txt")).toMatchObject({ status: 1 });
  });

  test("a token that others may read is used, with a warning; a bad one is refused", async () => {
    writeFileSync(join(here, "open.token"), readFileSync(token), { mode: 0o644 });
    const ls = await runFileLine(here, ["ls", "--url", served.url, "--token", "open.token"]);
    expect(ls).toMatchObject({ status: 0, stderr: 'Warning: others may read "open.token". Make its mode 0600\n' });
    writeFileSync(join(here, "bad.token"), "no such token", { mode: 0o600 });
    const two = await runFileLine(here, ["ls", "--url", served.url, "--token", "bad.token"]);
    expect(two).toEqual({ status: 78, stdout: "", stderr: '"bad.token" does not hold one token on one line\n' });
    const third = await runFileLine(here, ["ls", "--url", served.url, "--token", "env:T"], {
      env: { T: "x".repeat(40) },
    });
    expect(third).toMatchObject({ status: 69, stderr: "The venue refuses (status 401): Invalid or expired token\n" });
  });
});

describe("a server that is no good venue", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function answering(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createServer(answer).listen(0, "127.0.0.1");
    servers.push(server);
    await new Promise((resolve) => server.once("listening", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const job = (record: object) => (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(record));
  };
  const ls = async (url: string) =>
    runFileLine("/", ["ls", "--url", url, "--token", "env:T"], { env: { T: "secret" } });

  test("gets no token by sending elsewhere", async () => {
    const asked: (string | undefined)[] = [];
    const other = await answering((request, response) => {
      asked.push(request.headers.authorization);
      response.end("{}");
    });
    const url = await answering((_, response) => response.writeHead(307, { location: `${other}/api/v1/invoke` }).end());
    expect(await ls(url)).toMatchObject({ status: 69, stdout: "" });
    expect(asked).toEqual([]);
  });

  test("cannot move the cursor of a terminal", async () => {
    const evil = "\u001b[2J\r";
    const failing = await answering(
      job({ status: "FAILED", error: evil, errorCode: "NOT_FOUND", errorData: { hint: evil } }),
    );
    const shown = await ls(failing);
    expect(shown.status).toBe(1);
    expect(shown.stderr).toContain("\\u{1b}");
    const tree = await answering(job({ status: "COMPLETE", output: { tree: `a/\n\t${evil}\n`, entries: 1 } }));
    const walked = await runFileLine("/", ["tree", "d:", "--url", tree]);
    const refusing = await answering((_, response) => response.writeHead(403).end(JSON.stringify({ error: evil })));
    const refused = await ls(refusing);
    expect(refused.status).toBe(69);
    for (const { stdout, stderr } of [shown, walked, refused]) expect(stdout + stderr).not.toMatch(/[\u001b\r]/);
  });

  test.each([
    ["no JSON", "<html>"],
    ["no object", "[]"],
  ])("that answers %s is named", async (_, body) => {
    const url = await answering((_request, response) => response.end(body));
    expect(await ls(url)).toMatchObject({
      status: 69,
      stderr: `${url} does not answer like a venue (status 200). Is the URL right?\n`,
    });
  });

  test("that is gone is named", async () => {
    const url = await answering(() => {});
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
    expect(await ls(url)).toMatchObject({ status: 69, stderr: `Cannot reach ${url}: nothing listens there\n` });
  });
});

describe("a venue that takes its time", () => {
  test("is asked again for a job that still runs, and after too many requests", async () => {
    const seen: string[] = [];
    const answers = [
      { status: 429, body: { error: "Too many requests" } },
      { status: 201, body: { id: "0x1f", status: "STARTED" } },
      { status: 200, body: { id: "0x1f", status: "COMPLETE", output: { roots: [] } } },
    ];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      const { status = 500, body = {} } = answers.shift() ?? {};
      response.writeHead(status, { "retry-after": "0" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { signal } = new AbortController();
    const calls = createHttpCalls({ url, token: undefined, ucans: [], caps: undefined, signal });
    expect(await calls.run("file:roots", {})).toEqual({ roots: [] });
    expect(seen).toEqual(["POST /api/v1/invoke", "POST /api/v1/invoke", "GET /api/v1/jobs/0x1f"]);
    server.close().closeAllConnections();
  });
});

test.each([
  ["http://files.example", "t", true],
  ["https://files.example", "t", false],
  ["http://localhost:8080", "t", false],
  ["http://[::1]:8080/v", "t", false],
  ["http://files.example", undefined, false],
])("a token on its way to %s (%s) can be read by others: %s", (url, token, openly) => {
  expect(travelsOpenly({ url, token })).toBe(openly);
});
