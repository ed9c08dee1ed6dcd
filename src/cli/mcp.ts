import { ConfigError } from "../config/errors.js";
import { escapeText } from "../core/errors/texts.js";
import { openConfiguredLog } from "../venue/start/open-parts.js";
import type { Command } from "./arguments/arguments.js";
import { type CommandContext, EXIT } from "./context.js";
import { loadCaps, loadOneConfig } from "./load.js";
import { maxHeldBytes, maxMessageBytes } from "./message-size.js";
import { ownCaller } from "./own-caller.js";
import { withProfile } from "./profile.js";
import { warn } from "./warn.js";

/** `venue-files mcp`: serves MCP on standard input and output until the client disconnects. */
export async function mcp(command: Extract<Command, { name: "mcp" }>, context: CommandContext): Promise<number> {
  const { stdin, stdout, stderr, env } = context;
  const loaded = loadOneConfig(command.source, context.cwd);
  if (loaded.mcp === false) throw new ConfigError(["MCP is switched off: 'mcp' is false"], EXIT.config);
  const mcpConfig = command.tools === undefined ? loaded.mcp : { ...loaded.mcp, tools: command.tools };
  const { profile } = command;
  const own = { ...loaded, mcp: mcpConfig };
  const config = profile === undefined ? own : { ...withProfile(own, profile), mcp: mcpConfig };
  const { folders = [], noProtect } = command.source;
  if (folders.length > 0 && noProtect !== true) {
    stderr.write("In the folders given, .git may be read, not changed. --no-protect lifts that.\n");
  }
  const caps = loadCaps(command.capsFile);
  const caller = await ownCaller(command.caller, config, context);
  const stopped = context.untilStopped();
  const log = openConfiguredLog(config, stderr);
  const filesOnly = profile !== undefined || (config.mcp.includeAdapters?.every((name) => name === "file") ?? true);
  const [venue, { serveMcpStdio }] = await Promise.all([
    import("../venue/start/open-venue.js").then(({ openVenue }) =>
      openVenue(config, { listens: false, env, log, filesOnly, profile, ...caller }),
    ),
    import("../surfaces/mcp/stdio.js"),
  ]);
  warn(venue, context);
  if (stdin.isTTY) stderr.write("Waiting for an MCP client on standard input. Stop with Ctrl-C.\n");
  const onError = ({ message }: Error) => stderr.write(`MCP: ${reasonOf(message)}\n`);
  try {
    const served = serveMcpStdio(venue.mcpHost(caps, profile), {
      ...{ input: stdin, output: stdout, onError },
      maxMessageBytes: maxMessageBytes(config),
      maxHeldBytes: maxHeldBytes(config),
    });
    await Promise.race([served, stopped]);
    return EXIT.ok;
  } finally {
    await venue.close();
  }
}

/** One line per connection error; for a message that is not JSON-RPC the SDK returns pages of validation errors. */
const reasonOf = (message: string): string =>
  message.startsWith("[") ? "a message was ignored, it is not JSON-RPC" : escapeText(message);
