import { describe, expect, test } from "@jest/globals";
import { type Command, parseCommandLine } from "../../../src/cli/arguments/arguments.js";
import { parseDuration, printDuration, printTime } from "../../../src/cli/arguments/duration.js";
import { FILE_COMMANDS } from "../../../src/cli/arguments/files/options.js";
import { COMMANDS, type HelpTopic, UsageError } from "../../../src/cli/arguments/options.js";
import { helpText } from "../../../src/cli/help/help.js";

const ALL = [
  "init, serve, check, mcp, doctor, health, completion, call, acp, key, grant, link, token, approvals, lock, revoke, audit, backup, drive, help",
  ...Object.keys(FILE_COMMANDS),
].join(", ");

const none = { file: undefined, roots: [] };
const read = { with: "file://docs/", can: "crud/read" };
const write = { with: "file://b", can: "crud" };
const granted = {
  name: "grant",
  to: "did:key:z",
  capabilities: [read],
  key: "a",
  proofs: [],
  profile: "covia",
} as const;
const DASHED = `-${"a".repeat(42)}`;
const inspected = { name: "token inspect", token: "t", json: false } as const;

const watched = { name: "acp", source: none, agent: ["agent"], answer: "ask", snapshot: false } as const;

describe("a command line is understood:", () => {
  test.each<[string, Partial<Command>]>([
    ["serve", { name: "serve", source: none }],
    ["serve --port 0", { name: "serve", source: { ...none, listener: { port: 0 } } }],
    ["serve --port=65535", { name: "serve", source: { ...none, listener: { port: 65_535 } } }],
    ["--port 80 serve", { name: "serve", source: { ...none, listener: { port: 80 } } }],
    ["check --host ::1", { name: "check", source: { ...none, listener: { hostname: "::1" } } }],
    ["serve --config a.json5", { name: "serve", source: { file: "a.json5", roots: [] } }],
    ["serve --root a=. --root b=x:ro", { name: "serve", source: { file: undefined, roots: ["a=.", "b=x:ro"] } }],
    ["serve --config=-odd", { name: "serve", source: { file: "-odd", roots: [] } }],
    ["mcp", { name: "mcp", source: none, capsFile: undefined }],
    ["mcp --caps c --root a=.", { name: "mcp", source: { file: undefined, roots: ["a=."] }, capsFile: "c" }],
    ["call file:roots", { name: "call", source: none, capsFile: undefined, operation: "file:roots", input: "{}" }],
    [
      'call file:stat {"root":"a"} --caps c',
      { name: "call", source: none, capsFile: "c", operation: "file:stat", input: '{"root":"a"}' },
    ],
    ["call file:roots -", { name: "call", source: none, operation: "file:roots", input: "-" }],
    [
      "call file:roots --key a --proof p --proof env:Q",
      {
        name: "call",
        source: none,
        caller: { key: "a", proofs: ["p", "env:Q"] },
        operation: "file:roots",
        input: "{}",
      },
    ],
    [
      "call file:roots --url https://h/v/ --token env:T --proof p --caps c",
      {
        ...{ name: "call", source: none, capsFile: "c", operation: "file:roots", input: "{}" },
        remote: { url: "https://h/v", token: "env:T", proofs: ["p"] },
      },
    ],
    ["acp --snapshot -- a", { ...watched, agent: ["a"], snapshot: true }],
    ["acp -- node agent.mjs --yes", { ...watched, agent: ["node", "agent.mjs", "--yes"] }],
    ["acp --root a=. --yes agent", { ...watched, source: { file: undefined, roots: ["a=."] }, answer: "allow" }],
    ["acp --deny-writes --caps c --prompt p -- agent", { ...watched, capsFile: "c", prompt: "p", answer: "reject" }],
    ["mcp --key ./k.seed", { name: "mcp", source: none, caller: { key: "./k.seed", proofs: [] } }],
    ["key new alice", { name: "key new", key: "alice" }],
    ["key new --config c alice", { name: "key new", key: "alice", config: "c" }],
    ["key show", { name: "key show", key: undefined }],
    ["key show env:K", { name: "key show", key: "env:K" }],
    ["grant --to did:key:z --with file://docs/ --can crud/read --key a", granted],
    [
      "grant --to did:key:z --with file://docs/ --can crud/read --with file://b --can crud --key a --for 2m --out -",
      { ...granted, capabilities: [read, write], lifetimeSeconds: 120, out: "-" },
    ],
    [
      "grant --key a --config c --to did:key:z --can=crud/read --with=file://docs/ --proof p --proof q --profile ucan-0.8",
      { ...granted, config: "c", proofs: ["p", "q"], profile: "ucan-0.8" },
    ],
    ["token inspect t", inspected],
    ["token inspect - --json --key a", { ...inspected, token: "-", key: "a", json: true }],
    ["token inspect t --with file://docs/ --can crud/read", { ...inspected, wanted: read }],
    [
      "token identity --to did:web:v --key a --for 90s",
      { name: "token identity", to: "did:web:v", key: "a", lifetimeSeconds: 90 },
    ],
    ["revoke did:key:z --config c", { name: "revoke", entries: ["did:key:z"], config: "c", acceptList: false }],
    ["revoke --token t --config c", { name: "revoke", entries: [], token: "t", config: "c", acceptList: false }],
    // One id in 64 looks like an option.
    [
      `revoke ${DASHED} --config c did:key:z`,
      { name: "revoke", entries: ["did:key:z", DASHED], config: "c", acceptList: false },
    ],
    ["revoke --accept-list --config c", { name: "revoke", entries: [], config: "c", acceptList: true }],
    ["audit verify a a.1 --json", { name: "audit verify", files: ["a", "a.1"], json: true }],
    [
      "audit verify --config c --did did:key:z",
      { name: "audit verify", files: [], config: "c", did: "did:key:z", json: false },
    ],
    ["--version", { name: "version" }],
    ["-V", { name: "version" }],
    ["serve --version", { name: "version" }],
  ])("%s", (line, command) => {
    expect(parseCommandLine(line.split(" "))).toEqual(command);
  });
});

describe("help is given for", () => {
  test.each<[string, string | undefined]>([
    ["--help", undefined],
    ["-h", undefined],
    ["help files", "files"],
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
  ])("%s", (line, topic) => {
    expect(parseCommandLine(line.split(" "))).toEqual({ name: "help", topic });
  });
});

const PAIRS = "Each --with needs one --can beside it: --with file://docs/reports/ --can crud/read";
const duration = (text: string) =>
  `--for takes a whole number and s, m, h or d, such as 90s, 15m, 1h or 7d, not '${text}'`;

describe("a command line is refused:", () => {
  test.each<[string, string]>([
    ["--root a=.", "A command is missing. Try: venue-files serve"],
    ["srve", "Unknown command 'srve' - did you mean 'serve'?"],
    ["hepl", "Unknown command 'hepl' - did you mean 'help'?"],
    ["frobnicate", `Unknown command 'frobnicate'. Commands: ${ALL}`],
    ["help frobnicate", `Unknown command 'frobnicate'. Commands: ${ALL}`],
    ["frobnicate --help", `Unknown command 'frobnicate'. Commands: ${ALL}`],
    ["help serve mcp", "'help' takes one command, not also 'mcp'"],
    ["toString", `Unknown command 'toString'. Commands: ${ALL}`],
    ["serve --prt 1", "Unknown option '--prt' - did you mean '--port'?"],
    ["serve --frobnicate", "Unknown option '--frobnicate'"],
    ["serve --frobnicate=1", "Unknown option '--frobnicate'"],
    ["serve --toString", "Unknown option '--toString'"],
    ["serve -p 1", "Unknown option '-p'"],
    ["mcp --version=1", "--version takes no value"],
    ["serve --caps c", "'serve' has no option --caps"],
    ["mcp --port 1", "'mcp' has no option --port"],
    ["call file:roots --port 1", "'call' has no option --port"],
    ["serve ./docs", "'serve' takes no argument './docs' - did you mean '--root ./docs'?"],
    ["check venue.json5", "'check' takes no argument 'venue.json5' - did you mean '--config venue.json5'?"],
    ["doctor x", "'doctor' takes no argument 'x'"],
    ["init --prnt", "Unknown option '--prnt' - did you mean '--print'?"],
    ["doctor --prt", "Unknown option '--prt'"],
    ["--versoin", "Unknown option '--versoin' - did you mean '--version'?"],
    ["serve --host http://x/", "--host takes a host name or an IP address, not 'http://x/'"],
    ["serve --port", "--port needs a value, for example --port 8080"],
    ["serve --port=", "--port needs a value, for example --port 8080"],
    ["serve --port -1", "--port needs a value before '-1', for example --port 8080"],
    ["serve --config --port 1", "--config needs a value before '--port', for example --config venue.json5"],
    [`revoke --token ${DASHED}`, `--token needs a value before '${DASHED}', for example --token grant.ucan`],
    ["mcp --caps", "--caps needs a value, for example --caps caps.json5"],
    ["mcp --root", "--root needs a value, for example --root docs=./docs"],
    ["serve --port abc", "--port must be between 0 and 65535, not 'abc'"],
    ["serve --port 65536", "--port must be between 0 and 65535, not '65536'"],
    ["serve --port 1.5", "--port must be between 0 and 65535, not '1.5'"],
    ["serve --port 0x50", "--port must be between 0 and 65535, not '0x50'"],
    ["serve --port=-1", "--port must be between 0 and 65535, not '-1'"],
    ["serve --port 1 --port 2", "--port is given more than once"],
    ["mcp --config a --config b", "--config is given more than once"],
    ["call --caps a file:roots --caps b", "--caps is given more than once"],
    ["help key nwe", "'help' takes one command, not also 'nwe'"],
    ["help key new alice", "'help' takes one command, not also 'alice'"],
    ["key", "'key' needs one of: new, show"],
    ["key shw", "Unknown command 'key shw' - did you mean 'key show'?"],
    [
      "token frobnicate",
      "Unknown command 'token frobnicate'. Commands: token issue, token ls, token revoke, token inspect, token identity",
    ],
    ["key new", "'key new' needs a name or a path for the key, for example: venue-files key new alice"],
    ["key new a b", "'key new' takes no argument 'b'"],
    ["key show a b", "'key show' takes no argument 'b'"],
    ["key new a --key b", "'key new' has no option --key"],
    ["call file:roots --proof p", "--proof needs --key: without it the caller is the operator, who needs no proof"],
    ["call file:roots --key a --key b", "--key is given more than once"],
    ["serve --key a", "'serve' has no option --key"],
    ["grant --key a", `'grant' needs --to, for example --to "$(venue-files key show bob)"`],
    ["grant --to did:key:z", "'grant' needs who signs: --key, or --config for the key of that venue"],
    ["grant --to d --key a", "'grant' needs what is given: --with file://docs/reports/ --can crud/read"],
    ["grant --to d --key a --with file://a", PAIRS],
    ["grant --to d --key a --can crud", PAIRS],
    ["grant --to d --key a --with file://a --can crud --can crud/read", PAIRS],
    ["grant --to d --key a --with file://a --with file://b --can crud --can crud", PAIRS],
    ["grant --to d --key a --with file://a --can crud x", "'grant' takes no argument 'x'"],
    ["grant --to d --key a --with file://a --can crud --for 1w", duration("1w")],
    ["grant --to d --key a --with file://a --can crud --for 0h", duration("0h")],
    ["grant --to d --key a --with file://a --can crud --profile x", "--profile must be covia or ucan-0.8, not 'x'"],
    ["token inspect", "'token inspect' needs a file, env:NAME or -, for example: venue-files token inspect a.ucan"],
    ["token inspect t --with file://a", PAIRS],
    [
      "token inspect t --with file://a --can crud --with file://b --can crud",
      "'token inspect' takes one --with and --can",
    ],
    ["token inspect t --json=1", "--json takes no value"],
    ["token identity --to d", "'token identity' needs --key, for example --key alice"],
    ["revoke --config c", "'revoke' needs the id of a token, a DID, or --token FILE. See: token inspect"],
    ["revoke did:key:z", "'revoke' needs --config, for example --config venue.json5"],
    ["acp", "'acp' needs an agent, for example: venue-files acp -- node agent.mjs"],
    ["acp --", "'acp' needs an agent, for example: venue-files acp -- node agent.mjs"],
    ["acp --yes --deny-writes -- agent", "Only one of --yes and --deny-writes may be given"],
    ["acp --prompt", `--prompt needs a value, for example --prompt "Fix the typos in README.md"`],
    ["call file:roots --token t", "--token needs --url, for example --url http://localhost:8080"],
    ["call file:roots --url http://h --root a=.", "--url asks a venue that has its own configuration: no --root"],
    ["ls --url http://h --config c", "--url asks a venue that has its own configuration: no --config"],
    [
      "ls --url http://h --key alice",
      "--url takes --token in place of --key; make one with: venue-files token identity --to DID --key KEY --out FILE",
    ],
    [
      "ls --url http://me:secret@h",
      "--url takes the address of a venue without credentials, for example --url http://localhost:8080",
    ],
    [
      "ls --url file:///etc",
      "--url takes the address of a venue without credentials, for example --url http://localhost:8080",
    ],
    ["mcp --url http://h", "'mcp' has no option --url"],
    ["call", "'call' needs an operation, for example: venue-files call file:roots"],
    ["call file:stat {} {}", "'call' takes an operation and one JSON object. Quote the JSON"],
    ['call file:stat {"root": "a"}', "'call' takes an operation and one JSON object. Quote the JSON"],
  ])("%s", (line, message) => {
    const words = line.split(" ").filter((word) => word !== "");
    expect(() => parseCommandLine(words)).toThrow(new UsageError(message));
  });

  test("in words without control characters of its author", () => {
    expect(() => parseCommandLine(["\u001b[2J"])).toThrow(/^Unknown command '\\u\{1b\}\[2J'/);
  });
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
  ])("%#", (line) => {
    let message = "";
    try {
      parseCommandLine(line.split(" "));
    } catch (error) {
      message = error instanceof UsageError ? error.message : "another error";
    }
    expect(message).toMatch(/seems to be a token or a key itself.* FILE or env:NAME$/);
    expect(message.toLowerCase()).not.toContain(seed.slice(0, 8));
    expect(message).not.toContain("eyJ");
  });

  test("but the hash of an asset can name an operation", () => {
    expect(parseCommandLine(["call", seed])).toMatchObject({ operation: seed });
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
  const general = helpText();

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

  test("is ten lines at most where nothing was asked", () => {
    expect(parseCommandLine([])).toEqual({ name: "help", topic: "start" });
    const lines = helpText("start").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(10);
    expect(lines.filter((line) => line.startsWith("  venue-files "))).toHaveLength(3);
  });

  test("on the commands that begin with one word is theirs together", () => {
    expect(helpText("key")).toBe(`${helpText("key new")}\n${helpText("key show")}`);
    const token = ["token issue", "token ls", "token revoke", "token inspect", "token identity"] as const;
    expect(helpText("token")).toBe(token.map((name) => helpText(name)).join("\n"));
  });

  test.each(Object.entries(COMMANDS))("of %s names its options and no others", (command, options) => {
    const text = helpText(command as HelpTopic);
    expect(text).toContain(`venue-files ${command}`);
    const named = new Set([...text.matchAll(/--([a-z][a-z-]*)/g)].map(([, name]) => name));
    // One more may be spoken of: that of the example.
    expect([...named].sort()).toEqual([...options].sort());
  });

  test("fits a terminal", () => {
    const texts = [
      general,
      helpText("files"),
      helpText("start"),
      ...Object.keys(COMMANDS).map((name) => helpText(name as HelpTopic)),
    ];
    for (const line of texts.join("\n").split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });
});
