import { readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { HttpCalls, travelsOpenly } from "../../../src/cli/calls/http-calls.js";
import { recordsOf } from "../../audit/records.js";
import { runFileLine } from "../files/file-stage.js";
import { runHere } from "../in-process.js";
import { did, makeGround, secretsIn, tokenOf } from "../people.js";
import { cleanUp, makeFolder, type Running, run, serve, tempRootsIn } from "../process.js";

afterAll(cleanUp);

const folder = realpathSync(
  makeFolder({
    "docs/a.txt": "alpha\n",
    "docs/deep.json": `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
    "caps.json5": `[{ with: "file://docs/", can: "crud/read" }, /* grants nothing */ { with: "docs", can: "crud" }]`,
    "config/venue.json5": `{ file: { roots: { docs: "../docs" } }, audit: { file: "audit.jsonl" } }`,
  }),
);

const call = (...args: string[]) => runHere(["call", ...args], { cwd: folder });
const docs = ["--root", "docs=docs"];
const protect = ["@git", "@clients"];

describe("a call that succeeds prints its output, one line of JSON and nothing else:", () => {
  test.each<[string, string[], unknown]>([
    [
      "by dispatch name",
      ["file:read", '{"root":"docs","path":"a.txt"}', ...docs],
      { content: "alpha\n", encoding: "utf-8", size: 6, mime: "text/plain", etag: "w2uy3hhj" },
    ],
    ["by catalogue path", ["v/ops/file/stat", '{"root":"docs","path":"b"}', ...docs], { exists: false }],
    ["with options in front", [...docs, "/file:stat", '{"root":"docs","path":"b"}'], { exists: false }],
    [
      "in a root of a configuration, relative to its folder",
      ["file:stat", '{"root":"docs","path":"b"}', "--config", "config/venue.json5"],
      { exists: false },
    ],
    ["by a reference", ["file:stat", '{"path":"file://docs/b"}', ...docs], { exists: false }],
    ["within caps", ["file:stat", '{"root":"docs","path":"b"}', ...docs, "--caps", "caps.json5"], { exists: false }],
    [
      "without an input",
      ["file:roots", "--root", "docs=docs:ro", "--root", `here=${folder}`],
      {
        roots: [
          { name: "docs", path: join(folder, "docs"), kind: "host", readOnly: true, protect },
          { name: "here", path: folder, kind: "host", readOnly: false, protect },
        ],
      },
    ],
  ])("%s", async (_name, args, output) => {
    expect(await call(...args)).toEqual({
      status: 0,
      signal: null,
      stdout: `${JSON.stringify(output)}\n`,
      stderr: "",
    });
  });

  test("as long as it may be", async () => {
    const content = "é\n".repeat(2_500_000);
    const big = makeFolder({ "big.txt": content });
    const { status, stdout } = await call("file:read", '{"root":"big","path":"big.txt"}', "--root", `big=${big}`);
    expect(status).toBe(0);
    const output: unknown = JSON.parse(stdout);
    expect(output).toMatchObject({ size: 7_500_000 });
    expect((output as { content: string }).content === content).toBe(true);
  });
});

describe("a call that fails prints nothing, and one line of JSON on standard error:", () => {
  test.each<[string, string[], object]>([
    [
      "nothing there",
      ["file:read", '{"root":"docs","path":"nope"}'],
      { error: "Not found: docs:nope", errorCode: "NOT_FOUND", errorData: { root: "docs", path: "nope" } },
    ],
    [
      "a misspelt field",
      ["file:delete", '{"root":"docs","path":"a.txt","recusive":true}'],
      {
        error: "Unknown field 'recusive' - did you mean 'recursive'?",
        errorCode: "INVALID_INPUT",
        errorData: { pointer: "/recusive", expected: "root, path, recursive, permanent, ifMatch, operationId" },
      },
    ],
    [
      "an input that is no object",
      ["file:stat", "[]"],
      {
        error: "'input' must be a JSON object",
        errorCode: "INVALID_INPUT",
        errorData: { pointer: "", expected: "object" },
      },
    ],
    [
      "a reference that names nothing",
      ["file:read", '{"path":"file:///a.txt"}'],
      {
        error: "'path' must name a root: file://<root>/<path>",
        errorCode: "INVALID_INPUT",
        errorData: { pointer: "/path", expected: "a path or a reference" },
      },
    ],
    [
      "an unknown operation",
      ["file:frobnicate"],
      { error: expect.stringMatching(/^Unknown file operation: file:frobnicate/), errorCode: "UNKNOWN_OPERATION" },
    ],
    [
      "a misspelt operation",
      ["file:raed"],
      { error: "Unknown file operation: file:raed. Did you mean 'file:read'?", errorCode: "UNKNOWN_OPERATION" },
    ],
    [
      "a misspelt adapter",
      ["v/ops/fiel/roots"],
      { error: expect.stringMatching(/\. Did you mean 'file:roots'\?$/), errorCode: "UNKNOWN_OPERATION" },
    ],
    [
      "outside of caps",
      ["file:write", '{"root":"docs","path":"a.txt","content":"b"}', "--caps", "caps.json5"],
      {
        error: expect.stringMatching(
          /^Capability denied: file:write requires crud\/write on file:\/\/docs\/a\.txt\. Your capabilities are: crud\/read on file:\/\/docs\/\./,
        ),
        errorCode: "CAPABILITY_DENIED",
        errorData: expect.objectContaining({ have: [{ with: "file://docs/", can: "crud/read" }] }),
      },
    ],
  ])("%s", async (_name, args, failure) => {
    const { status, stdout, stderr } = await call(...args, ...docs);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(stderr)).toMatchObject(failure);
    expect(readFileSync(join(folder, "docs/a.txt"), "utf8")).toBe("alpha\n");
  });

  test("but not an output deeper than the stack", async () => {
    const { status, stdout } = await call("file:read", '{"root":"docs","path":"deep.json","mode":"json"}', ...docs);
    expect(status).toBe(0);
    expect(stdout).toContain(readFileSync(join(folder, "docs/deep.json"), "utf8"));
  });
});

test("a call leaves an audit record and no temp root", async () => {
  const tmp = makeFolder({ "venue.json5": `{ audit: { file: "audit.jsonl" } }` });
  const input = '{"root":"tmp","path":"a","content":"secret"}';
  const { stdout } = await run(["call", "file:write", input, "--config", "venue.json5"], { cwd: tmp, tmp });
  expect(JSON.parse(stdout)).toEqual({ written: 6, created: true, etag: expect.stringMatching(/^[a-z2-7]{8}$/) });
  expect(tempRootsIn(tmp)).toEqual([]);
  const audit = readFileSync(join(tmp, "audit.jsonl"), "utf8");
  const record = { caller: "operator", operation: "file:write", resource: "file://tmp/a", outcome: "OK", bytes: 6 };
  expect(recordsOf(audit)).toMatchObject([record]);
  expect(audit).not.toContain("secret");
});

describe("a call with a key is made as its DID:", () => {
  const input = '{"root":"docs","path":"reports/q3.md"}';
  const stat = (...args: string[]) => ["call", "file:stat", input, "--config", "venue.json5", ...args];
  const exists = { status: 0, stderr: "", stdout: expect.stringContaining('"exists":true') };

  test("the owner of a root", async () => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(stat("--key", "alice"))).toMatchObject(exists);
  });

  test("the operator by its key", async () => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(stat("--key", "./venue.seed"))).toMatchObject(exists);
    expect(await venueFiles(stat("--key", "env:SEED"), { env: { SEED: "0f".repeat(32) } })).toMatchObject(exists);
  });

  test("nobody in particular, for whom the root is not even there", async () => {
    const { venueFiles } = makeGround();
    const { status, stdout, stderr } = await venueFiles(stat("--key", "bob"));
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ errorCode: "UNKNOWN_ROOT" });
  });

  test("with what everybody may do in roots without an owner, unless nobody may", async () => {
    const { venueFiles } = makeGround({
      "closed.json5": "{ auth: { public: { enabled: false } }, file: { roots: { work: 'work' } } }",
    });
    const read = ["call", "file:stat", '{"root":"work","path":"a.txt"}', "--key", "bob", "--config"];
    const write = ["call", "file:mkdir", '{"root":"work","path":"b"}', "--key", "bob", "--config"];
    expect(await venueFiles([...read, "venue.json5"])).toMatchObject(exists);
    for (const line of [
      [...write, "venue.json5"],
      [...read, "closed.json5"],
    ]) {
      const { status, stderr } = await venueFiles(line);
      expect(status).toBe(1);
      expect(JSON.parse(stderr)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    }
  });

  test("with what the configuration gives to it", async () => {
    const { venueFiles } = makeGround({
      "venue.json5": `{
        operator: "${did("alice")}",
        auth: { public: { enabled: false }, grants: [{ did: "${did("bob")}", with: "file://docs/reports/", can: "crud/read" }] },
        file: { roots: { docs: "docs" } },
      }`,
    });
    expect(await venueFiles(stat("--key", "bob"))).toMatchObject(exists);
    expect((await venueFiles(stat("--key", "carol"))).status).toBe(1);
  });

  test("in its own drive by references, and in that of another with what its owner gives", async () => {
    const { folder, venueFiles } = makeGround();
    const call = async (operation: string, input: object, ...more: string[]) => {
      const line = ["call", operation, JSON.stringify(input), "--config", "venue.json5", ...more];
      const { stdout, stderr } = await venueFiles(line);
      return JSON.parse(stdout + stderr) as unknown;
    };
    const own = `${did("alice")}/dlfs/notes`;
    const text = { inline: "hers" };
    expect(await call("file:create", { path: "dlfs/notes/a", content: text }, "--key", "alice")).toMatchObject({
      ref: `${own}/a`,
      created: true,
    });
    for (const path of [`${own}/a`, "dlfs://notes/a"])
      expect(await call("file:read", { path }, "--key", "alice")).toMatchObject({ content: "hers" });
    expect(await call("file:copy", { from: "dlfs/notes/a", to: "file://docs/a" }, "--key", "alice")).toMatchObject({
      ...{ copied: true, from: `${own}/a`, to: "file://docs/a" },
    });
    const capabilities = [{ with: own, can: "crud/read" }];
    writeFileSync(join(folder, "bob.ucan"), await tokenOf("alice", "bob", { capabilities }));
    const asBob = ["--key", "bob", "--proof", "bob.ucan"];
    expect(await call("file:read", { path: `${own}/a` }, ...asBob)).toMatchObject({ content: "hers" });
    const refused = await call("file:read", { path: `${own}/none` }, "--key", "bob");
    expect(refused).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect(await call("file:delete", { path: `${own}/a` }, ...asBob)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
  });

  test("with what its proofs give, from files and variables, and no more", async () => {
    const { folder, venueFiles } = makeGround();
    const first = await tokenOf("alice", "bob");
    writeFileSync(join(folder, "bob.ucan"), `${first}\n${await tokenOf("carol", "bob")}\n`);
    const second = await tokenOf("bob", "carol", { proofs: [first] });
    expect(await venueFiles(stat("--key", "bob", "--proof", "bob.ucan"))).toMatchObject(exists);
    const env = { SECOND: second, NONE: await tokenOf("alice", "alice") };
    expect(
      await venueFiles(stat("--key", "carol", "--proof", "env:NONE", "--proof", "env:SECOND"), { env }),
    ).toMatchObject(exists);
    const line = ["call", "file:read", '{"root":"docs","path":"secret.md"}', "--config", "venue.json5"];
    const denied = await venueFiles([...line, "--key", "bob", "--proof", "bob.ucan"]);
    expect({ status: denied.status, stdout: denied.stdout }).toEqual({ status: 1, stdout: "" });
    expect(JSON.parse(denied.stderr)).toMatchObject({
      errorCode: "CAPABILITY_DENIED",
      errorData: { have: [{ with: "file://docs/reports/", can: "crud/read" }] },
    });
    expect(secretsIn(denied.stderr)).toEqual([]);
    // Of somebody else, they are worth nothing.
    expect((await venueFiles(stat("--key", "alice", "--proof", "bob.ucan"))).status).toBe(0);
    expect((await venueFiles(stat("--key", "carol", "--proof", "bob.ucan"))).status).toBe(1);
  });

  test("narrowed by caps, as everybody is", async () => {
    const { venueFiles } = makeGround({ "caps.json5": '[{ with: "file://docs/reports/", can: "crud/read" }]' });
    const write = ["call", "file:mkdir", '{"root":"docs","path":"new"}', "--config", "venue.json5", "--key", "alice"];
    expect(await venueFiles(stat("--key", "alice", "--caps", "caps.json5"))).toMatchObject(exists);
    expect((await venueFiles([...write, "--caps", "caps.json5"])).status).toBe(1);
    expect((await venueFiles(write)).status).toBe(0);
  });

  test("and is in the audit as that", async () => {
    const { folder, venueFiles } = makeGround({
      "venue.json5": `{ audit: { file: "audit.jsonl" }, file: { roots: { docs: { path: "docs", owner: "${did("alice")}" } } } }`,
    });
    await venueFiles(stat("--key", "bob", "--proof", "env:PROOF"), { env: { PROOF: await tokenOf("alice", "bob") } });
    const audit = readFileSync(join(folder, "audit.jsonl"), "utf8");
    expect(recordsOf(audit)).toMatchObject([{ caller: did("bob"), operation: "file:stat", outcome: "OK" }]);
    expect(secretsIn(audit)).toEqual([]);
  });

  test.each<[string, string[], number, string]>([
    [
      "no key",
      ["--key", "dave"],
      66,
      "Cannot use key 'dave': there is no such file. Make it with: venue-files key new dave",
    ],
    ["no proof", ["--key", "bob", "--proof", "nope"], 66, `Cannot read tokens from "nope": there is no such file`],
    ["a proof that is none", ["--key", "bob", "--proof", "venue.seed"], 78, `"venue.seed" holds no token in line 1`],
  ])("but not with %s", async (_name, args, status, stderr) => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(stat(...args))).toEqual({ status, signal: null, stdout: "", stderr: `${stderr}\n` });
  });
});

describe("a call of an operation about rights", () => {
  test("says who calls, and what they hold", async () => {
    const { venueFiles } = makeGround();
    const line = ["call", "auth:whoami", "--config", "venue.json5", "--key", "alice"];
    const { status, stdout } = await venueFiles(line);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ did: did("alice"), authentication: "key", operator: false });
  });

  test("takes tokens from standard input, where nobody sees them", async () => {
    const { venueFiles } = makeGround();
    const token = await tokenOf("alice", "bob");
    const line = ["call", "v/ops/ucan/verify", "-", "--config", "venue.json5"];
    const { status, stdout } = await venueFiles(line, { input: JSON.stringify({ token }) });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ valid: true, grants: [{ with: "file://docs/reports/" }] });
    expect(await venueFiles(line, { input: "hello" })).toMatchObject({
      status: 64,
      stderr: expect.stringContaining(
        "neither JSON nor JSON5: invalid character 'h' at 1:1. Give one JSON object on standard input\n",
      ),
    });
  });
});

describe("the input of a call", () => {
  test.each([
    ["{root:'docs', /* mine */ path: 'a.txt',}", 0],
    ['{"root":"docs","path":"a.txt","offset":12345678901234567890}', 1],
    ["{root:'docs',path:'a.txt',offset:12345678901234567890}", 64],
    ["{root:'docs',path:'a.txt',value:[NaN]}", 64],
  ])("%s may be JSON5, and keeps its numbers or is refused", async (input, status) => {
    const folder = makeFolder({ "docs/a.txt": "alpha" });
    const ended = await runHere(["call", "file:read", input, "--root", "docs"], { cwd: folder });
    expect(ended.status).toBe(status);
    if (status === 0) expect(JSON.parse(ended.stdout)).toMatchObject({ content: "alpha" });
    else if (input.includes("NaN")) expect(ended.stderr).toContain("Infinity and NaN are no JSON. Give a string");
    else expect(ended.stderr).toMatch(status === 1 ? /"INVALID_INPUT"/ : /beyond 2\^53 are kept only in strict JSON/);
  });
});

test("a call without a key loads nothing that makes keys or reads tokens", async () => {
  const coverage = makeFolder();
  await run(["call", "file:roots"], { env: { NODE_V8_COVERAGE: coverage } });
  const loaded = readdirSync(coverage).flatMap((file) => {
    const report = JSON.parse(readFileSync(join(coverage, file), "utf8")) as { result: { url: string }[] };
    return report.result
      .filter(({ url }) => url.includes("/dist/"))
      .map(({ url }) => readFileSync(new URL(url), "utf8"));
  });
  const isLoaded = (name: string): boolean =>
    loaded.some((text) => new RegExp(`\\bexport\\{[^}]*\\b${name}[,}]`).test(text));
  expect(isLoaded("call")).toBe(true);
  const unwanted = ["openSigningKey", "readTokens", "signingKeyFromSeed", "openOwnAccess"];
  expect(unwanted.filter(isLoaded)).toEqual([]);
});

// The file commands with `--url`: the same on a venue that runs elsewhere.
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
    const calls = new HttpCalls({ url, token: undefined, ucans: [], caps: undefined, signal });
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
