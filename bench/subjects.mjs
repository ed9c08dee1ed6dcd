import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectOfficial, connectRaw, SERVERS } from "./clients.mjs";
import { foreignTools, NATIVE_SERVERS, nativeCommand } from "./native.mjs";

const CAPS = [{ with: "file://bench/", can: "crud" }];
const READ_LIMIT_BYTES = 8 * 1024 * 1024;

/** Who is measured. `port` says through what a row's `run` reaches it, `form` which of the row's forms it runs. */
export const SUBJECTS = {
  library: { label: "library", form: "library", port: "library" },
  "mcp-ours": { label: "venue-files, MCP", form: "ours", port: "officialOurs" },
  "mcp-theirs": { label: "server-filesystem, MCP", form: "theirs", port: "officialTheirs" },
  "fs-sync": { label: "node:fs, sync", form: "sync" },
  "fs-promises": { label: "node:fs, promises", form: "promises" },
  native: { label: "rg, du, cp", form: "native" },
  "mcp-floor": { label: "the least in Node, MCP", form: "theirs", port: "floor", isForeign: true },
  "raw-ours": { label: "venue-files, raw client", form: "ours", port: "rawOurs" },
  "raw-theirs": { label: "server-filesystem, raw client", form: "theirs", port: "rawTheirs" },
  ...Object.fromEntries(
    NATIVE_SERVERS.map((name) => [
      `mcp-${name}`,
      { label: `${name}, MCP`, form: "theirs", port: name, isForeign: true },
    ]),
  ),
};

/** The order in which a round goes through them. */
export const SUBJECT_IDS = Object.keys(SUBJECTS);

/** Settings of our root, by name. Nothing is flushed or kept unless a row says so, as in server-filesystem. */
const SETTINGS = {
  plain: { durability: "none", journal: "off" },
  journal: { durability: "none", journal: "on" },
  default: {},
};

/** Writes the configurations of our server. @returns the parts of a command line, by name of the setting */
export function configure(base, root) {
  const caps = join(base, "caps.json5");
  writeFileSync(caps, JSON.stringify(CAPS));
  const mcp = { defaultReadBytes: READ_LIMIT_BYTES, defaultReadLines: 1_000_000, maxReadBytes: READ_LIMIT_BYTES };
  const parts = (name) => {
    const config = join(base, `config-${name}.json5`);
    writeFileSync(config, JSON.stringify({ mcp, file: { roots: { bench: { path: root, ...SETTINGS[name] } } } }));
    return { config, caps, root };
  };
  return Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, parts(name)]));
}

/** Opens what the rows call, each at its first use. */
export class Ports {
  #settings;
  #open = new Map();

  /** @param settings of {@link configure} */
  constructor(settings) {
    this.#settings = settings;
  }

  get(name, setting = "plain") {
    const key = `${name} ${setting}`;
    if (!this.#open.has(key)) this.#open.set(key, this.#connect(name, setting));
    return this.#open.get(key);
  }

  /** The folder that all serve. */
  get root() {
    return this.#settings.plain.root;
  }

  /** Command lines of all servers. */
  args(server, setting = "plain") {
    return SERVERS[server](this.#settings[setting]);
  }

  async #connect(name, setting) {
    switch (name) {
      case "library":
        return openLibrary(this.root, setting);
      case "officialOurs":
        return connectOfficial(this.args("ours", setting));
      case "officialTheirs":
        return connectOfficial(this.args("theirs"));
      case "rawOurs":
        return connectRaw(this.args("ours", setting));
      case "rawTheirs":
        return connectRaw(this.args("theirs"));
      case "floor":
        return foreignTools(await connectOfficial(this.args("floor")));
      case "rust":
      case "go": {
        const [command, ...args] = nativeCommand(name, this.root);
        return foreignTools(await connectOfficial(args, { command }));
      }
      default:
        throw new Error(`Unknown port: ${name}`);
    }
  }

  async close() {
    const opened = [...this.#open.values()];
    this.#open.clear();
    for (const port of opened) await (await port).close();
  }
}

/** Without a directory for its state it has no journal. */
async function openLibrary(root, setting) {
  const { createFileAdapter } = await import("venue-files");
  const { durability } = SETTINGS[setting];
  const adapter = await createFileAdapter({ roots: { bench: { path: root, durability } } });
  const context = { caps: CAPS };
  return {
    invoke: (operation, input) => adapter.invoke(operation, input, context),
    close: () => adapter.close(),
  };
}
