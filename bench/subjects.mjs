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

/** Writes the configuration of our server. @returns the parts of a command line */
export function configure(base, root, durability) {
  const config = join(base, `config-${durability}.json5`);
  const caps = join(base, "caps.json5");
  const mcp = { defaultReadBytes: READ_LIMIT_BYTES, defaultReadLines: 1_000_000, maxReadBytes: READ_LIMIT_BYTES };
  writeFileSync(config, JSON.stringify({ mcp, file: { roots: { bench: { path: root, durability } } } }));
  writeFileSync(caps, JSON.stringify(CAPS));
  return { config, caps, root };
}

/** Opens what the rows call, each at its first use. */
export class Ports {
  #settings;
  #open = new Map();

  /** @param settings of {@link configure}, by durability */
  constructor(settings) {
    this.#settings = settings;
  }

  get(name, durability = "none") {
    const key = `${name} ${durability}`;
    if (!this.#open.has(key)) this.#open.set(key, this.#connect(name, durability));
    return this.#open.get(key);
  }

  /** The folder that all serve. */
  get root() {
    return this.#settings.none.root;
  }

  /** Command lines of all servers. */
  args(server, durability = "none") {
    return SERVERS[server](this.#settings[durability]);
  }

  async #connect(name, durability) {
    switch (name) {
      case "library":
        return openLibrary(this.#settings[durability].root, durability);
      case "officialOurs":
        return connectOfficial(this.args("ours", durability));
      case "officialTheirs":
        return connectOfficial(this.args("theirs"));
      case "rawOurs":
        return connectRaw(this.args("ours", durability));
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

async function openLibrary(root, durability) {
  const { createFileAdapter } = await import("venue-files");
  const adapter = await createFileAdapter({ roots: { bench: { path: root, durability } } });
  const context = { caps: CAPS };
  return {
    invoke: (operation, input) => adapter.invoke(operation, input, context),
    close: () => adapter.close(),
  };
}
