import { appendFileSync, mkdirSync, readFileSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseDuration, printDuration, printTime } from "../../../src/cli/arguments/duration.js";
import { findFileCommand, placeOf, readFileLine } from "../../../src/cli/arguments/files.js";
import { findCommand } from "../../../src/cli/arguments/find-command.js";
import { UsageError } from "../../../src/cli/arguments/options.js";
import { readLine } from "../../../src/cli/arguments/read.js";
import type { ConfigSource } from "../../../src/cli/arguments/remote.js";
import { parseRootArgument, parseRootArguments } from "../../../src/cli/arguments/root.js";
import { COMMANDS } from "../../../src/cli/commands/all.js";
import type { Values } from "../../../src/cli/commands/command.js";
import { FILE_COMMANDS, fileOptions, isFileCommand } from "../../../src/cli/commands/files.js";
import { type SOURCE, sourceOf } from "../../../src/cli/commands/shared.js";
import { ignoreCaseGlob } from "../../../src/cli/files/search.js";
import { helpText, START } from "../../../src/cli/help/help.js";
import { loadOneConfig } from "../../../src/cli/load-config.js";
import { parseConfig } from "../../../src/config/load.js";
import { configErrorOf, problemsOf } from "../../config/problems.js";
import { runFileLine, type Stage } from "../files/file-stage.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, run, start } from "../process.js";

afterAll(cleanUp);

const DASHED = `-${"a".repeat(42)}`;

/** A command line as it reaches the command. */
function read(argv: readonly string[]): object {
  const found = findCommand(argv);
  const line = readLine(found.args, found);
  return typeof line === "string" ? { is: line, topic: found.topic } : { name: found.name, ...line };
}

describe("a command line is understood:", () => {
  test.each<[string, object]>([
    [
      "serve",
      { name: "serve", values: { config: undefined, root: [], deny: [], "read-only": false, port: undefined } },
    ],
    ["serve --port 0", { name: "serve", values: { port: "0" } }],
    ["--port 80 serve", { name: "serve", values: { port: "80" } }],
    ["check --host ::1", { name: "check", values: { host: "::1" } }],
    ["serve --root a=. --root b=x:ro", { name: "serve", values: { root: ["a=.", "b=x:ro"] } }],
    ["serve --config=-odd", { name: "serve", values: { config: "-odd" } }],
    ["mcp a b:ro --caps c", { name: "mcp", words: ["a", "b:ro"], values: { caps: "c" } }],
    ["call file:roots", { name: "call", words: ["file:roots"] }],
    ['call file:stat {"root":"a"} --caps c', { words: ["file:stat", '{"root":"a"}'], values: { caps: "c" } }],
    ["call file:roots -", { words: ["file:roots", "-"] }],
    ["call file:roots --key a --proof p --proof env:Q", { values: { key: "a", proof: ["p", "env:Q"] } }],
    [
      "acp --snapshot -- a",
      { name: "acp", words: ["a"], values: { snapshot: true, yes: false, "deny-writes": false } },
    ],
    ["acp -- node agent.mjs --yes", { words: ["node", "agent.mjs", "--yes"], values: { yes: false } }],
    ["acp --root a=. --yes agent", { words: ["agent"], values: { yes: true } }],
    ["key new alice", { name: "key new", words: ["alice"] }],
    ["key new --config c alice", { name: "key new", words: ["alice"], values: { config: "c" } }],
    ["key --config c new alice", { name: "key new", words: ["alice"], values: { config: "c" } }],
    ["key show", { name: "key show", words: [] }],
    ["grant --to d --can=crud --with=a --with b --can crud", { order: ["to", "can", "with", "with", "can"] }],
    ["token inspect - --json --key a", { name: "token inspect", words: ["-"], values: { key: "a", json: true } }],
    // One id in 64 looks like an option.
    [`revoke ${DASHED} --config c did:key:z`, { name: "revoke", words: ["did:key:z", DASHED] }],
    ["--version", { is: "version" }],
    ["-V", { is: "version" }],
    ["serve --version", { is: "version" }],
  ])("%s", (line, expected) => {
    expect(read(line.split(" "))).toMatchObject(expected);
  });

  test("the hash of an asset can name an operation", () => {
    const seed = "5eed".repeat(16);
    expect(read(["call", seed])).toMatchObject({ words: [seed] });
  });
});

describe("help is given for", () => {
  test.each<[string, string | undefined]>([
    ["--help", undefined],
    ["-h", undefined],
    ["help files", "<command>"],
    ["help", undefined],
    ["help serve", "serve"],
    ["--help serve", "serve"],
    ["serve --help", "serve"],
    ["serve -h", "serve"],
    ["mcp --root a=. --help", "mcp"],
    ["mcp --help --root a=.", "mcp"],
    ["call --help", "call"],
    ["call file:read --help", "call"],
    ["call file:read {} -h", "call"],
    ["serve --nonsense --help", "serve"],
    ["serve --config --help", "serve"],
    ["serve --port x --help", "serve"],
    ["serve --help=1", "serve"],
    ["help key", "key"],
    ["key --help", "key"],
    ["audit --help", "audit verify"],
    ["help audit", "audit verify"],
    ["key new --help", "key new"],
    ["key new alice -h", "key new"],
    ["help token inspect", "token inspect"],
    ["token nonsense --help", "token"],
    ["grant --help", "grant"],
    ["--version --help", undefined],
    ["help lock", "lock ls"],
    ["lock --help", "lock ls"],
  ])("%s", async (line, topic = ": file access for agents") => {
    const { status, stdout } = await runHere(line.split(" "));
    expect([status, stdout.startsWith(`venue-files ${topic}`) || stdout.startsWith(`venue-files${topic}`)]).toEqual([
      0,
      true,
    ]);
  });
});

test("a word is told without control characters of its author", async () => {
  expect((await runHere(["\u001b[2J"])).stderr).toMatch(/^Unknown command '\\u\{1b\}\[2J'/);
});

describe("a token or a key in place of what names it is refused, and not repeated:", () => {
  const seed = "5eed".repeat(16);
  const token = `eyJhbGciOiJFZERTQSJ9.${"eyJpc3MiOiJkaWQ6a2V5In0"}.${"c2ln".repeat(20)}`;
  test.each<[string]>([
    [`call file:roots --key ${seed}`],
    [`call file:roots --key=${seed.toUpperCase()}`],
    [`call file:roots --key 0x${seed}`],
    [`call file:roots --key env:${seed}`],
    [`call file:roots --key a --proof ${token}`],
    [`mcp --key a --proof env:${token}`],
    [`token inspect ${token}`],
    [`token inspect env:${token}`],
    [`token inspect t --config ${token}`],
    [`revoke ${token} --config c`],
    [`revoke --token ${token} --config c`],
    [`key new ${seed}`],
    [`key show ${seed}`],
    [`grant --to d --with file://a --can crud --key ${seed}`],
    [`grant --to ${token} --key a`],
    [`serve ${seed}`],
    [`key ${seed}`],
    [`help serve ${token}`],
    [token],
    [seed],
  ])("%#", async (line) => {
    const { stderr: message } = await runHere(line.split(" "));
    expect(message).toMatch(/^.*seems to be a token or a key itself.* FILE or env:NAME\nSee: /);
    expect(message.toLowerCase()).not.toContain(seed.slice(0, 8));
    expect(message).not.toContain("eyJ");
  });
});

describe("a duration", () => {
  test.each<[string, number | undefined]>([
    ["90s", 90],
    ["15m", 900],
    ["1h", 3600],
    ["7d", 604_800],
    ["999999999s", 999_999_999],
    ["1234567890s", undefined],
    ["0s", undefined],
    ["01h", undefined],
    ["1", undefined],
    ["h", undefined],
    ["-1h", undefined],
    ["1.5h", undefined],
    ["1 h", undefined],
    ["1H", undefined],
    ["1h30m", undefined],
    ["1w", undefined],
    ["", undefined],
  ])("%s is %p seconds", (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.each<[number, string]>([
    [0, "0 s"],
    [59.9, "59 s"],
    [60, "1 min"],
    [61, "1 min 1 s"],
    [3600, "1 h"],
    [3601, "1 h"],
    [5400, "1 h 30 min"],
    [86_400 * 7 - 1, "6 d 23 h"],
  ])("of %p seconds is shown as %s", (seconds, text) => {
    expect(printDuration(seconds)).toBe(text);
  });

  test("ends at a time that is shown in UTC", () => {
    expect(printTime(1_700_000_000)).toBe("2023-11-14T22:13:20Z");
    expect(printTime(99_999_999_999)).toBe("5138-11-16T09:46:39Z");
  });
});

describe("the help text", () => {
  const general = helpText([], true);
  const pageFor = (name: string) => helpText(name.split(" "), true);

  const groups = general.split("\n\n").slice(1, 9);

  test("in general is in groups, each with an example", () => {
    const titles = groups.map((group) => group.split("\n")[0]);
    expect(titles).toEqual([
      "Begin",
      "Serve and configure",
      "Files, on ROOT:PATH, with the flags of their namesakes",
      "Tokens and keys",
      "Access to a venue that runs",
      "Backup",
      "Drives of users",
      "Several instances of one venue",
    ]);
    for (const group of groups) expect(group).toMatch(/^ {2}Example: venue-files \S/m);
  });

  test.each([...Object.keys(COMMANDS), ...Object.keys(FILE_COMMANDS)])("in general names the command %s", (command) => {
    expect(
      groups.filter((group) => new RegExp(`^  (?:.*[ ,])??${command}\\b`, "m").test(group)).length,
    ).toBeGreaterThan(0);
  });

  test("is ten lines at most where nothing was asked", async () => {
    const lines = (await runHere([])).stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(10);
    expect(lines.filter((line) => line.startsWith("  venue-files "))).toHaveLength(3);
  });

  test("on the commands that begin with one word is theirs together", () => {
    expect(pageFor("key")).toBe(`${pageFor("key new")}\n${pageFor("key show")}`);
    const token = ["token issue", "token ls", "token revoke", "token inspect", "token identity"] as const;
    expect(pageFor("token")).toBe(token.map((name) => pageFor(name)).join("\n"));
  });

  test.each(Object.entries(COMMANDS))("of %s names its options and no others", (command, { options }) => {
    const text = pageFor(command);
    expect(text).toContain(`venue-files ${command}`);
    const named = new Set([...text.matchAll(/--([a-z][a-z-]*)/g)].map(([, name]) => name));
    // One more may be spoken of: that of the example.
    expect([...named].sort()).toEqual(Object.keys(options).sort());
  });

  test("fits a terminal", () => {
    const texts = [general, pageFor("files"), START, ...Object.keys(COMMANDS).map((name) => pageFor(name))];
    for (const line of texts.join("\n").split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });
});

// Flags that the namesakes have, and whole directories in and out.
describe("flags of file commands", () => {
  const NUMBERS = Array.from({ length: 12 }, (_, index) => `${index + 1}\n`).join("");
  let folder: string;
  beforeEach(() => {
    folder = makeFolder({
      "docs/big.bin": Buffer.alloc(1_300_000),
      "docs/numbers.txt": NUMBERS,
      "docs/sub/README.md": "readme",
      "docs/sub/deep/a.txt": "a",
    });
    utimesSync(join(folder, "docs/big.bin"), 1, 1);
    utimesSync(join(folder, "docs/numbers.txt"), 3, 3);
    utimesSync(join(folder, "docs/sub"), 2, 2);
  });
  const on = (args: readonly string[], more?: Stage) => runFileLine(folder, [...args, "--root", "d=docs"], more);
  const ok = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await on(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  };

  test("ls -lh shows sizes for people, ls -t what was changed last first", async () => {
    expect(await ok("ls", "-lh", "d:")).toMatch(/^- 1\.2 MB 1970-01-01 00:00 big\.bin$/m);
    expect(await ok("ls", "-l", "d:")).toMatch(/^- 1300000 /m);
    expect(await ok("ls", "-t", "d:")).toBe("numbers.txt\nsub\nbig.bin\n");
  });

  test("du -h and tree -h show sizes for people", async () => {
    expect(await ok("du", "-sh", "d:")).toBe("1.2 MB\td:\n");
    expect(await ok("tree", "-h", "d:")).toContain("big.bin (1.2 MB)");
  });

  test.each([
    ["head", "-2", "1\n2\n"],
    ["tail", "-2", "11\n12\n"],
    ["tail", "-0", ""],
  ])("%s %s is that many lines", async (command, lines, shown) => {
    expect(await ok(command, lines, "d:numbers.txt")).toBe(shown);
  });

  test("find -iname matches in any case", async () => {
    expect(await ok("find", "d:", "-iname", "readme.MD")).toBe("d:sub/README.md\n");
    expect(await ok("find", "d:", "-name", "readme.md")).toBe("");
    expect(await ok("find", "d:", "-iname", "[q-s]EAD*")).toBe("d:sub/README.md\n");
  });

  test.each([
    ["a1", "[aA]1"],
    ["\\a", "\\a"],
    ["[a-z]x", "[a-zA-Z][xX]"],
    ["[!b]", "[!bB]"],
    ["ß*?", "ß*?"],
    ["É", "[Éé]"],
  ])("the glob %s in any case is %s", (glob, made) => {
    expect(ignoreCaseGlob(glob)).toBe(made);
  });

  const ESCAPE = "\u001b[";
  test("--color decides over the terminal, and that over NO_COLOR", async () => {
    const isColoured = async (args: string[], stage: Stage = {}) =>
      (await on(["ls", "-1", ...args, "d:"], stage)).stdout.includes(ESCAPE);
    expect(await isColoured([])).toBe(false);
    expect(await isColoured([], { tty: true })).toBe(true);
    expect(await isColoured([], { tty: true, env: { NO_COLOR: "1" } })).toBe(false);
    expect(await isColoured(["--color"], { env: { NO_COLOR: "1" } })).toBe(true);
    expect(await isColoured(["--color=auto"], { tty: true })).toBe(true);
    expect(await isColoured(["--color=never"], { tty: true })).toBe(false);
    expect(() => readFileLine("ls", ["--color=blue"])).toThrow(
      new UsageError("--color takes always, auto or never, not 'blue'"),
    );
  });

  test("-h is help only where no namesake has it", () => {
    expect(readFileLine("cat", ["-h"])).toBe("help");
    for (const command of ["ls", "du", "tree"] as const) {
      expect(readFileLine(command, ["-h", "d:"])).toMatchObject({ values: { "human-readable": true } });
      expect(readFileLine(command, ["--help"])).toBe("help");
    }
  });

  describe("tail -f", () => {
    test("shows what is appended, a shorter file anew, and ends when it is stopped", async () => {
      const path = join(folder, "docs/numbers.txt");
      const running = start(["tail", "-1", "-f", "d:numbers.txt", "--root", "d=docs"], { cwd: folder });
      await running.until(/^12\n/);
      appendFileSync(path, "13\n");
      await running.until(/^12\n13\n/);
      truncateSync(path);
      writeFileSync(path, "new\n");
      await running.until(/^12\n13\nnew\n/);
      expect(await running.stop("SIGINT")).toMatchObject({ status: 0, stdout: "12\n13\nnew\n" });
    });

    test("follows one file", async () => {
      expect(await on(["tail", "-f", "d:a", "d:b"])).toMatchObject({ status: 64 });
    });
  });

  describe("whole directories", () => {
    test("come out, and go in again under another name", async () => {
      expect(await ok("get", "-r", "d:sub")).toBe("");
      expect(readFileSync(join(folder, "sub/deep/a.txt"), "utf8")).toBe("a");
      await ok("get", "-r", "d:sub", "other");
      expect(readFileSync(join(folder, "other/README.md"), "utf8")).toBe("readme");
      await ok("put", "-r", "other", "d:again");
      await ok("put", "-r", "other", "d:again");
      expect(await ok("find", "d:again", "-type", "f")).toBe(
        "d:again/deep/a.txt\nd:again/other/deep/a.txt\nd:again/other/README.md\nd:again/README.md\n",
      );
      await ok("get", "-r", "d:", "whole");
      expect(readFileSync(join(folder, "whole/numbers.txt"), "utf8")).toBe(NUMBERS);
    });

    test("need -r, and replace local files only with -f", async () => {
      expect(await on(["get", "d:sub"])).toMatchObject({ status: 1 });
      await ok("get", "-r", "d:sub");
      expect(await on(["get", "-r", "d:sub"])).toMatchObject({ status: 66, stderr: expect.stringContaining("say -f") });
      await ok("get", "-rf", "d:sub");
    });

    test("leave links out in both directions, and say so", async () => {
      mkdirSync(join(folder, "mine"));
      symlinkSync("/etc", join(folder, "mine/etc"));
      symlinkSync("../numbers.txt", join(folder, "docs/sub/link"));
      expect(await on(["put", "-r", "mine", "d:mine"])).toMatchObject({
        status: 1,
        stderr: "venue-files: left out: mine/etc: neither a file nor a directory\n",
      });
      expect(await on(["get", "-r", "d:sub"])).toMatchObject({
        status: 1,
        stderr: "venue-files: left out: d:sub/link: neither a file nor a directory\n",
      });
      expect(await ok("ls", "d:mine")).toBe("");
    });

    test("never write outside of the target, whatever names a venue elsewhere gives", async () => {
      const entry = (name: string) => ({ name, type: "file", size: 1, modified: 1 });
      const answers: Record<string, (path: string) => unknown> = {
        "file:stat": (path) => ({ exists: true, type: path === "evil" ? "directory" : "file", size: 1, modified: 1 }),
        "file:list": () => ({ entries: ["../up", "..", "/abs", "a/b", "", "fine"].map(entry), truncated: false }),
        "file:read": () => ({ content: "eA==", eof: true }),
      };
      const server = createServer(async (request, response) => {
        let text = "";
        for await (const chunk of request) text += String(chunk);
        const { operation, input } = JSON.parse(text) as { operation: string; input: { path: string } };
        const output = answers[operation]?.(input.path);
        response.writeHead(201).end(JSON.stringify({ status: "COMPLETE", output }));
      }).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const got = await runFileLine(folder, ["get", "-r", "d:evil", "--url", url]);
      expect(got.status).toBe(1);
      expect(got.stderr.match(/left out/g)).toHaveLength(5);
      const here = await runFileLine(folder, ["find", "here:", "--root", `here=${folder}`, "-name", "up"]);
      expect(here.stdout).toBe("");
      expect(readFileSync(join(folder, "evil/fine"), "utf8")).toBe("x");
      server.close().closeAllConnections();
    });
  });
});

async function command(...argv: string[]) {
  const found = await findFileCommand(argv);
  const run = found && readFileLine(found.name, found.args);
  if (run === undefined) throw new Error("It is no command on files");
  return run;
}
const NAMES = Object.keys(FILE_COMMANDS).filter(isFileCommand);

describe("a command line on files", () => {
  test("has the short options of its namesake, together too", async () => {
    const short = { long: true, all: true, one: true, time: false, "human-readable": false };
    expect(await command("ls", "-la1", "d:")).toMatchObject({ name: "ls", values: short, words: ["d:"] });
    expect(await command("head", "-n", "5", "d:a")).toMatchObject({ values: { lines: "5" } });
    expect(await command("head", "-n5", "d:a")).toMatchObject({ values: { lines: "5" } });
  });

  test("takes the options of 'call', before the command and behind it", async () => {
    const calls = { source: { file: "v.json5", roots: ["a=b", "c=d:ro"] }, capsFile: "c.json5" };
    const options = ["--config", "v.json5", "--root", "a=b", "--root=c=d:ro", "--caps", "c.json5"];
    expect(await command("ls", ...options, "a:")).toMatchObject({ calls, words: ["a:"] });
    expect(await command(...options, "ls", "a:")).toMatchObject({ calls, words: ["a:"] });
    const caller = { key: "alice", proofs: ["a.ucan"] };
    expect(await command("ls", "--key", "alice", "--proof", "a.ucan")).toMatchObject({ calls: { caller } });
  });

  test("takes any text for an edit", async () => {
    const edit = await command("edit", "d:a", "--old", "--x", "--new", "");
    expect(edit).toMatchObject({ values: { old: "--x", new: "" } });
  });

  test.each([
    [["ls", "--lnog"], "'ls' has no option --lnog - did you mean '--long'?"],
    [["cat", "-l", "d:a"], "'cat' has no option -l"],
    [["ls", "--long=yes"], "--long takes no value"],
    [["head", "-n"], "-n needs a value"],
    [["head", "-n", "-3", "d:a"], "-n needs a value"],
    [["edit", "--expect", "1", "--expect", "2"], "--expect is given more than once"],
    [["ls", "--proof", "a.ucan"], "--proof needs --key: without it the caller is the operator, who needs no proof"],
  ])("%j is refused: %s", async (argv, message) => {
    await expect(command(...argv)).rejects.toThrow(message);
  });

  test("shows no token", async () => {
    const token = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`;
    for (const argv of [
      ["ls", token],
      ["ls", "--key", token],
      ["head", "-n", token, "d:a"],
    ]) {
      await expect(command(...argv)).rejects.toThrow(/seems to be a token or a key itself/);
    }
  });

  test.each(NAMES)("has help: %s", async (name) => {
    const help = helpText([name], true);
    expect(await command(name, "--help")).toBe("help");
    expect(await command(name, "--wrong", "--help")).toBe("help");
    expect(help.startsWith(`venue-files ${name}`)).toBe(true);
    for (const option of Object.keys(fileOptions(name))) expect(help).toMatch(new RegExp(`--?${option}\\b`));
    expect(help.split("\n").every((line) => line.length <= 120)).toBe(true);
    expect(helpText(["files"], true)).toContain(`venue-files ${name} `);
  });
});

test("a place is a root and a path in it", () => {
  expect(placeOf("docs:a/b:c")).toEqual({ root: "docs", path: "a/b:c" });
  expect(placeOf("docs:")).toEqual({ root: "docs", path: "" });
  for (const word of ["docs", ":a", ""])
    expect(() => placeOf(word)).toThrow(/names no root: say ROOT:PATH.*the NAME of --root NAME=FOLDER, or the folder/);
});

function sourceIn(argv: readonly string[]): ConfigSource {
  if (argv[0] === "ls") {
    const run = readFileLine("ls", argv.slice(1));
    if (run !== "help") return run.calls.source;
  }
  const found = findCommand(argv);
  const line = readLine(found.args, found);
  if (typeof line === "string") throw new Error("a command with roots was expected");
  return {
    ...sourceOf(line.values as Values<typeof SOURCE>),
    ...(found.name === "mcp" && line.words.length > 0 ? { folders: line.words } : {}),
  };
}

const rootsOf = (cwd: string, ...argv: string[]) => loadOneConfig(sourceIn(argv), cwd).file.roots;

describe("the folders of mcp", () => {
  test("are roots named like them, numbered when alike, and protect .git and settings of clients", () => {
    const cwd = makeFolder();
    for (const path of ["a/work", "b/work"]) mkdirSync(join(cwd, path), { recursive: true });
    expect(rootsOf(cwd, "mcp", "a/work", "b/work", "--root", "docs=a")).toMatchObject({
      docs: { path: join(cwd, "a"), protect: ["@git", "@clients"] },
      work: { path: join(cwd, "a/work"), protect: ["@git", "@clients"] },
      "work-2": { path: join(cwd, "b/work"), protect: ["@git", "@clients"] },
    });
  });

  test("protect nothing by --no-protect but what --protect names", () => {
    const cwd = makeFolder();
    const roots = rootsOf(cwd, "mcp", ".", "--no-protect", "--protect", "*.lock");
    expect(Object.values(roots)).toMatchObject([{ protect: ["*.lock"] }]);
  });

  test("may begin with ~", () => {
    expect(Object.values(rootsOf("/", "mcp", "~/x"))).toMatchObject([{ path: join(homedir(), "x") }]);
    expect(Object.values(rootsOf("/", "mcp", "--root", "w=~"))).toMatchObject([{ path: homedir() }]);
  });
});

test.each([["serve"], ["check"], ["mcp"], ["call", "file:roots"], ["ls", "a:"], ["acp", "agent"]])(
  "roots given by --root protect .git and settings of clients, unless --no-protect: %s",
  (...words) => {
    const cwd = makeFolder();
    const roots = (...flags: string[]) =>
      rootsOf(cwd, ...words.slice(0, 1), "--root", "a=.", ...flags, ...words.slice(1));
    expect(roots()).toMatchObject({ a: { protect: ["@git", "@clients"] } });
    expect(roots("--no-protect")).toMatchObject({ a: { protect: [] } });
    expect(roots("--no-protect", "--protect", "@instructions")).toMatchObject({ a: { protect: ["@instructions"] } });
    writeFileSync(join(cwd, "c.json5"), '{ file: { roots: { mine: "." } } }');
    // What a configuration says of its own roots holds.
    expect(roots("--config", join(cwd, "c.json5"))).toMatchObject({ mine: { protect: [] } });
  },
);

test("mcp warns of a root that holds the keys of venue-files, and of no other", async () => {
  const home = makeFolder({ "state/venue-files/keys/me": "x", "work/a.txt": "" });
  const options = { cwd: home, env: { HOME: home, XDG_STATE_HOME: join(home, "state") }, input: "" };
  const ended = await run(["mcp", ".", "work", "--no-protect"], options);
  const warnings = ended.stderr.split("\n").filter((line) => line.includes("holds keys"));
  expect(ended.status).toBe(0);
  expect(warnings).toEqual([
    expect.stringMatching(/^Warning: root 'venue-files-test-\w+' holds keys and tokens of venue-files/),
  ]);
});

describe("--deny, --protect and --read-only", () => {
  test.each([["serve"], ["check"], ["mcp"], ["call", "file:roots"], ["ls", "a:"], ["acp", "agent"]])(
    "narrow every root, those of the configuration too: %s",
    (...words) => {
      const cwd = makeFolder();
      const file = join(cwd, "c.json5");
      writeFileSync(file, '{ file: { roots: { a: { path: ".", deny: ["x"], protect: ["y"] } } } }');
      const flags = ["--config", file, "--root", "b=.", "--deny", "@secrets", "--protect", "@git", "--read-only"];
      expect(rootsOf(cwd, ...words.slice(0, 1), ...flags, ...words.slice(1))).toMatchObject({
        a: { deny: ["x", "@secrets"], protect: ["y", "@git"], readOnly: true },
        b: { deny: ["@secrets"], protect: ["@git", "@clients", "@git"], readOnly: true },
      });
    },
  );

  test("take no set that there is not", () => {
    expect(() => rootsOf("/", "serve", "--root", "a=/tmp", "--protect", "@gti")).toThrow(
      "--protect must be a glob: there is no set '@gti'",
    );
  });
});

describe("--root [NAME=]PATH[:ro]", () => {
  test.each([
    ["docs=manuals", "docs", "/cwd/manuals", false],
    ["docs=manuals:ro", "docs", "/cwd/manuals", true],
    ["docs=/abs:ro", "docs", "/abs", true],
    ["docs=.", "docs", "/cwd", false],
    ["a.b-c=../x/", "a.b-c", "/x", false],
    ["docs=a=b", "docs", "/cwd/a=b", false],
    ["docs=a:ro:ro", "docs", "/cwd/a:ro", true],
    ["docs=a:ro/", "docs", "/cwd/a:ro", false],
    ["docs=a:rw", "docs", "/cwd/a:rw", false],
    ["docs=:ro/x", "docs", "/cwd/:ro/x", false],
  ])("%s", (text, name, path, readOnly) => {
    expect(parseRootArgument(text, "/cwd")).toEqual({ name, root: { path, readOnly } });
  });

  test.each([
    ["manuals", "/cwd/manuals", false],
    ["/abs/manuals:ro", "/abs/manuals", true],
    [".", "/cwd", false],
    ["./a=b", "/cwd/a=b", false],
    ["/srv/x=y:ro", "/srv/x=y", true],
  ])("%s has no name", (text, path, readOnly) => {
    expect(parseRootArgument(text, "/cwd")).toEqual({ name: undefined, root: { path, readOnly } });
  });

  test.each(["docs=", "docs=:ro", "=manuals", "", ":ro"])("'%s' is refused with an example", (text) => {
    const error = configErrorOf(() => parseRootArgument(text, "/cwd"));
    expect(error?.exitStatus).toBe(78);
    expect(error?.problems).toEqual([
      `Cannot read --root '${text}': expected PATH or NAME=PATH, for example --root docs=./docs or --root ./docs:ro`,
    ]);
  });

  test.each(["my docs", "-docs", "__proto__", "x".repeat(64)])("the name '%s' is refused with an example", (name) => {
    expect(problemsOf(() => parseRootArgument(`${name}=x`, "/cwd"))).toEqual([
      `Cannot read --root '${name}=x': the name must be a letter or digit, then at most 62 letters, digits, '.', '_' or '-', for example --root docs=./docs or --root ./docs:ro`,
    ]);
  });
});

describe("several --root options", () => {
  test("become the extra roots of a config, in their order", () => {
    const extraRoots = parseRootArguments(["b=x", "a=y:ro"], "/cwd");
    const { roots } = parseConfig({}, { baseDir: "/base", extraRoots }).file;
    expect(Object.entries(roots)).toMatchObject([
      ["b", { kind: "host", path: "/cwd/x", readOnly: false }],
      ["a", { kind: "host", path: "/cwd/y", readOnly: true }],
    ]);
  });

  test("bare folders may be read-only as in --root", () => {
    const folders = ["docs", "notes:ro", "odd:ro:ro", "odd2:ro/"];
    const roots = parseRootArguments([], "/srv", { folders, protect: ["@git"] });
    expect(Object.values(roots).map(({ path, readOnly, protect }) => [path, readOnly, protect])).toEqual([
      ["/srv/docs", false, ["@git"]],
      ["/srv/notes", true, ["@git"]],
      ["/srv/odd:ro", true, ["@git"]],
      ["/srv/odd2:ro", false, ["@git"]],
    ]);
  });

  test("without names are called like their folders, numbered where two are alike", () => {
    const texts = ["docs=x", "/a/docs", "/b/docs:ro", "/c/my notes", "/d/.config", "/e/ä", "/", `/f/${"n".repeat(80)}`];
    expect(Object.entries(parseRootArguments(texts, "/cwd"))).toEqual([
      ["docs", { path: "/cwd/x", readOnly: false }],
      ["docs-2", { path: "/a/docs", readOnly: false }],
      ["docs-3", { path: "/b/docs", readOnly: true }],
      ["my-notes", { path: "/c/my notes", readOnly: false }],
      ["config", { path: "/d/.config", readOnly: false }],
      ["root", { path: "/e/ä", readOnly: false }],
      ["root-2", { path: "/", readOnly: false }],
      ["n".repeat(58), { path: `/f/${"n".repeat(80)}`, readOnly: false }],
    ]);
  });

  test("without names give way to a name that is given later", () => {
    expect(Object.keys(parseRootArguments(["/a/docs", "docs=x"], "/cwd"))).toEqual(["docs-2", "docs"]);
  });

  test("that are none give none", () => {
    expect(Object.keys(parseRootArguments([], "/cwd"))).toEqual([]);
  });

  test("have all their problems reported together", () => {
    expect(problemsOf(() => parseRootArguments(["a=x", "bad=", "a=y"], "/cwd"))).toEqual([
      expect.stringContaining("Cannot read --root 'bad=': "),
      "Root 'a' is given twice by --root",
    ]);
  });
});
