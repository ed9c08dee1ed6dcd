// `venue-files init`: a first configuration, and the entry in the files of MCP clients.
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { CLIENTS, type Platform } from "../../../src/cli/init/clients.js";
import { addEntry, EntryExists, NotEditable } from "../../../src/cli/init/edit.js";
import { startRaw } from "../../surfaces/mcp/raw.js";
import { runHere } from "../in-process.js";
import { CLI, cleanUp, makeFolder, run } from "../process.js";

afterAll(cleanUp);

const LAUNCH = { command: "/opt/node", args: ['/opt/it\'s "here"/cli.js', "mcp", "--config", "/a b/venue.json5"] };
const parse = { json: (text: string) => parseJsonc(text), toml: parseToml, yaml: parseYaml };

/** Files as people write them, with a server of their own; `comment` and `other` must survive. */
const WRITTEN = {
  json: (keys: readonly string[]) =>
    `{\n\t// comment\n\t"theme": "other",\n\t"${keys[0]}": {\n\t\t"mine": { "command": "x" }, // kept\n\t},\n}\n`,
  toml: (keys: readonly string[]) =>
    `# comment\nmodel = "other"\n\n[${keys[0]}.mine] # kept\ncommand = "x"\n\n[profiles.a]\nmodel = "b"\n`,
  yaml: (keys: readonly string[]) =>
    `# comment\nmodel: other\n${keys[0]}:\n    # kept\n    mine:\n        cmd: x\nlast: 1\n`,
};
const BROKEN = {
  json: ['{ "a": [1, }', "[]", '{ "mcpServers": [], "servers": [], "context_servers": 1, "mcp": "x" }'],
  toml: ['mcp_servers = { mine = { command = "x" } }', "a = ", "[[mcp_servers]]\na = 1", "mcp_servers = 1"],
  yaml: ["extensions: [a, b]\n", "extensions: {a: b\n", "- a\n", "a: 1\n---\nb: 2\n", "just text\n", "a: *none\n"],
};
/** Valid files whose text misleads what looks at lines alone. */
const ODD = {
  json: [
    '{ "mcpServers": {}, "mcpServers": { "a": 1 } }',
    '{ "servers": { "files": 1 }, "mcpServers": { "files": null }, "mcp": {"files": {}}, "context_servers": {"files": []} }',
    '{ "a": "\\"mcpServers\\": {", "servers": null, "mcp": null, "context_servers": null }',
  ],
  toml: [
    '[mcp_servers]\nmine = { command = "x" }\n',
    '[mcp_servers]\nfiles = { command = "x" }\nmine = { command = "y" }\n',
    '["mcp_servers".files]\ncommand = "x"\n[other]\na = 1\n',
    '[mcp_servers]\n\n  [ mcp_servers . "files" ]\n  command = "x"\n  [mcp_servers.files.env]\n  A = "1"\n',
    'text = """\n[mcp_servers.files]\ncommand = 1\n"""\n[mcp_servers.files]\ncommand = "x"\n[z]\na = 922337203685477580\n',
    "text = '''\n[mcp_servers.files]\n[other]\n'''\nwhen = 1979-05-27T07:32:00Z\n",
    "mcp_servers.files.command = 'x'\nmcp_servers.mine.command = 'y'\n",
    'a = [\n  "[mcp_servers.files]",\n]\n[mcp_servers.mine]\nlist = [\n  [1],\n]\n',
  ],
  yaml: [
    "{extensions: {mine: {cmd: x}}, a: 1}\n",
    "extensions:\n- mine\n- other\n",
    "a: 1\nextensions: &x {mine: {cmd: x}}\nb: *x\n",
    "extensions:\n  mine: {cmd: x}\ntext: |\n  extensions:\n    files: 1\nlast: 1\n",
    'text: "a\n\n  extensions:\n  files: 2\n  b"\nextensions:\n  mine: {cmd: x}\n',
    "extensions:\n  mine: {cmd: x}\ntext: 'a\n\nextensions: # b\n  files: c'\n",
    "extensions:\n  ? files\n  : {cmd: x}\n  mine: {cmd: y}\n",
    "extensions:\n  'files': {cmd: x}\n  mine:\n    text: >\n      a\n\n      b\n",
    "extensions: # note\n  mine:\n    cmd: x\n",
    "extensions: {} # note\na: 1\n",
    "extensions:\na: 1\n",
    "---\nextensions:\n  mine: {cmd: x}\n",
    "# only a comment\n",
    '"extensions":\n  mine: {cmd: x}\n',
    "extensions:\n  mine: {cmd: x}\n...\n",
  ],
};

const cases = Object.entries(CLIENTS).map(([name, client]) => ({ name, client }));
const add = (text: string, name: string, force = false, launch = LAUNCH) => {
  const client = CLIENTS[name];
  if (client === undefined) throw new Error(name);
  return addEntry(text, { client, name: "files", entry: client.entry(launch, "files"), force });
};
const entryIn = (text: string, name: string): unknown => {
  const { format, keys, entry } = CLIENTS[name] ?? { format: "json", keys: [], entry: () => ({}) };
  let value: unknown = parse[format](text);
  for (const key of [...keys, "files"]) value = (value as Record<string, unknown>)[key];
  expect(value).toEqual(entry(LAUNCH, "files"));
  return value;
};

describe.each(cases)("the file of $name", ({ name, client: { format, keys } }) => {
  test("gets the entry where there is none, where it is empty, and where others stand", async () => {
    entryIn(await add("", name), name);
    entryIn(await add("\n", name), name);
    const old = WRITTEN[format](keys);
    const text = await add(old, name);
    entryIn(text, name);
    for (const line of old.split("\n")) expect(text.split("\n")).toContain(line);
    const servers = parse[format](text) as Record<string, Record<string, unknown>>;
    expect(Object.keys(servers[keys[0] ?? ""] ?? {}).sort()).toEqual(["files", "mine"]);
  });

  test("gets the entry where everything stands on one line, or nothing but a comment", async () => {
    if (format !== "json") return;
    entryIn(await add(`{"${keys[0]}": {"mine": {}}}`, name), name);
    entryIn(await add(`\uFEFF{ /* comment */ }`, name), name);
    expect(await add(`{ "a": 1, "${keys[0]}": { /* kept */ } }`, name)).toContain("/* kept */");
  });

  test("keeps the line ends that it has", async () => {
    const text = await add(WRITTEN[format](keys).replaceAll("\n", "\r\n"), name);
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    entryIn(text, name);
  });

  test("keeps an entry that is there, and replaces only that by force", async () => {
    const old = await add(WRITTEN[format](keys), name, false, { command: "old", args: [] });
    await expect(add(old, name)).rejects.toThrow(EntryExists);
    const text = await add(old, name, true);
    entryIn(text, name);
    expect(text).not.toContain('"old"');
    const own = await add(WRITTEN[format](keys), name);
    expect(await add(own, name, true)).toBe(own);
  });

  test.each(BROKEN[format].map((text) => [text]))("is refused where it cannot be edited safely: %j", async (text) => {
    await expect(add(text, name)).rejects.toThrow(NotEditable);
    await expect(add(text, name, true)).rejects.toThrow(NotEditable);
  });

  test.each(ODD[format].map((text) => [text]))("differs in the entry alone, or is refused: %j", async (text) => {
    const tables = (of: string) => (parse[format](of) ?? {}) as Record<string, Record<string, unknown>>;
    const others = ({ files: _own, ...rest }: Record<string, unknown>) => rest;
    const [key = ""] = keys;
    for (const force of [false, true]) {
      const edited = await add(text, name, force).catch((error: unknown) => {
        if (error instanceof NotEditable || error instanceof EntryExists) return undefined;
        throw error;
      });
      if (edited === undefined) continue;
      entryIn(edited, name);
      const [before, after] = [tables(text), tables(edited)];
      expect(others(after[key] ?? {})).toEqual(others(before[key] ?? {}));
      expect({ ...after, [key]: 0 }).toEqual({ ...before, [key]: 0 });
    }
  });
});

test.each([
  ...[0, 5, 7].map((index) => ["toml", index, "edited"] as const),
  ...[1, 2, 3, 4, 6].map((index) => ["toml", index, "exists"] as const),
  ...[0, 1, 5].map((index) => ["yaml", index, "refused"] as const),
  ...[3, 8, 9, 10, 11, 12, 13].map((index) => ["yaml", index, "edited"] as const),
  ...[6, 7].map((index) => ["yaml", index, "exists"] as const),
])("odd %s %i: %s", async (format, index, outcome) => {
  const text = ODD[format][index] ?? "";
  const got = await add(text, { toml: "codex", yaml: "goose" }[format]).then(
    () => "edited",
    (error: unknown) => (error instanceof EntryExists ? "exists" : "refused"),
  );
  expect([text, got]).toEqual([text, outcome]);
});

test.each([
  ["linux", { XDG_CONFIG_HOME: "/x" }, "/x/Claude/claude_desktop_config.json", "/p/.zed/settings.json"],
  ["darwin", {}, "/h/Library/Application Support/Claude/claude_desktop_config.json", "/p/.zed/settings.json"],
  ["win32", { APPDATA: "C:\\R" }, "C:\\R\\Claude\\claude_desktop_config.json", "\\p\\.zed\\settings.json"],
] as const)("on %s the files of programs with windows are where those look", (system, env, claude, zed) => {
  const platform: Platform = { system, home: "/h", env, isFolder: () => false };
  expect(CLIENTS["claude-desktop"]?.file("/p", platform)).toBe(claude);
  expect(CLIENTS["zed"]?.file("/p", platform)).toBe(zed);
});

test("on Windows Claude Desktop, where it was installed as a package, looks nowhere but there", () => {
  const own = "C:\\L\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude";
  const env = { APPDATA: "C:\\R", LOCALAPPDATA: "C:\\L" };
  const fileOn = (system: NodeJS.Platform, isFolder: (path: string) => boolean) =>
    CLIENTS["claude-desktop"]?.file("/p", { system, home: "/h", env, isFolder });
  expect(fileOn("win32", (path) => path === own)).toBe(`${own}\\claude_desktop_config.json`);
  expect(fileOn("win32", () => false)).toBe("C:\\R\\Claude\\claude_desktop_config.json");
  expect(fileOn("linux", () => true)).toBe("/h/.config/Claude/claude_desktop_config.json");
});

describe("venue-files init", () => {
  const init = (cwd: string, ...args: string[]) => runHere(["init", ...args], { cwd });
  /** The entry of a client names the program that ran. */
  const initByProgram = (cwd: string, ...args: string[]) => run(["init", ...args], { cwd });

  test("writes a configuration that check takes, whose schema editors find, and never over a file", async () => {
    const folder = makeFolder({ "docs/a.md": "a" });
    const done = await init(folder, "--root", "docs=./docs:ro", "--port", "8123");
    expect(done).toMatchObject({ status: 0, stderr: "" });
    const text = readFileSync(join(folder, "venue.json5"), "utf8");
    const schema = /\$schema: "([^"]+)"/.exec(text)?.[1] ?? "";
    expect(JSON.parse(readFileSync(new URL(schema), "utf8"))).toHaveProperty(["$defs", "venue"]);
    const checked = await runHere(["check", "--config", "venue.json5"], { cwd: folder });
    expect(checked.stdout).toMatch(/localhost:8123[\s\S]*docs +host +read-only/);
    // What stands there as a comment is right too.
    const all = text.replace(/^( *)\/\/ (?=[a-z},]+:? ?[^ ]*[[{"\d]|\},$)/gm, "$1");
    expect(all).toContain("\n  audit: { file");
    writeFileSync(join(folder, "all.json5"), all);
    const checkedAll = await runHere(["check", "--config", "all.json5"], {
      cwd: folder,
      env: { CI_TOKEN: "x".repeat(32) },
    });
    expect(checkedAll).toMatchObject({ status: 0, stderr: "" });
    const again = await init(folder, "--root", "docs=./docs");
    expect(again).toMatchObject({ status: 78, stderr: expect.stringContaining("stays as it is") });
    expect(readFileSync(join(folder, "venue.json5"), "utf8")).toBe(text);
  });

  test("beside a configuration of somebody else says what it opens, before anything is written", async () => {
    const theirs = `{ file: { roots: { docs: { path: "/", readOnly: false }, notes: "./notes", tmp: { temp: true } } },
      profiles: { run: { profile: "jettson", root: "docs", shell: { unsafe: true } } } }`;
    const folder = makeFolder({ "venue.json5": theirs, "notes/a": "" });
    const { stdout } = await init(folder, "--for", "claude-code");
    const [before = ""] = stdout.split('"mcpServers"');
    expect(before).toMatch(/docs +\/ +read-write\n/);
    expect(before).toMatch(/notes +\S+\/notes +read-write\n/);
    expect(before).toMatch(/tmp +temp +read-write\n/);
    expect(before).toMatch(/run +on docs +commands WITHOUT A GUARD\n/);
    expect(existsSync(join(folder, ".mcp.json"))).toBe(false);
    const broken = makeFolder({ "venue.json5": "{ file: { roots: { docs: 7 } } }" });
    expect(await init(broken, "--for", "claude-code", "--yes")).toMatchObject({ status: 78 });
    expect(existsSync(join(broken, ".mcp.json"))).toBe(false);
  });

  test("shows the change of a client's file, writes it with --yes, and keeps what was there", async () => {
    const folder = makeFolder({
      ".mcp.json": '{ "mcpServers": { "mine": { "command": "x", "env": { "KEY": "secret" } } } }',
    });
    const file = join(folder, ".mcp.json");
    const old = readFileSync(file, "utf8");
    const asked = await initByProgram(folder, "--for", "claude-code");
    expect(asked).toMatchObject({ status: 1, stdout: expect.stringContaining("--yes") });
    expect(readFileSync(file, "utf8")).toBe(old);
    const done = await initByProgram(folder, "--for", "claude-code", "--yes");
    expect(done.status).toBe(0);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(old);
    const { mcpServers } = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(mcpServers)).toEqual(["files", "mine"]);
    expect(mcpServers.files.args).toEqual([CLI, "mcp", "--config", join(folder, "venue.json5")]);
    expect((await initByProgram(folder, "--for", "claude-code", "--yes")).stdout).toContain("--force replaces it");
  });

  test("the entry starts a server that has the folder", async () => {
    const folder = makeFolder({ "hello.txt": "hello" });
    await initByProgram(folder, "--for", "cursor", "--yes");
    const { mcpServers } = JSON.parse(readFileSync(join(folder, ".cursor", "mcp.json"), "utf8"));
    const { command, args } = mcpServers.files;
    expect(command).toBe(process.execPath);
    const client = await startRaw(args.slice(2), { cwd: folder });
    const { result } = await client.call("file_read", { path: "hello.txt" });
    expect(JSON.stringify(result)).toContain("hello");
    // An agent that could change these would choose what it may do, or what its client runs, from the next start on.
    const inProject = Object.values(CLIENTS).filter(({ isShared }) => isShared !== true);
    const platform = { system: process.platform, home: folder, env: {}, isFolder: () => false };
    const files = inProject.map((one) => relative(folder, one.file(folder, platform)));
    expect(files).toEqual(expect.arrayContaining([".mcp.json", ".agents/mcp_config.json", ".github/mcp.json"]));
    for (const path of ["venue.json5", ...files]) {
      const refused = await client.call("file_write", { path, content: "{}", parents: true });
      expect(JSON.stringify(refused.result)).toContain("DENIED_BY_POLICY");
    }
    const moved = await client.call("file_move", { path: ".cursor", to: "other" });
    expect(JSON.stringify(moved.result)).toContain("DENIED_BY_POLICY");
    await client.process.stop();
  });

  test.each([
    ["goose", ".config/goose/config.yaml", "yaml", "extensions"],
    ["windsurf", ".codeium/windsurf/mcp_config.json", "json", "mcpServers"],
  ] as const)("two projects stand beside each other in the file of the user: %s", async (client, path, format, key) => {
    const top = makeFolder({ "Shop front/a": "", "api_v2/a": "" });
    for (const project of ["Shop front", "api_v2"]) {
      const cwd = join(top, project);
      expect((await runHere(["init", "--for", client, "--yes"], { cwd, env: { HOME: top } })).status).toBe(0);
    }
    const cwd = join(top, "api_v2");
    const again = await runHere(["init", "--for", client, "--yes"], { cwd, env: { HOME: top } });
    expect(again).toMatchObject({ status: 1, stdout: expect.stringContaining("--name NAME adds another") });
    expect(
      (await runHere(["init", "--for", client, "--name", "api", "--yes"], { cwd, env: { HOME: top } })).status,
    ).toBe(0);
    const servers = (parse[format](readFileSync(join(top, path), "utf8")) as Record<string, object>)[key] ?? {};
    expect(Object.keys(servers).sort()).toEqual(["api", "files-Shop-front", "files-api_v2"]);
    expect(JSON.stringify(servers)).toContain(join(top, "Shop front", "venue.json5"));
  });

  test.each([
    ["beside it", "docs=./docs", ["@git", "@clients"]],
    ["above it", "all=..", ["@git", "@clients", "venue.json5"]],
  ])("protects itself in a root %s", async (_where, root, expected) => {
    const folder = makeFolder({ "project/docs/a.md": "a" });
    await init(join(folder, "project"), "--root", root);
    const [, list = ""] = /protect: (\[.*\])/.exec(readFileSync(join(folder, "project/venue.json5"), "utf8")) ?? [];
    const found = JSON.parse(list);
    expect(found).toEqual(root.startsWith("docs") ? expected : expect.arrayContaining(expected));
  });

  test("--print writes nothing anywhere", async () => {
    const folder = makeFolder();
    const done = await init(folder, "--for", "codex", "--for", "goose", "--print");
    expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining("[mcp_servers.files]") });
    expect(existsSync(join(folder, "venue.json5")) || existsSync(join(folder, ".codex"))).toBe(false);
  });

  test("a private file stays private, and so does what was there", async () => {
    const home = makeFolder({ ".codex/config.toml": 'model = "x"\n' });
    const file = join(home, ".codex/config.toml");
    chmodSync(file, 0o600);
    await runHere(["init", "--for", "codex", "--yes"], { cwd: home });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}.bak`).mode & 0o777).toBe(0o600);
    expect(parseToml(readFileSync(file, "utf8"))).toHaveProperty("mcp_servers.files");
  });

  describe("where somebody else left links", () => {
    const OLD = '{ "mcpServers": {} }';
    const PLACES = { "project/a.txt": "a", "home/.bashrc": "echo mine\n", "home/.cursor/mcp.json": OLD };
    const initIn = (top: string, client: string) =>
      runHere(["init", "--for", client, "--yes"], { cwd: join(top, "project"), env: { HOME: join(top, "home") } });

    test.each([
      ["a link", symlinkSync],
      ["a hard link", linkSync],
    ])("as %s with the name of the copy: it is replaced, and its target stays", async (_what, link) => {
      const top = makeFolder({ ...PLACES, "project/.mcp.json": OLD });
      link(join(top, "home/.bashrc"), join(top, "project/.mcp.json.bak"));
      expect(await initIn(top, "claude-code")).toMatchObject({ status: 0 });
      expect(readFileSync(join(top, "home/.bashrc"), "utf8")).toBe("echo mine\n");
      expect(lstatSync(join(top, "project/.mcp.json.bak")).isFile()).toBe(true);
      expect(readFileSync(join(top, "project/.mcp.json.bak"), "utf8")).toBe(OLD);
    });

    test.each([
      ["the file itself", "claude-code", "project/.mcp.json", "home/.cursor/mcp.json"],
      ["a file that is not there", "claude-code", "project/.mcp.json", "home/.missing"],
      ["a device", "opencode", "project/opencode.json", "/dev/zero"],
      ["a folder on the way", "cursor", "project/.cursor", "home/.cursor"],
      ["a folder on the way that is not there", "vscode", "project/.vscode", "home/.missing"],
      ["a folder of the home", "windsurf", "home/.codeium", "home/.cursor"],
      ["the configuration", "gemini", "project/venue.json5", "home/.missing"],
    ])("as %s: it is refused with the real path, and nothing is written", async (_what, client, name, target) => {
      const top = makeFolder(PLACES);
      const real = target.startsWith("/") ? target : join(top, target);
      symlinkSync(real, join(top, name));
      const done = await initIn(top, client);
      expect(done).toMatchObject({ status: 78, stderr: expect.stringContaining(`is a link to ${real}`) });
      expect(existsSync(join(top, "home/.missing"))).toBe(false);
      expect(readdirSync(join(top, "home/.cursor"))).toEqual(["mcp.json"]);
      expect(readFileSync(join(top, "home/.cursor/mcp.json"), "utf8")).toBe(OLD);
    });

    test("a project below a link is the user's own way to name it", async () => {
      const top = makeFolder(PLACES);
      symlinkSync("project", join(top, "named"));
      const done = await runHere(["init", "named", "--for", "cursor", "--yes"], { cwd: top, env: { HOME: top } });
      expect(done).toMatchObject({ status: 0, stderr: "" });
      expect(existsSync(join(top, "project/.cursor/mcp.json"))).toBe(true);
    });
  });

  test.each([
    [["--for", "claud-code"], 64, "did you mean 'claude-code'"],
    [["--for", "goose", "--name", "my files"], 64, "letters, digits"],
    [["--root", "x=./missing"], 66, "--root x: there is no folder"],
    [["a", "b"], 64, "takes one folder"],
  ])("%j is refused with %i", async (args, status, text) => {
    const done = await init(makeFolder(), ...args);
    expect(done.status).toBe(status);
    expect(done.stderr.toLowerCase()).toContain(text.toLowerCase());
  });
});
