// Who takes part in `npm run bench`, and how each is called.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectOfficial, connectRaw, SERVERS } from "./clients.mjs";
import { temporaryDirectory } from "./lifetime.mjs";

const CAPS = [{ with: "file://bench/", can: "crud" }];
const READ_LIMIT_BYTES = 8 * 1024 * 1024;

/** `port` says through what a row is called, `form` which of its forms. The order is that of the turns of a round. */
export const SUBJECTS = {
  library: { label: "library", form: "library", port: "library" },
  "mcp-ours": { label: "venue-files, MCP", form: "ours", port: "ours" },
  "mcp-theirs": { label: "server-filesystem, MCP", form: "theirs", port: "theirs" },
  "fs-sync": { label: "node:fs, sync", form: "sync" },
  "fs-promises": { label: "node:fs, promises", form: "promises" },
  native: { label: "rg, du, cp", form: "native" },
  "mcp-floor": { label: "the least in Node, MCP", form: "theirs", port: "floor" },
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
function configure(root) {
  const base = temporaryDirectory();
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

/** How a form calls its server: ours by operation and input, others by tools of server-filesystem and their arguments. */
export const callOf = (form, { tool }) =>
  form === "ours" ? (op, input) => tool(`file_${op}`, { root: "bench", ...input }) : tool;

/** Opens what the rows call, each at its first use. */
export class Ports {
  #settings;
  #open = new Map();

  constructor(root) {
    this.root = root;
    this.#settings = configure(root);
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
    const args = SERVERS[name](this.#settings[setting]);
    const server = await (isRaw ? connectRaw(args) : connectOfficial(args));
    return { ...server, call: callOf(name, server) };
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
