// The commands that serve, look at what would be served, and call.

import type { ListenerOverride } from "../../config/parse-venue.js";
import { escapeText } from "../../core/errors/texts.js";
import { UsageError } from "../arguments/options.js";
import { command, type Options, type Values } from "./command.js";
import {
  CALLER,
  CONFIG,
  choiceOf,
  FLAG,
  list,
  ownCallsOf,
  PROFILE,
  SOURCE,
  sourceOf,
  TOKEN,
  URL_OPTION,
  value,
} from "./shared.js";

const LISTEN = {
  host: value("NAME", "127.0.0.1", "address to listen on, in place of that of the configuration; default localhost"),
  port: value("N", "8080", "port to listen on; 0 picks a free one; default 8080"),
} as const satisfies Options;

/** `--host` and `--port`, if given. @throws UsageError */
function listenerOf({ host, port }: Values<typeof LISTEN>): ListenerOverride | undefined {
  if (host !== undefined && !/^[^\s/]+$/.test(host)) {
    throw new UsageError(`--host takes a host name or an IP address, not '${escapeText(host)}'`);
  }
  return host === undefined && port === undefined ? undefined : { hostname: host, port: portOf(port) };
}

/** @throws UsageError */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port must be between 0 and 65535, not '${escapeText(text)}'`);
}

const serve = command({
  usage: `serve [--config FILE] [--host NAME] [--port N] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]`,
  text: `Serves HTTP and MCP until stopped. On a loopback address callers without credentials may do everything in temp roots
and only read in host folders, unless the configuration says otherwise; the printed token acts as the operator. It is
kept in the state directory (XDG_STATE_HOME, else ~/.local/state), stays the same until that file is deleted, and is
shown on a terminal only.`,
  options: { ...SOURCE, ...LISTEN },
  note: `SIGHUP reads the configuration again: changed roots, owners, grants, tokens and rights of anonymous callers take effect
at once, or, when anything in the file is wrong, nothing does.`,
  example: "venue-files serve --root docs=./docs",
  exits: "0 stopped, 64 usage, 66 file not readable, 69 port or address not to be had, 78 invalid configuration",
  locates: true,
  async run({ values }, context) {
    const source = { ...sourceOf(values), listener: listenerOf(values) };
    return (await import("../serve/serve.js")).serve(source, context);
  },
});

const check = command({
  usage: `check [--config FILE] [--host NAME] [--port N] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]`,
  text: `Reads the configuration and says what serve would run: addresses, identity, roots, and who may do what in them. Nothing
is started, and nothing is made. All that is wrong in the file is told at once; then all that a start would miss.`,
  options: { ...SOURCE, ...LISTEN },
  example: "venue-files check --config venue.json5",
  exits: "0 valid, 64 usage, 66 file not readable, 78 invalid configuration",
  locates: true,
  async run({ values }, context) {
    const source = { ...sourceOf(values), listener: listenerOf(values) };
    return (await import("../checks/check.js")).check(source, context);
  },
});

const TOOLS = {
  "client-roots": {
    ...FLAG,
    text: `the folders that the client names at its start are roots too, client-<name>, like a FOLDER;
later changes of its list are ignored. Clients of revision 2026-07-28 name none`,
  },
  within: list("DIR", "~/src", "where they must lie, by real path; may be repeated; what lies elsewhere is left out"),
  tools: value("default|full", "full", "the 14 tools for every day, or all of them; else what the configuration says"),
  profile: {
    ...PROFILE,
    text: `only the tools of this profile, as the other system names them; jettson and everruns need no
configuration where there is one root`,
  },
} as const satisfies Options;

/** Folders below which roots of the client are served; absent: the client is not asked. @throws UsageError */
function withinOf({ within, "client-roots": isAsked, profile }: Values<typeof TOOLS>): { within?: readonly string[] } {
  if (!isAsked) {
    if (within.length > 0) throw new UsageError("--within needs --client-roots, whose folders it bounds");
    return {};
  }
  if (within.length === 0) {
    throw new UsageError("--client-roots needs --within, the folder that they must lie in, for example --within ~/src");
  }
  if (profile === undefined) return { within };
  throw new UsageError("--client-roots does not go with --profile, whose tools work on one root of yours");
}

/** @throws UsageError */
function toolsOf({ tools, profile }: Values<typeof TOOLS>): "default" | "full" | undefined {
  if (tools !== undefined && profile !== undefined) throw new UsageError("--profile has tools of its own: no --tools");
  if (tools === undefined || tools === "default" || tools === "full") return tools;
  throw new UsageError("--tools must be default or full");
}

const mcp = command({
  usage: `mcp [FOLDER[:ro]]… [--config FILE] [--root [NAME=]PATH[:ro]]… [--client-roots --within DIR…]
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--profile NAME | --tools full] [--caps FILE]
                [--key KEY [--proof FILE]…]`,
  text: `Each FOLDER is a root, named like it; .git and settings of MCP clients (.mcp.json and the like) in it may be read, not
changed, unless --no-protect.

Serves MCP on standard input and output, for clients that start their servers themselves. The caller acts as the
operator: everything in every root, unless --caps narrows it. With --key it is the DID of that key, with the rights that
the configuration and the proofs give to that.`,
  words: { most: Infinity },
  options: { ...SOURCE, ...TOOLS, ...CALLER },
  note: `Example: venue-files mcp --root docs=./docs
Example of a caps file: [{ with: "file://docs/", can: "crud/read" }]`,
  exits: "0 the client has gone or it was stopped, 64 usage, 66 file not readable, 78 invalid configuration",
  locates: true,
  async run({ values, words: folders }, context) {
    const own = ownCallsOf(values);
    const choice = { tools: toolsOf(values), profile: values.profile, ...withinOf(values) };
    const source = { ...own.source, ...(folders.length === 0 ? {} : { folders }) };
    return (await import("../mcp/mcp.js")).mcp({ ...own, ...choice, source }, context);
  },
});

const health = command({
  usage: "health [--config FILE] [--host NAME] [--port N] [--url URL]",
  text: "Asks /healthz of a running venue, for two seconds at most, and says ok. For HEALTHCHECK of a container, and supervisors.",
  options: {
    config: { ...CONFIG, text: "the venues of this configuration; else localhost, port 8080" },
    host: { ...LISTEN.host, heading: "--host NAME, --port N", text: "in place of those of the configuration" },
    port: { type: "string", example: "8080" },
    url: { ...URL_OPTION, text: "this venue: http://localhost:8080" },
  },
  exits: "0 healthy, 1 not, 64 usage, 66 file not readable, 78 invalid configuration",
  locates: true,
  async run({ values }, context) {
    const source = { file: values.config, roots: [], listener: listenerOf(values) };
    return (await import("../checks/health.js")).health(source, values.url, context);
  },
});

const call = command({
  usage: `call <operation> ['<json>'] [--config FILE] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--caps FILE] [--key KEY [--proof FILE]…]
                [--url URL [--token FILE] [--proof FILE]…]`,
  text: `Runs one operation as the operator, or as the DID of a key, and prints its output as JSON. The input is
JSON or JSON5; a dash in its place reads it from standard input: for what should not be seen in the list of processes.`,
  words: { most: Infinity, raw: true, needs: "an operation, for example: venue-files call file:roots" },
  options: {
    ...{ ...SOURCE, ...CALLER },
    url: {
      ...URL_OPTION,
      apart: true,
      text: "a venue that runs elsewhere, in place of --config and --root: http://localhost:8080",
    },
    token: { ...TOKEN, text: "who calls there: the bearer token in this file, or env:NAME; else anybody" },
  },
  note: `Operations: file:roots file:list file:tree file:read file:readMany file:stat file:hash file:glob file:grep file:du
            file:create file:write file:edit file:patch file:append file:mkdir file:move file:copy file:delete
            file:history file:undo file:restore file:trash file:purge file:watch file:transfer
            ucan:issue ucan:verify ucan:revoke auth:whoami auth:issue auth:list auth:revoke audit:query
            approval:list approval:get approval:decide approval:wait lock:list lock:drop,
            and the tools of profiles, <profile>:<tool>
Example: venue-files call file:read '{"root":"docs","path":"README.md"}' --root docs=.`,
  exits: `0 done, 1 the operation failed (one line of JSON on standard error; for a tool of a profile its answer, as
ever), 64 usage, 66 file not readable, 69 no venue at --url, 78 invalid configuration`,
  locates: true,
  async run({ values, words: [operation = "", input = "{}", ...more] }, context) {
    const own = ownCallsOf(values);
    if (more.length > 0) throw new UsageError("'call' takes an operation and one JSON object. Quote the JSON");
    return (await import("../call.js")).call({ ...own, operation, input }, context);
  },
});

const acp = command({
  usage: `acp [--yes | --deny-writes] [--snapshot] [--prompt TEXT] [--resume ID | --list] [--protocol VERSION]
                [--config FILE] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--caps FILE] [--key KEY [--proof FILE]…] -- <agent command…>`,
  text: `Starts an agent of the Agent Client Protocol, opens a session on the roots, and serves what it asks for: files, and
commands where there is a sandbox for them. Every request is shown; before a change or a command you are asked. At the
end come all modified files and the audit. The agent itself is a process of yours, which nothing confines.`,
  words: { most: Infinity, raw: true },
  options: {
    prompt: value(
      "TEXT",
      '"Fix the typos in README.md"',
      "what the agent is to do; else each line of standard input is a prompt",
    ),
    yes: { ...FLAG, text: "allow everything, for scripts" },
    "deny-writes": { ...FLAG, text: "allow no change and no command, for scripts" },
    snapshot: {
      ...FLAG,
      text: "clone the roots before each command, so that 'undo' brings back what it replaced and deleted",
    },
    resume: value("ID", "sess_abc123", "go on with a session that the agent keeps"),
    list: { ...FLAG, text: "only list the sessions that the agent keeps in the roots" },
    protocol: value("VERSION", "1", "version of the protocol: 1, 2 or auto; default auto"),
    ...{ ...SOURCE, ...CALLER },
  },
  note: `Where nobody can be asked, and neither --yes nor --deny-writes is given, nothing is allowed to change.
Example: venue-files acp --root docs=. --prompt "Fix the typos in README.md" -- npx some-agent`,
  exits: `0 done, 1 the agent failed, 64 usage, 66 file not readable, 69 the agent cannot be started,
78 invalid configuration`,
  locates: true,
  async run({ values, words: agent }, context) {
    const { prompt, yes, snapshot, "deny-writes": denies, resume, list: lists } = values;
    const own = ownCallsOf(values);
    if ((agent[0] ?? "") === "") {
      throw new UsageError("'acp' needs an agent, for example: venue-files acp -- node agent.mjs");
    }
    if (yes && denies) throw new UsageError("Only one of --yes and --deny-writes may be given");
    if (lists && (resume ?? prompt) !== undefined) throw new UsageError("--list takes neither --resume nor --prompt");
    const answer = yes ? "allow" : denies ? "reject" : "ask";
    const spoken = choiceOf("protocol", values.protocol, ["1", "2", "auto"]) ?? "auto";
    const protocol = spoken === "auto" ? spoken : spoken === "1" ? 1 : 2;
    return (await import("../acp/acp.js")).acp(
      { ...own, agent, prompt, answer, snapshot, resume, lists, protocol },
      context,
    );
  },
});

export const SERVE = { serve, check, mcp, health, call, acp };
