// Who takes part in `npm run bench`, and how each is called.
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { connectOfficial, connectRaw, SERVERS } from "./clients.mjs";

const CAPS = [{ with: "file://bench/", can: "crud" }];
const READ_LIMIT_BYTES = 8 * 1024 * 1024;

/** Command lines of MCP servers for files in other languages, where the environment has them, with `{root}` for the folder. */
const COMMANDS = Object.fromEntries(
  ["rust", "go"].flatMap((name) => {
    const line = process.env[`VENUE_FILES_BENCH_${name.toUpperCase()}`];
    return line === undefined ? [] : [[name, line.split(" ")]];
  }),
);

/** The programs of other languages, without the folders where they lie. */
export const nativeNames = () => Object.entries(COMMANDS).map(([name, [program]]) => `${name}: ${basename(program)}`);

/** `port` says through what a row is called, `form` which of its forms. The order is that of the turns of a round. */
export const SUBJECTS = {
  library: { label: "library", form: "library", port: "library" },
  "mcp-ours": { label: "venue-files, MCP", form: "ours", port: "ours" },
  "mcp-theirs": { label: "server-filesystem, MCP", form: "theirs", port: "theirs" },
  "fs-sync": { label: "node:fs, sync", form: "sync" },
  "fs-promises": { label: "node:fs, promises", form: "promises" },
  native: { label: "rg, du, cp", form: "native" },
  "mcp-floor": { label: "the least in Node, MCP", form: "theirs", port: "floor", isForeign: true },
  ...Object.fromEntries(
    Object.keys(COMMANDS).map((name) => [
      `mcp-${name}`,
      { label: `${name}, MCP`, form: "theirs", port: name, isForeign: true },
    ]),
  ),
  "raw-ours": { label: "venue-files, raw client", form: "ours", port: "ours", isRaw: true },
  "raw-theirs": { label: "server-filesystem, raw client", form: "theirs", port: "theirs", isRaw: true },
};

/** Settings of our root, by name. Nothing is flushed or kept unless a row says so, as in server-filesystem. */
const SETTINGS = {
  plain: { durability: "none", journal: "off" },
  journal: { durability: "none", journal: "on" },
  default: {},
};

/** Writes the configurations of our server. @returns the parts of a command line, by name of the setting */
function configure(base, root) {
  const caps = join(base, "caps.json5");
  writeFileSync(caps, JSON.stringify(CAPS));
  const mcp = { defaultReadBytes: READ_LIMIT_BYTES, defaultReadLines: 1_000_000, maxReadBytes: READ_LIMIT_BYTES };
  const parts = ([name, setting]) => {
    const config = join(base, `config-${name}.json5`);
    writeFileSync(config, JSON.stringify({ mcp, file: { roots: { bench: { path: root, ...setting } } } }));
    return [name, { config, caps, root }];
  };
  return Object.fromEntries(Object.entries(SETTINGS).map(parts));
}

/** How a form calls its server: ours by operation and input, server-filesystem by tool and arguments. */
export const callOf = (form, { tool }) =>
  form === "ours" ? (op, input) => tool(`file_${op}`, { root: "bench", ...input }) : tool;

/** Opens what the rows call, each at its first use. */
export class Ports {
  #settings;
  #open = new Map();

  constructor(base, root) {
    this.root = root;
    this.#settings = configure(base, root);
  }

  get(name, { setting = "plain", isRaw = false } = {}) {
    const key = `${name} ${setting} ${isRaw}`;
    if (!this.#open.has(key)) this.#open.set(key, this.#connect(name, setting, isRaw));
    return this.#open.get(key);
  }

  /** A server of its own, through the bare client. */
  fresh(name) {
    return connectRaw(SERVERS[name](this.#settings.plain));
  }

  async #connect(name, setting, isRaw) {
    if (name === "library") return openLibrary(this.root, setting);
    if (COMMANDS[name] !== undefined) {
      const [command, ...args] = COMMANDS[name].map((word) => word.replace("{root}", this.root));
      return foreignTools(await connectOfficial(args, { command }));
    }
    const args = SERVERS[name](this.#settings[setting]);
    const server = await (isRaw ? connectRaw(args) : connectOfficial(args));
    return name === "floor" ? foreignTools(server) : { ...server, call: callOf(name, server) };
  }

  async close() {
    for (const port of this.#open.values()) await (await port).close();
    this.#open.clear();
  }
}

/** Without a directory for its state it has no journal. */
async function openLibrary(root, setting) {
  const { createFileAdapter } = await import("venue-files");
  const { durability } = SETTINGS[setting];
  const adapter = await createFileAdapter({ roots: { bench: { path: root, durability } } });
  return {
    call: (op, input) => adapter.invoke(`file:${op}`, { root: "bench", ...input }, { caps: CAPS }),
    close: () => adapter.close(),
  };
}

/** Tools of server-filesystem under other names that servers give them, with their arguments. */
const OTHER_NAMES = {
  read_text_file: ["read_file"],
  list_directory_with_sizes: ["list_directory"],
  directory_tree: ["tree"],
  edit_file: ["modify_file", ({ path, edits: [edit] }) => ({ path, find: edit.oldText, replace: edit.newText })],
};

/** A server that is neither ours nor server-filesystem. Its answers have forms of their own: of each it is only known whether it is a failure. */
function foreignTools(server) {
  const known = new Set(server.tools.map(({ name }) => name));
  return {
    ...server,
    async call(name, args) {
      const [other, translate = (same) => same] = OTHER_NAMES[name] ?? [];
      const own = known.has(name) ? name : other;
      if (!known.has(own)) throw new NoSuchTool();
      const result = await server.tool(own, own === name ? args : translate(args));
      if (result.isError === true) throw new Error(`${own}: ${JSON.stringify(result.content).slice(0, 300)}`);
      return result;
    },
  };
}

/** A row that a server has no tool for. */
export class NoSuchTool extends Error {}
