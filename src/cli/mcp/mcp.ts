// The `mcp` command: serves MCP over stdio.

import { ConfigError } from "../../config/errors.js";
import { DEFAULT_ROOT } from "../../config/parse-file.js";
import type { McpConfig, VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { FOLDER_SETS } from "../../path/pattern-sets.js";
import type { ClientRoots } from "../../surfaces/mcp/client-roots.js";
import type { McpHost } from "../../surfaces/mcp/host.js";
import { type HostAfterRoots, serveMcpStdio } from "../../surfaces/mcp/stdio.js";
import { openConfiguredLog } from "../../venue/start/open-parts.js";
import { type OpenVenue, openVenue } from "../../venue/start/open-venue.js";
import { rootsWithSecrets, touchesSecrets } from "../../venue/start/state/secrets.js";
import type { OpenLog } from "../../venue/telemetry/log.js";
import { type ConfigSource, namesRoots, type OwnCalls } from "../arguments/remote.js";
import { type CommandContext, EXIT } from "../context.js";
import { loadCaps, loadOneConfig, ownCaller, warn } from "../load-config.js";
import { withProfile } from "../profile.js";
import { maxHeldBytes, maxMessageBytes } from "./message-size.js";

interface McpCommand extends OwnCalls {
  /** `undefined`: as configured. */
  readonly tools: "default" | "full" | undefined;
  /** Offer only the tools of this profile. */
  readonly profile: string | undefined;
  /** Folders below which roots of the client are served. Absent: the client is not asked. */
  readonly within?: readonly string[];
}

/** Time a client gets to tell its roots: some ask their user first. */
const ROOTS_ANSWER_MS = 20_000;

/** For people who start it in a script or by hand; clients that end without a word show it in their logs. */
const NOTHING_CAME =
  "Nothing came on standard input: an MCP client starts this command. The entry for yours: venue-files init FOLDER --for CLIENT\n";

const NO_FOLDER = `No folder given: serves '${DEFAULT_ROOT}', an empty temporary folder that is removed at the end. Serve yours: venue-files mcp FOLDER\n`;

/** `venue-files mcp`: serves MCP on standard input and output until the client disconnects. */
export async function mcp(command: McpCommand, context: CommandContext): Promise<number> {
  const { stdin, stdout, stderr } = context;
  const config = configOf(command, command.source, context.cwd);
  const run = new McpRun(command, context);
  const stopped = context.untilStopped();
  try {
    const host = command.within === undefined ? run.open(config) : run.openLater(config, command.within);
    const given = await host;
    if (stdin.isTTY) stderr.write("Waiting for an MCP client on standard input. Stop with Ctrl-C.\n");
    const onError = ({ message }: Error) => stderr.write(`MCP: ${escapeText(message)}\n`);
    let isUsed = false;
    stdin.once("data", () => {
      isUsed = true;
    });
    const served = serveMcpStdio(given, {
      ...{ input: stdin, output: stdout, onError },
      maxMessageBytes: maxMessageBytes(config),
      maxHeldBytes: maxHeldBytes(config),
    });
    const hasEnded = await Promise.race([served.then(() => true), stopped.then(() => false)]);
    if (hasEnded && !isUsed) stderr.write(NOTHING_CAME);
    return EXIT.ok;
  } finally {
    await run.close();
  }
}

type ServedConfig = VenueConfig & { readonly mcp: McpConfig };

/** @throws ConfigError */
function configOf({ tools, profile }: McpCommand, source: ConfigSource, cwd: string): ServedConfig {
  const loaded = loadOneConfig(source, cwd);
  if (loaded.mcp === false) throw new ConfigError(["MCP is switched off: 'mcp' is false"], EXIT.config);
  const mcpConfig = tools === undefined ? loaded.mcp : { ...loaded.mcp, tools };
  const own = { ...loaded, mcp: mcpConfig };
  return profile === undefined ? own : { ...withProfile(own, profile), mcp: mcpConfig };
}

/** The venue of one `mcp` command, opened at once or when the client's roots are known. */
class McpRun {
  readonly #command: McpCommand;
  readonly #context: CommandContext;
  readonly #caps: readonly unknown[] | undefined;
  #venue: Promise<OpenVenue> | undefined;
  #log: OpenLog | undefined;

  constructor(command: McpCommand, context: CommandContext) {
    this.#command = command;
    this.#context = context;
    this.#caps = loadCaps(command.capsFile);
    this.#warnProtected(command.source.folders ?? []);
  }

  async open(config: ServedConfig): Promise<McpHost> {
    const venue = await this.#openVenue(config);
    if (!namesRoots(this.#command.source)) this.#context.stderr.write(NO_FOLDER);
    return venue.mcpHost(this.#caps, this.#command.profile);
  }

  /** @param before the configuration without roots of the client @param within values of `--within` */
  async openLater(before: ServedConfig, within: readonly string[]): Promise<HostAfterRoots> {
    const [{ realFolders }, { greeting }] = await Promise.all([
      import("./client-roots.js"),
      import("../../venue/catalogue/mcp-greeting.js"),
    ]);
    const dirs = await realFolders(within, this.#context.cwd);
    return {
      greeting: greeting(before),
      answerMs: ROOTS_ANSWER_MS,
      open: (roots) => this.#openWith(roots, before, dirs),
    };
  }

  async close(): Promise<void> {
    // The call that opened the venue has reported the error.
    const venue = await this.#venue?.catch(() => undefined);
    await venue?.close();
    this.#log?.close();
  }

  async #openWith(roots: ClientRoots, before: ServedConfig, dirs: readonly string[]): Promise<McpHost> {
    const { source } = this.#command;
    const { checkOpened, foldersOfClient, rootsForClient } = await import("./client-roots.js");
    const isOurs = (path: string) => touchesSecrets(path, before, this.#context.env);
    const folders = await foldersOfClient(roots.uris, dirs, isOurs);
    const clientRoots = rootsForClient(folders, {
      isTaken: (name) => Object.hasOwn(before.file.roots, name),
      protect: source.noProtect === true ? [] : FOLDER_SETS,
    });
    this.#reportServed(roots, Object.keys(clientRoots));
    this.#warnProtected(source.folders === undefined ? folders : []);
    const config = configOf(this.#command, { ...source, clientRoots }, this.#context.cwd);
    const venue = await this.#openVenue(config);
    checkOpened(clientRoots, venue.adapter.roots);
    return venue.mcpHost(this.#caps);
  }

  async #openVenue(config: ServedConfig): Promise<OpenVenue> {
    const { env, stderr } = this.#context;
    const { profile } = this.#command;
    const caller = await ownCaller(this.#command.caller, config, this.#context);
    const log = openConfiguredLog(config, stderr);
    this.#log = log;
    const filesOnly = profile !== undefined || (config.mcp.includeAdapters?.every((name) => name === "file") ?? true);
    this.#venue = openVenue(config, { listens: false, env, log, filesOnly, profile, ...caller });
    const venue = await this.#venue;
    warn(venue, this.#context);
    for (const name of rootsWithSecrets(config, env)) stderr.write(`Warning: ${exposure(name)}\n`);
    return venue;
  }

  #warnProtected(folders: readonly string[]): void {
    if (folders.length === 0 || this.#command.source.noProtect === true) return;
    this.#context.stderr.write(
      "In the folders given, .git and settings of MCP clients (.mcp.json and the like) may be read, not changed. --no-protect lifts that.\n",
    );
  }

  /** @throws ConfigError where nothing is left to serve */
  #reportServed({ total, reason }: ClientRoots, names: readonly string[]): void {
    const leftOut = total - names.length;
    const why =
      reason ?? `${leftOut} of its ${total} are left out: none but folders in --within, each once, at most 32`;
    if (names.length === 0) {
      const text = `No roots of the client: ${why}.`;
      if (!namesRoots(this.#command.source)) throw new ConfigError([`${text} Name one with --root`], EXIT.config);
      this.#context.stderr.write(`${text} Only those of the command line are served.\n`);
      return;
    }
    const rest = leftOut === 0 ? "" : `; ${why}`;
    this.#context.stderr.write(`Roots of the client: ${names.join(", ")}${rest}.\n`);
  }
}

const exposure = (root: string): string =>
  `root '${root}' holds keys and tokens of venue-files, which the client can read: whoever has them can act as you. Serve another folder`;
