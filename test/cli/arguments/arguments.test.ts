import { describe, expect, test } from "@jest/globals";
import { parseDuration, printDuration, printTime } from "../../../src/cli/arguments/duration.js";
import { findCommand } from "../../../src/cli/arguments/find-command.js";
import { readLine } from "../../../src/cli/arguments/read.js";
import { COMMANDS } from "../../../src/cli/commands/all.js";
import { FILE_COMMANDS } from "../../../src/cli/commands/files.js";
import { helpText, START } from "../../../src/cli/help/help.js";
import { runHere } from "../in-process.js";

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

  const groups = general.split("\n\n").slice(1, 8);

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
