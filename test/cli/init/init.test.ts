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
import { join } from "node:path";
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
  json: '{ "a": [1, }',
  toml: 'mcp_servers = { mine = { command = "x" } }',
  yaml: "extensions: [a, b]\n",
};

const cases = Object.entries(CLIENTS).map(([name, client]) => ({ name, client }));
const add = (text: string, name: string, force = false, launch = LAUNCH) => {
  const client = CLIENTS[name];
  if (client === undefined) throw new Error(name);
  return addEntry(text, { client, name: "files", entry: client.entry(launch), force });
};
const entryIn = (text: string, name: string): unknown => {
  const { format, keys, entry } = CLIENTS[name] ?? { format: "json", keys: [], entry: () => ({}) };
  let value: unknown = parse[format](text);
  for (const key of [...keys, "files"]) value = (value as Record<string, unknown>)[key];
  expect(value).toEqual(entry(LAUNCH));
  return value;
};

describe.each(cases)("the file of $name", ({ name, client: { format, keys } }) => {
  test("gets the entry where there is none, where it is empty, and where others stand", () => {
    entryIn(add("", name), name);
    entryIn(add("\n", name), name);
    const old = WRITTEN[format](keys);
    const text = add(old, name);
    entryIn(text, name);
    for (const line of old.split("\n")) expect(text.split("\n")).toContain(line);
    const servers = parse[format](text) as Record<string, Record<string, unknown>>;
    expect(Object.keys(servers[keys[0] ?? ""] ?? {}).sort()).toEqual(["files", "mine"]);
  });

  test("gets the entry where everything stands on one line, or nothing but a comment", () => {
    if (format !== "json") return;
    entryIn(add(`{"${keys[0]}": {"mine": {}}}`, name), name);
    entryIn(add(`\uFEFF{ /* comment */ }`, name), name);
    expect(add(`{ "a": 1, "${keys[0]}": { /* kept */ } }`, name)).toContain("/* kept */");
  });

  test("keeps the line ends that it has", () => {
    const text = add(WRITTEN[format](keys).replaceAll("\n", "\r\n"), name);
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    entryIn(text, name);
  });

  test("keeps an entry that is there, and replaces only that by force", () => {
    const old = add(WRITTEN[format](keys), name, false, { command: "old", args: [] });
    expect(() => add(old, name)).toThrow(EntryExists);
    const text = add(old, name, true);
    entryIn(text, name);
    expect(text).not.toContain('"old"');
    expect(add(add(WRITTEN[format](keys), name), name, true)).toBe(add(WRITTEN[format](keys), name));
  });

  test("is refused where it cannot be edited safely", () => {
    expect(() => add(BROKEN[format], name)).toThrow(NotEditable);
  });
});

test.each([
  ["linux", { XDG_CONFIG_HOME: "/x" }, "/x/Claude/claude_desktop_config.json", "/x/zed/settings.json"],
  ["darwin", {}, "/h/Library/Application Support/Claude/claude_desktop_config.json", "/h/.config/zed/settings.json"],
  ["win32", { APPDATA: "C:\\R" }, "C:\\R\\Claude\\claude_desktop_config.json", "C:\\R\\Zed\\settings.json"],
] as const)("on %s the files of programs with windows are where those look", (system, env, claude, zed) => {
  const platform: Platform = { system, home: "/h", env };
  expect(CLIENTS["claude-desktop"]?.file("/p", platform)).toBe(claude);
  expect(CLIENTS["zed"]?.file("/p", platform)).toBe(zed);
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
    for (const path of ["venue.json5", ".cursor/mcp.json", ".mcp.json", ".vscode/mcp.json", "opencode.json"]) {
      const refused = await client.call("file_write", { path, content: "{}", parents: true });
      expect(JSON.stringify(refused.result)).toContain("DENIED_BY_POLICY");
    }
    const moved = await client.call("file_move", { path: ".cursor", to: "other" });
    expect(JSON.stringify(moved.result)).toContain("DENIED_BY_POLICY");
    await client.process.stop();
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
    await runHere(["init", "--for", "codex", "--yes"], { cwd: makeFolder(), env: { HOME: home } });
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
      ["a folder of the home", "codex", "home/.codex", "home/.cursor"],
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
    [["--root", "x=./missing"], 66, "--root x: there is no folder"],
    [["a", "b"], 64, "takes one folder"],
  ])("%j is refused with %i", async (args, status, text) => {
    const done = await init(makeFolder(), ...args);
    expect(done.status).toBe(status);
    expect(done.stderr.toLowerCase()).toContain(text.toLowerCase());
  });
});
