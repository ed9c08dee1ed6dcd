import { chmodSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterAll, describe, expect, test } from "@jest/globals";
import { runHere } from "./in-process.js";
import { cleanUp, type Finished, makeFolder, run, start, tempRootsIn } from "./process.js";

afterAll(cleanUp);

const folder = makeFolder({
  "docs/a.txt": "a",
  "text.json5": "hello",
  "mistakes.json5": `{
    port: "80",
    nme: "x",
    mcp: { tools: "some" }, auth: { public: { caps: [{ with: "docs", can: "read" }] } },
    file: { rootz: {}, roots: { "bad name": "." } },
  }`,
  "open.json5": `{ hostname: "0.0.0.0" }`,
  "no-such-host.json5": `{ hostname: "no-such-host.invalid", auth: { public: { enabled: true } } }`,
  "no-audit.json5": `{ audit: { file: "nowhere/audit.jsonl" } }`,
  "no-log.json5": `{ log: { file: "nowhere/venue.log" } }`,
  "no-mcp.json5": "{ mcp: false }",
  "tmp.json5": "{ file: { roots: { tmp: { temp: true } } } }",
  "no-list.json5": `{ with: "file://", can: "crud" }`,
});

const fails = (line: string): Promise<Finished> => run(line.split(" "), { cwd: folder });
/** The same without a process of its own, for the many that only say something else. */
const failsHere = (line: string): Promise<Finished> => runHere(line.split(" "), { cwd: folder });
const nothing = { signal: null, stdout: "" };

describe("64, wrong usage:", () => {
  test.concurrent.each<[string, string]>([
    ["serve --prt 1", "Unknown option '--prt' - did you mean '--port'?"],
    ["sevre --port 1", "Unknown command 'sevre' - did you mean 'serve'?"],
    [
      "call file:stat {oops",
      `The input of 'call' is neither JSON nor JSON5: invalid end of input at 1:6. Quote it: '{"root":"tmp","path":"a.txt"}'`,
    ],
  ])("%s", async (line, message) => {
    const help = line.startsWith("sevre") ? "--help" : `help ${line.split(" ")[0]}`;
    expect(await fails(line)).toEqual({ ...nothing, status: 64, stderr: `${message}\nSee: venue-files ${help}\n` });
  });
});

test("a group of commands without one of them leads to its help", async () => {
  for (const [group, topic] of [
    ["key", "key"],
    ["audit", "audit verify"],
  ] as const) {
    const { status, stderr } = await failsHere(group);
    expect([status, stderr]).toEqual([64, expect.stringMatching(new RegExp(`\nSee: venue-files help ${topic}\n$`))]);
  }
});

describe("66, a file that cannot be read:", () => {
  test.concurrent.each<[string, string]>([
    ["serve --config nope.json5", `Cannot read "nope.json5": no such file`],
    ["mcp --config sub/nope.json5", `Cannot read "nope.json5": no such file`],
    ["call file:roots --config docs", `Cannot read "docs": it is a directory`],
    ["mcp --caps nope.json5", `Cannot read "nope.json5": no such file`],
    ["call file:roots --caps docs", `Cannot read "docs": it is a directory`],
  ])("%s", async (line, message) => {
    expect(await fails(line)).toEqual({ ...nothing, status: 66, stderr: `${message}\n` });
  });
});

describe("78, an invalid configuration:", () => {
  const rootForm = "expected PATH or NAME=PATH, for example --root docs=./docs or --root ./docs:ro";
  test.each<[string, string]>([
    ["serve --config text.json5", "text.json5:1:1: not valid JSON5: invalid character 'h'"],
    ["serve --root docs=", `Cannot read --root 'docs=': ${rootForm}`],
    ["serve --root docs=docs --root docs=.", "Root 'docs' is given twice by --root"],
    ["serve --config tmp.json5 --root tmp=docs", "Root 'tmp' is given twice: in the config and by --root"],
    ["serve --root docs=nope", `Root 'docs' does not exist or cannot be reached: ${folder}/nope`],
    ["mcp --root docs=docs/a.txt", `Root 'docs' is not a directory: ${folder}/docs/a.txt`],
    ["call file:roots --root all=/", "Root 'all' cannot be a root: it is the whole file system: /"],
    [
      "serve --config open.json5",
      "open.json5:1:3: Refusing to start: '0.0.0.0' is not a loopback address. Set auth.public.enabled to true or false explicitly.",
    ],
    [
      "call file:roots --config no-audit.json5",
      `no-audit.json5:1:12: 'audit.file' cannot be opened: its folder does not exist: ${folder}/nowhere/audit.jsonl`,
    ],
    [
      "serve --config no-log.json5",
      `no-log.json5:1:10: 'log.file' cannot be opened: its folder does not exist: ${folder}/nowhere/venue.log`,
    ],
    ["mcp --config no-mcp.json5", "no-mcp.json5:1:3: MCP is switched off: 'mcp' is false"],
    ["mcp --caps text.json5", "text.json5:1:1: not valid JSON5: invalid character 'h'"],
    [
      "mcp --caps no-list.json5",
      `"no-list.json5" must hold a list such as [{ with: "file://docs/", can: "crud/read" }]`,
    ],
  ])("%s", async (line, message) => {
    expect(await failsHere(line)).toEqual({ ...nothing, status: 78, stderr: `${message}\n` });
  });

  test.concurrent("every mistake of a file at once", async () => {
    const { status, stdout, stderr } = await fails("serve --config mistakes.json5");
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    for (const mistake of [
      "Unknown config key 'nme' - did you mean 'name'?",
      '\'mcp.tools\' must be "default" or "full"',
      "'port' must be an integer from 0 to 65535, not a string",
      "Unknown config key 'file.rootz' - did you mean 'roots'?",
      "'auth.public.caps[0]' grants nothing",
      "'file.roots.bad name'",
    ]) {
      expect(stderr.split("\n").filter((line) => line.includes(mistake))).toHaveLength(1);
    }
  });

  test.concurrent("every wrong --root at once", async () => {
    const { status, stderr } = await fails("call file:roots --root =a --root b=");
    expect(status).toBe(78);
    expect(stderr.match(/^Cannot read --root '(?:=a|b=)'/gm)).toHaveLength(2);
  });

  test.concurrent("every root that cannot be opened at once, and no temp root stays behind", async () => {
    const tmp = makeFolder({ "c.json5": `{ file: { roots: { t: { temp: true }, a: "no", b: "nor" } } }` });
    const { status, stderr } = await run(["serve", "--config", "c.json5"], { cwd: tmp, tmp });
    expect(status).toBe(78);
    expect(stderr.match(/^c\.json5:1:(?:39|48): Root '[ab]' does not exist/gm)).toHaveLength(2);
    expect(tempRootsIn(tmp)).toEqual([]);
  });

  test.concurrent("a temp folder that others could look into", async () => {
    const tmp = makeFolder({ [`venue-files-${process.geteuid?.()}/x`]: "" });
    chmodSync(`${tmp}/venue-files-${process.geteuid?.()}`, 0o755);
    const { status, stderr } = await run(["call", "file:roots"], { tmp });
    expect(status).toBe(78);
    expect(stderr).toContain("is in the way. Remove it, or set TMPDIR to a directory of your own");
  });
});

describe("69, an address that is not to be had:", () => {
  const taken = (): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer();
      server.listen(0, "127.0.0.1", () => resolve(server));
    });

  test.concurrent("a port in use, and no temp root stays behind", async () => {
    const server = await taken();
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const tmp = makeFolder();
    try {
      expect(await run(["serve", "--port", `${port}`], { tmp })).toEqual({
        ...nothing,
        status: 69,
        stderr: `Cannot listen on localhost:${port}: the port is in use. Choose another with --port\n`,
      });
      expect(tempRootsIn(tmp)).toEqual([]);
    } finally {
      server.close();
    }
  });

  test.concurrent("a host that does not exist", async () => {
    const { status, stdout, stderr } = await fails("serve --config no-such-host.json5 --port 0");
    expect({ status, stdout }).toEqual({ status: 69, stdout: "" });
    // Which of the two depends on whether a name server can be asked.
    expect(stderr).toMatch(
      /^Cannot listen on no-such-host\.invalid:0: (?:no such host name|the host name cannot be looked up)\n$/,
    );
  });
});

describe("141, nobody reads the output any more:", () => {
  /** Runs a command whose output is closed before it writes. */
  async function unread(line: string): Promise<Finished> {
    const { child, ended } = start(line.split(" "), { cwd: folder });
    child.stdout.destroy();
    return await ended;
  }

  test.each(["tree d: --root d=.", "grep a d: --root d=.", `call file:roots --root d=.`])(
    "%s ends without a word",
    async (line) => {
      expect(await unread(line)).toEqual({ ...nothing, status: 141, stderr: "" });
    },
  );

  test("but serve goes on, and ends well", async () => {
    const { child, ended, until } = start(["serve", "--port", "0", "--root", "d=."], { cwd: folder });
    await until(/listens on/);
    child.stdout.destroy();
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ status: 0, stderr: "" });
  });
});
