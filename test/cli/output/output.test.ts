import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { Callers } from "../../../src/cli/calls/callers.js";
import { COMMANDS } from "../../../src/cli/commands/all.js";
import { FILE_COMMANDS } from "../../../src/cli/commands/files.js";
import { helpText } from "../../../src/cli/help/help.js";
import { type BannerFacts, banner } from "../../../src/cli/output/banner.js";
import {
  columnLines,
  diffLines,
  factLines,
  longLines,
  nameLines,
  treeLines,
} from "../../../src/cli/output/file-lines.js";
import { HeldFolder } from "../../../src/cli/output/held-folder.js";
import { type Change, changeText, historyLines } from "../../../src/cli/output/history-lines.js";
import { jsonText } from "../../../src/cli/output/json.js";
import { openNewFile, writeNewFile } from "../../../src/cli/output/new-file.js";
import { coloured, plain } from "../../../src/cli/output/paint.js";
import { wrapText } from "../../../src/cli/output/wrap.js";
import { hasProcHandles } from "../../../src/jail/mounts.js";
import { useFileCommands } from "../files/file-stage.js";
import { cleanUp, makeFolder, run } from "../process.js";

afterAll(cleanUp);

const scratch = { name: "scratch", kind: "temp" as const, readOnly: false };
const docs = { name: "docs", kind: "host" as const, readOnly: false, description: "Manuals" };

const facts: BannerFacts = {
  name: "venue-files",
  version: "1.2.3",
  url: "http://localhost:8080",
  did: "did:key:zMe",
  roots: [scratch, docs, { name: "old", kind: "host" as const, readOnly: true }],
  publicCaps: [
    { with: "file://", can: "crud/read" },
    { with: "file://scratch/", can: "crud" },
  ],
  publicAccess: true,
  mcp: true,
  webdav: false,
  tokens: 0,
};

const bannerOf = (changes: Partial<BannerFacts>) => banner({ ...facts, ...changes });
const curlOf = (text: string) => /Try it\n {2}(.*)\n/.exec(text)?.[1];
const operationOf = (text: string) => /"operation":"v\/ops\/file\/(\w+)"/.exec(text)?.[1];

test("tells where it listens, and as whom", () => {
  expect(bannerOf({})).toMatch(/^venue-files 1\.2\.3 listens on http:\/\/localhost:8080\nDID did:key:zMe\n/);
});

test("tells the port that a name outside leads to", () => {
  const outside = { url: "https://files.example.com/files", localUrl: "http://127.0.0.1:41234" };
  expect(bannerOf(outside)).toContain(
    " listens on http://127.0.0.1:41234, known as https://files.example.com/files\nDID",
  );
  expect(bannerOf({ localUrl: facts.url })).toContain(` listens on ${facts.url}\nDID`);
});

test("tells how to mount the roots, where WebDAV is on and there is a port", () => {
  const mount = "WebDAV: mount http://localhost:8080/dav/ with any user name, a token as password.";
  expect(bannerOf({ webdav: true })).toContain(mount);
  expect(bannerOf({})).not.toContain("WebDAV");
  expect(bannerOf({ webdav: true, socket: "/run/v.sock" })).not.toContain("WebDAV");
});

test("shows the roots as a table", () => {
  expect(bannerOf({})).toContain(
    [
      "Roots",
      "  scratch  temp  read-write  anonymous callers: read, write, delete",
      "  docs     host  read-write  anonymous callers: read                 Manuals",
      "  old      host  read-only   anonymous callers: read",
      "",
    ].join("\n"),
  );
});

test("keeps a description on its line", () => {
  const text = bannerOf({
    roots: [{ name: "a", kind: "host" as const, readOnly: false, description: "one\n\u001b[2Jtwo" }],
  });
  expect(text).toContain("one\\u{a}\\u{1b}[2Jtwo\n");
});

describe("what anonymous callers may do in a root:", () => {
  test.each<[string, { with: string; can: string }[], string]>([
    ["no grant", [], "nothing"],
    ["a grant elsewhere", [{ with: "file://other/", can: "crud" }], "nothing"],
    ["a root whose name starts alike", [{ with: "file://docs2/", can: "crud" }], "nothing"],
    ["a grant for every root", [{ with: "file://", can: "*" }], "read, write, delete"],
    ["a grant without the last slash", [{ with: "file://docs", can: "crud/*" }], "read, write, delete"],
    ["one verb", [{ with: "file://docs/", can: "crud/write" }], "write"],
    ["a part of the root", [{ with: "file://docs/pub/", can: "crud/read" }], "read in parts"],
    [
      "more in a part than in all",
      [
        { with: "file://docs/", can: "crud/read" },
        { with: "file://docs/in/", can: "crud" },
      ],
      "read, write in parts, delete in parts",
    ],
  ])("%s", (_name, publicCaps, shown) => {
    const text = bannerOf({ publicCaps, roots: [{ name: "docs", kind: "host" as const, readOnly: false }] });
    expect(/anonymous callers: (.*)/.exec(text)?.[1]).toBe(shown);
  });

  test("a read-only root is only read", () => {
    const roots = [{ name: "docs", kind: "host" as const, readOnly: true }];
    expect(bannerOf({ publicCaps: [{ with: "file://", can: "crud" }], roots })).toContain("anonymous callers: read\n");
  });

  test("nothing where it has an owner, whatever is public", () => {
    const roots = [{ name: "docs", kind: "host" as const, readOnly: false, owner: "did:key:zOwner" }];
    const text = bannerOf({ publicCaps: [{ with: "file://", can: "crud" }], roots });
    expect(text).toContain("anonymous callers: nothing, it has an owner\n");
    expect(text).not.toContain("did:key:zOwner");
  });

  test("nothing where they are not served", () => {
    const text = bannerOf({ publicAccess: false, publicCaps: [] });
    expect(text.match(/anonymous callers: refused/g)).toHaveLength(3);
    expect(text).toContain("Nobody is served without a token; there is no local token, and no configured one.");
    expect(text).not.toContain("MCP");
  });
});

describe("the line to paste", () => {
  test.each<[string, Partial<BannerFacts>, string | undefined]>([
    ["writes into a temp root", {}, "write"],
    ["only looks at a host root, even a writable one", { publicCaps: [{ with: "file://docs/", can: "crud" }] }, "tree"],
    [
      "only looks at a temp root that is read-only",
      { roots: [{ name: "scratch", kind: "temp" as const, readOnly: true }] },
      "tree",
    ],
    [
      "asks for roots where only parts may be read",
      { publicCaps: [{ with: "file://docs/pub/", can: "crud/read" }] },
      "roots",
    ],
    ["asks for the status where nothing may be read", { publicCaps: [] }, undefined],
    [
      "asks for the status where every root has an owner",
      { roots: facts.roots.map((root) => ({ ...root, owner: "did:key:zOwner" })) },
      undefined,
    ],
    ["passes over a root with an owner", { roots: [{ ...scratch, owner: "did:key:zOwner" }, docs] }, "tree"],
    [
      "asks for the status where only parts of a root with an owner are named",
      {
        publicCaps: [{ with: "file://docs/pub/", can: "crud/read" }],
        roots: [{ ...docs, owner: "did:key:zOwner" }, scratch],
      },
      undefined,
    ],
    ["asks for the status where nobody is served", { publicCaps: [], publicAccess: false }, undefined],
  ])("%s", (_name, changes, operation) => {
    const line = curlOf(bannerOf(changes)) ?? "";
    expect(operationOf(line)).toBe(operation);
    if (operation === undefined) expect(line).toBe("curl -s http://localhost:8080/api/v1/status");
  });

  test("quotes what a shell would take apart", () => {
    expect(curlOf(bannerOf({ url: "http://[::1]:80" }))).toMatch(/^curl -s 'http:\/\/\[::1\]:80\/api\/v1\/invoke' /);
  });
});

describe("the MCP client configuration", () => {
  const configurationOf = (text: string): unknown => JSON.parse(/configuration\n([\s\S]*)$/.exec(text)?.[1] ?? "");

  test("is JSON under the name of the venue, whatever that is", () => {
    for (const name of ["venue-files", 'my "own"\nvenue']) {
      expect(configurationOf(bannerOf({ name }))).toEqual({
        mcpServers: { [name]: { type: "http", url: "http://localhost:8080/mcp" } },
      });
    }
  });

  test("is left out where MCP is switched off", () => {
    expect(bannerOf({ mcp: false })).not.toContain("MCP");
  });
});

describe("a local token", () => {
  const text = "t".repeat(43);
  const localToken = { file: "/state/local-token", text };

  test("stands in the line to paste and in the client configuration, and what it does is said", () => {
    const shown = bannerOf({ localToken, publicAccess: false, publicCaps: [] });
    expect(shown).toContain("The token below acts as the operator: everything in every root.");
    expect(curlOf(shown)).toMatch(/^curl -s \S+\/invoke -H 'Authorization: Bearer t{43}' -H 'Content-Type/);
    expect(shown).toContain(`"headers": {\n          "Authorization": "Bearer ${text}"`);
  });

  test("that is not to be shown is named by its file, from which the line reads it", () => {
    const kept = { file: "/my state/local-token" };
    const shown = bannerOf({ localToken: kept });
    expect(shown).toContain("The token in /my state/local-token acts as the operator: everything in every root.");
    expect(curlOf(shown)).toContain(`-H "Authorization: Bearer $(cat '/my state/local-token')" -H`);
    expect(shown).toContain('"mcpServers"');
    expect(shown).not.toContain('"headers"');
  });

  test("that is not to be shown, but needed, has a placeholder in the client configuration", () => {
    const kept = { file: "/state/local-token" };
    for (const publicAccess of [false, true]) {
      const shown = bannerOf({ localToken: kept, publicAccess, publicCaps: [] });
      expect(shown).toContain("\nMCP client configuration; TOKEN stands for that token\n");
      expect(shown).toContain('"Authorization": "Bearer TOKEN"');
    }
    expect(bannerOf({ publicAccess: false, publicCaps: [] })).not.toContain('"mcpServers"');
  });

  test("lets the line write where anonymous callers may not, but only into a temp root", () => {
    expect(operationOf(bannerOf({ localToken, publicCaps: [] }))).toBe("write");
    expect(operationOf(bannerOf({ localToken, publicCaps: [], roots: [docs] }))).toBe("tree");
  });

  test("writes into a temp root that has an owner too", () => {
    expect(operationOf(bannerOf({ localToken, roots: [{ ...scratch, owner: "did:key:zOwner" }] }))).toBe("write");
  });

  test("has others beside it, which are counted", () => {
    expect(bannerOf({ localToken, tokens: 2 })).toContain("Keep it to yourself; 2 configured tokens beside it.");
    expect(bannerOf({ tokens: 1 })).toContain("there is no local token, but 1 configured token.");
  });
});

test("on a socket the line goes there", () => {
  const text = bannerOf({ socket: "/run/my venue.sock", url: "http://localhost" });
  expect(text).toContain("listens on /run/my venue.sock\n");
  expect(curlOf(text)).toMatch(/^curl -s --unix-socket '\/run\/my venue\.sock' http:\/\/localhost\/api\/v1\/invoke /);
});

const entry = (name: string, type = "file", size = 0) => ({ name, type, size, modified: 1_700_000_000_000 });
const ENTRIES = [
  entry("docs", "directory"),
  entry("a.md", "file", 1234),
  entry("link", "symlink"),
  entry("p", "other"),
];

describe("entries of a directory", () => {
  test("are one name a line in a pipe", () => {
    expect(nameLines(ENTRIES, plain)).toBe("docs\na.md\nlink\np\n");
    expect(nameLines([], plain)).toBe("");
  });

  test("have type, size and time in the long form", () => {
    expect(longLines(ENTRIES, plain)).toBe(
      ["d    0", "- 1234", "l    0", "?    0"]
        .map((start, index) => `${start} 2023-11-14 22:13 ${ENTRIES[index]?.name}\n`)
        .join(""),
    );
  });

  test("stand in columns, read downwards, as wide as the terminal lets them", () => {
    const names = ["a", "bb", "ccc", "d", "e"].map((name) => entry(name));
    expect(columnLines(names, 80, plain)).toBe("a    bb   ccc  d    e\n");
    expect(columnLines(names, 13, plain)).toBe("a    ccc  e\nbb   d\n");
    expect(columnLines(names, 1, plain)).toBe("a\nbb\nccc\nd\ne\n");
    expect(columnLines([], 80, plain)).toBe("");
  });

  test("stand out by colour, without moving the columns", () => {
    const shown = columnLines(ENTRIES, 80, coloured);
    expect(shown).toContain("\u001b[1;34mdocs\u001b[0m");
    expect(shown).toContain("\u001b[36mlink\u001b[0m");
    expect(shown.replace(/\u001b\[[\d;]*m/g, "")).toBe(columnLines(ENTRIES, 80, plain));
  });

  test("cannot write to the terminal what they like", () => {
    const evil = entry("a\u001b]0;x\u0007\nb");
    for (const shown of [nameLines([evil], coloured), longLines([evil], coloured), columnLines([evil], 80, coloured)]) {
      expect(shown).toContain("a\\u{1b}]0;x\\u{7}\\u{a}b\n");
      expect(shown.split("\n").length).toBe(2);
    }
  });
});

test("a difference has colours, but for the names of the file", () => {
  const diff = "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n z\n";
  expect(diffLines(diff, { paint: plain, isTerminal: true })).toBe(diff);
  expect(diffLines(diff, { paint: coloured, isTerminal: true })).toBe(
    "--- a\n+++ a\n\u001b[36m@@ -1,1 +1,1 @@\u001b[0m\n\u001b[31m-x\u001b[0m\n\u001b[32m+y\u001b[0m\n z\n",
  );
});

test("a difference of content that would control a terminal shows it there, and is a patch elsewhere", () => {
  const diff = "--- a\n+++ a\n@@ -1,1 +1,2 @@\n-x\r\n+\u001b[2K\u009b1A\ty\r\n+a\rb\n";
  expect(diffLines(diff, { paint: plain, isTerminal: false })).toBe(diff);
  expect(diffLines(diff, { paint: plain, isTerminal: true })).toBe(
    "--- a\n+++ a\n@@ -1,1 +1,2 @@\n-x\r\n+\\u{1b}[2K\\u{9b}1A\ty\r\n+a\\u{d}b\n",
  );
});

const style = { paint: plain, nameOf: new Callers([]).nameOf };

test("what a venue elsewhere sends about a file or a change does not control a terminal", () => {
  const evil = "\u001b]0;x\u0007";
  const change = {
    ...{ id: evil, time: 0, op: evil, root: evil, path: evil, kind: "file", actor: `did:${evil}`, via: evil },
    ...{ surface: evil, before: null, after: { size: 1, modified: 0 }, undoable: false, reason: evil },
  } as unknown as Change;
  const texts = [
    factLines([["type", evil]]),
    historyLines([change], style),
    historyLines([{ ...change, before: change.after }], style),
    changeText(change, style.nameOf),
  ];
  for (const text of texts) {
    expect(text).toContain("\\u{1b}]0;x\\u{7}");
    expect(text).not.toMatch(/[\u001b\u0007]/);
  }
});

test("changes take two lines each where one would not fit", () => {
  const change = {
    ...{ id: "1m85hcgvy00001j2zph94", time: 0, op: "write", root: "docs", path: "reports/q4.md", kind: "file" },
    ...{ actor: "operator", surface: "http", before: null, after: { size: 7, modified: 0 }, undoable: true },
  } as unknown as Change;
  const one = "1970-01-01 00:00:00  1m85hcgvy00001j2zph94  operator http  write  new 7 B  docs:reports/q4.md\n";
  expect(historyLines([change], style)).toBe(one);
  expect(historyLines([change], { ...style, width: one.length - 1 })).toBe(one);
  expect(historyLines([change, change], { ...style, width: 80 })).toBe(
    "1970-01-01 00:00:00  1m85hcgvy00001j2zph94\n  operator http  write  new 7 B  docs:reports/q4.md\n".repeat(2),
  );
});

test("directories of a tree stand out", () => {
  expect(treeLines("r/\n\tdir/\n\t\tfile\n", coloured)).toBe(
    "\u001b[1;34mr/\u001b[0m\n\t\u001b[1;34mdir/\u001b[0m\n\t\tfile\n",
  );
  expect(treeLines("r/\n\ta\n", plain)).toBe("r/\n\ta\n");
});

// Folders that commands write into, and files that get their name once they are whole, while somebody else moves things about.
const put = (path: string, text: string, replaces: boolean) =>
  writeNewFile(path, { mode: 0o600, replaces }, (handle) => handle.writeFile(text));

test("a folder whose name is given to a link meanwhile is still the one that is written into", async () => {
  if (!hasProcHandles()) return;
  const top = makeFolder({ "a/b/old": "", "evil/x": "" });
  const outer = HeldFolder.open(top);
  const middle = await outer.enter("a", false);
  const inner = await middle?.enter("b", false);
  renameSync(join(top, "a"), join(top, "moved"));
  symlinkSync("evil", join(top, "a"));
  await put(join(inner?.path ?? "", "new"), "text", false);
  expect(readFileSync(join(top, "moved/b/new"), "utf8")).toBe("text");
  expect(readdirSync(join(top, "evil"))).toEqual(["x"]);
  await expect(outer.enter("a", true)).rejects.toThrow(`is a link to ${join(top, "evil")}`);
  await expect(outer.enter("none", false)).resolves.toBeUndefined();
  for (const folder of [inner, middle, outer]) folder?.close();
});

describe("a new file", () => {
  test("does not take a name that somebody else took while it was written", async () => {
    const top = makeFolder();
    const file = await openNewFile(join(top, "x"), { mode: 0o600 });
    symlinkSync("target", join(top, "x"));
    await file.handle.writeFile("mine");
    await expect(file.publish()).rejects.toMatchObject({ code: "EEXIST" });
    await file.close();
    expect(readdirSync(top)).toEqual(["x"]);
  });

  test("does not publish what somebody else put in place of its draft", async () => {
    const top = makeFolder();
    const draft = join(top, "x.part");
    const file = await openNewFile(join(top, "x"), { mode: 0o600, draft });
    renameSync(draft, join(top, "aside"));
    writeFileSync(draft, "other");
    await expect(file.publish()).rejects.toMatchObject({ code: "EEXIST" });
    await file.close();
    expect(readdirSync(top).sort()).toEqual(["aside", "x.part"]);
  });

  test("that fails leaves what was there, and no draft", async () => {
    const top = makeFolder({ x: "old" });
    const failing = writeNewFile(join(top, "x"), { mode: 0o600, replaces: true }, () =>
      Promise.reject(new Error("no")),
    );
    await expect(failing).rejects.toThrow("no");
    mkdirSync(join(top, "folder"));
    await expect(put(join(top, "folder"), "new", true)).rejects.toMatchObject({ code: "EISDIR" });
    expect(readdirSync(top).sort()).toEqual(["folder", "x"]);
    expect(readFileSync(join(top, "x"), "utf8")).toBe("old");
  });
});

describe("JSON", () => {
  const CLEAR = "\u009b2J";
  const { ok } = useFileCommands({ [`docs/${CLEAR}x`]: `${CLEAR}\u007f\u0080\u009f` });

  test("JSON on a terminal has no control characters that the terminal would obey, and says the same", async () => {
    for (const line of [await ok("ls", "--json", "d:"), await ok("cat", "--json", `d:${CLEAR}x`)]) {
      expect(line).not.toMatch(/[\u007f-\u009f]/);
      expect(line).toContain("\\u009b2J");
      expect(JSON.stringify(JSON.parse(line))).toContain(CLEAR);
    }
  });

  test("other characters stay as they are, and long numbers keep their digits", () => {
    expect(jsonText({ a: "ä\u00a0\u2028", b: 2n ** 64n })).toBe('{"a":"ä\u00a0\u2028","b":18446744073709551616}');
  });
});

test.each([
  ["Asia/Kolkata", "2026-07-01 05:30:09"],
  ["America/New_York", "2026-06-30 20:00:09"],
  ["UTC", "2026-07-01 00:00:09"],
])("times are those of the terminal's zone: %s", async (TZ, expected) => {
  const folder = makeFolder({ "docs/a.txt": "a" });
  const time = Date.UTC(2026, 6, 1, 0, 0, 9) / 1000;
  utimesSync(join(folder, "docs/a.txt"), time, time);
  const look = (...args: readonly string[]) => run([...args, "--root", "d=docs"], { cwd: folder, env: { TZ } });
  expect((await look("stat", "d:a.txt")).stdout).toContain(`modified  ${expected}\n`);
  expect((await look("ls", "-l", "d:")).stdout).toContain(` ${expected.slice(0, 16)} a.txt\n`);
});

const topics = [
  ["--help", helpText([], true)],
  ...[...Object.keys(COMMANDS), ...Object.keys(FILE_COMMANDS)].map((name) => [name, helpText(name.split(" "), true)]),
] as [string, string][];

describe("help on a narrow terminal", () => {
  test.each(topics)("%s has the same words, in lines that fit", (_name, text) => {
    for (const width of [80, 100]) {
      const wrapped = wrapText(text, width);
      expect(wrapped.split(/\s+/)).toEqual(text.split(/\s+/));
      const tooLong = wrapped.split("\n").filter((line) => line.length > width && !/^ *Example: /.test(line));
      expect(tooLong).toEqual([]);
    }
  });

  test("goes on below the text of an option, and joins what belongs together", () => {
    const text = `venue-files do [--one WORD] [--two WORD]… [--three WORD] [--four WORD] [--five WORD]

  --root [NAME=]PATH[:ro] a root, without any file, named like its folder unless you say; may be repeated; ':ro' makes
                          it read-only
  --one                   short

Example: venue-files do --one of --two that --three lines --four stays --five whole
`;
    expect(wrapText(text, 64)).toBe(`venue-files do [--one WORD] [--two WORD]… [--three WORD]
                [--four WORD] [--five WORD]

  --root [NAME=]PATH[:ro] a root, without any file, named like
                          its folder unless you say; may be
                          repeated; ':ro' makes it read-only
  --one                   short

Example: venue-files do --one of --two that --three lines --four stays --five whole
`);
  });
});
