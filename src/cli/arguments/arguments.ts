// Parses the command line: one parser for each command.

import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { commandOf, helpTopic, isShell, SHELLS, type Shell } from "./command-name.js";
import { type AccessCommand, parseAccess } from "./commands/access.js";
import { type AcpCommand, parseAcp } from "./commands/acp.js";
import { type AuditVerifyCommand, parseAuditVerify } from "./commands/audit.js";
import { type BackupCreate, type BackupRestore, parseBackupCreate, parseBackupRestore } from "./commands/backup.js";
import { type DriveCommand, parseDriveCommand } from "./commands/drives.js";
import { type GrantCommand, parseGrant, parseLifetime, parseSingleCapability } from "./commands/grant.js";
import { type InitCommand, parseInit } from "./commands/init.js";
import { type FileLine, parseFileLine } from "./files/options.js";
import { type Line, refuseArguments, requireArgument, surplusArgument } from "./line.js";
import { parseListener } from "./listener.js";
import { type ClientRootsChoice, parseClientRoots, parseToolChoice, type ToolChoice } from "./mcp-options.js";
import {
  COMMANDS,
  type CommandName,
  checkArgument,
  GUARDS,
  type HelpTopic,
  readOptions,
  requiredValue,
  singleValue,
  UsageError,
  type Values,
} from "./options.js";
import { type ConfigSource, type OwnCalls, reachOf } from "./remote.js";

/** A parsed command line. */
export type Command =
  | { readonly name: "help"; readonly topic: HelpTopic | undefined }
  | { readonly name: "version" }
  | { readonly name: "serve"; readonly source: ConfigSource }
  | { readonly name: "check"; readonly source: ConfigSource }
  | InitCommand
  | { readonly name: "doctor" }
  | { readonly name: "health"; readonly source: ConfigSource; readonly url: string | undefined }
  | { readonly name: "completion"; readonly shell: Shell }
  | ({ readonly name: "mcp" } & ToolChoice & ClientRootsChoice & OwnCalls)
  | ({
      readonly name: "call";
      readonly operation: string;
      /** JSON text; `-`: standard input. */
      readonly input: string;
    } & OwnCalls)
  | AcpCommand
  | { readonly name: "key new"; readonly key: string; readonly config: string | undefined }
  | { readonly name: "key show"; readonly key: string | undefined; readonly config: string | undefined }
  | GrantCommand
  | {
      readonly name: "token inspect";
      /** A path, `env:NAME`, or `-`. */
      readonly token: string;
      readonly config: string | undefined;
      readonly key: string | undefined;
      /** Capability to check the token for. */
      readonly wanted: Capability | undefined;
      readonly json: boolean;
    }
  | {
      readonly name: "token identity";
      readonly to: string;
      readonly lifetimeSeconds: number | undefined;
      readonly key: string;
      readonly config: string | undefined;
      readonly out: string | undefined;
    }
  | BackupCreate
  | BackupRestore
  | DriveCommand
  | FileLine
  | AuditVerifyCommand
  | AccessCommand
  | {
      readonly name: "revoke";
      /** Token ids or DIDs. */
      readonly entries: readonly string[];
      readonly token: string | undefined;
      /** Takes the list as it is. */
      readonly acceptList: boolean;
      readonly config: string;
    };

/** Parses a command line. @param argv without node and script @throws UsageError */
export function parseCommandLine(argv: readonly string[]): Command {
  if (argv.length === 0) return { name: "help", topic: "start" };
  const onFiles = parseFileLine(argv);
  if (onFiles !== undefined) return onFiles;
  const given = readOptions(argv);
  const { values, positionals, help } = given;
  const [first, ...others] = positionals;
  if (first === "help") return { name: "help", topic: helpTopic(others, true) };
  if (help) return { name: "help", topic: helpTopic(positionals, false) };
  if (values.has("version")) return { name: "version" };
  if (first === undefined) throw new UsageError("A command is missing. Try: venue-files serve");
  const { name, rest } = commandOf(first, others);
  const allowed: readonly string[] = COMMANDS[name];
  for (const option of values.keys()) {
    if (!allowed.includes(option)) throw new UsageError(`'${name}' has no option --${option}`);
  }
  return PARSERS[name]({ ...given, rest });
}

const parseDrive =
  (name: DriveCommand["name"]) =>
  ({ rest, values }: Line): Command =>
    parseDriveCommand(name, rest.map(checkArgument), values);

const PARSERS: Readonly<Record<CommandName, (line: Line) => Command>> = {
  init: ({ rest, values }) => parseInit(rest, values),
  doctor: (line) => {
    refuseArguments(line, "doctor");
    return { name: "doctor" };
  },
  health: (line) => {
    refuseArguments(line, "health");
    const { values } = line;
    return {
      name: "health",
      source: { ...parseSource(line), listener: parseListener(values) },
      url: singleValue(values, "url"),
    };
  },
  completion: (line) => {
    const shell = requireArgument(line, "completion", `the shell: ${SHELLS.join(", ")}`);
    if (isShell(shell)) return { name: "completion", shell };
    throw new UsageError(`'completion' knows ${SHELLS.join(", ")}, not '${escapeText(shell)}'`);
  },
  serve: (line) => {
    refuseArguments(line, "serve");
    return { name: "serve", source: { ...parseSource(line), listener: parseListener(line.values) } };
  },
  check: (line) => {
    refuseArguments(line, "check");
    return { name: "check", source: { ...parseSource(line), listener: parseListener(line.values) } };
  },
  mcp: (line) => {
    const own = parseOwnCalls(line);
    const folders = line.rest.map(checkArgument);
    return {
      name: "mcp",
      ...own,
      source: { ...own.source, ...(folders.length === 0 ? {} : { folders }) },
      ...parseToolChoice(line.values),
      ...parseClientRoots(line.values),
    };
  },
  call: (line) => ({ name: "call", ...parseOwnCalls(line), ...parseOperation(line.rest) }),
  acp: (line) => parseAcp(line.rest, line.values, parseOwnCalls(line)),
  "key new": (line) => {
    const key = requireArgument(
      line,
      "key new",
      "a name or a path for the key, for example: venue-files key new alice",
    );
    return { name: "key new", key, config: singleValue(line.values, "config") };
  },
  "key show": ({ rest, values }) => {
    const [key, ...more] = rest.map(checkArgument);
    if (more[0] !== undefined) throw surplusArgument("key show", more[0]);
    return { name: "key show", key, config: singleValue(values, "config") };
  },
  grant: parseGrant,
  link: (line) => parseAccess("link", line),
  "token issue": (line) => parseAccess("token issue", line),
  "token ls": (line) => parseAccess("token ls", line),
  "token revoke": (line) => parseAccess("token revoke", line),
  approvals: (line) => parseAccess("approvals", line),
  "lock ls": (line) => parseAccess("lock ls", line),
  "lock drop": (line) => parseAccess("lock drop", line),
  "token inspect": (line) => ({
    name: "token inspect",
    token: requireArgument(
      line,
      "token inspect",
      "a file, env:NAME or -, for example: venue-files token inspect a.ucan",
    ),
    config: singleValue(line.values, "config"),
    key: singleValue(line.values, "key"),
    wanted: parseSingleCapability(line),
    json: line.values.has("json"),
  }),
  "token identity": (line) => {
    refuseArguments(line, "token identity");
    return {
      name: "token identity",
      to: requiredValue(line.values, "token identity", "to"),
      lifetimeSeconds: parseLifetime(line.values),
      key: requiredValue(line.values, "token identity", "key"),
      config: singleValue(line.values, "config"),
      out: singleValue(line.values, "out"),
    };
  },
  revoke: ({ rest, values }) => {
    const entries = rest.map(checkArgument);
    const token = singleValue(values, "token");
    const acceptList = values.has("accept-list");
    if (entries.length === 0 && token === undefined && !acceptList) {
      throw new UsageError("'revoke' needs the id of a token, a DID, or --token FILE. See: token inspect");
    }
    return { name: "revoke", entries, token, acceptList, config: requiredValue(values, "revoke", "config") };
  },
  "audit verify": ({ rest, values }) => parseAuditVerify(rest.map(checkArgument), values),
  "backup create": parseBackupCreate,
  "backup restore": parseBackupRestore,
  "drive ls": parseDrive("drive ls"),
  "drive export": parseDrive("drive export"),
  "drive import": parseDrive("drive import"),
  "drive merge": parseDrive("drive merge"),
  "drive verify": parseDrive("drive verify"),
  "drive gc": parseDrive("drive gc"),
  "drive upgrade": parseDrive("drive upgrade"),
  "drive export-key": parseDrive("drive export-key"),
  "drive import-key": parseDrive("drive import-key"),
};

/** Options that say what a venue in this process is. */
const LOCAL_OPTIONS = ["config", "root", ...GUARDS] as const;

const parseSource = ({ values }: Line): ConfigSource => ({
  file: singleValue(values, "config"),
  roots: values.get("root") ?? [],
  ...(GUARDS.some((name) => values.has(name)) ? guardsOf(values) : {}),
});

const guardsOf = (values: Values): Pick<ConfigSource, "guards" | "noProtect"> => ({
  noProtect: values.has("no-protect"),
  guards: {
    deny: values.get("deny") ?? [],
    protect: values.get("protect") ?? [],
    readOnly: values.has("read-only"),
  },
});

function parseOwnCalls(line: Line): OwnCalls {
  const { values } = line;
  const reach = reachOf({
    ...{ url: singleValue(values, "url"), token: singleValue(values, "token"), key: singleValue(values, "key") },
    ...{ proofs: values.get("proof") ?? [], local: LOCAL_OPTIONS.filter((name) => values.has(name)) },
  });
  return { source: parseSource(line), capsFile: singleValue(values, "caps"), ...reach };
}

function parseOperation(rest: readonly string[]): { operation: string; input: string } {
  const [name, input = "{}", ...more] = rest;
  if (name === undefined) throw new UsageError("'call' needs an operation, for example: venue-files call file:roots");
  if (more.length > 0) throw new UsageError("'call' takes an operation and one JSON object. Quote the JSON");
  return { operation: name, input };
}
