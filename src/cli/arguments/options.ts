// The table of all options and commands, and the parser that reads them.

import { parseArgs } from "node:util";
import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";

/** An invalid command line (exit status 64). */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** All options with their type and an example value. */
export const OPTIONS = {
  config: { type: "string", example: "venue.json5" },
  root: { type: "string", multiple: true, example: "docs=./docs" },
  deny: { type: "string", multiple: true, example: "@secrets" },
  protect: { type: "string", multiple: true, example: "@git" },
  "no-protect": { type: "boolean" },
  "read-only": { type: "boolean" },
  "client-roots": { type: "boolean" },
  within: { type: "string", multiple: true, example: "~/src" },
  host: { type: "string", example: "127.0.0.1" },
  port: { type: "string", example: "8080" },
  caps: { type: "string", example: "caps.json5" },
  tools: { type: "string", example: "full" },
  key: { type: "string", example: "alice" },
  proof: { type: "string", multiple: true, example: "grant.ucan" },
  to: { type: "string", example: '"$(venue-files key show bob)"' },
  with: { type: "string", multiple: true, example: "file://docs/reports/" },
  can: { type: "string", multiple: true, example: "crud/read" },
  for: { type: "string", example: "1h" },
  profile: { type: "string", example: "covia" },
  out: { type: "string", example: "grant.ucan" },
  token: { type: "string", example: "grant.ucan" },
  url: { type: "string", example: "http://localhost:8080" },
  user: { type: "string", example: '"$(venue-files key show alice)"' },
  drive: { type: "string", example: "notes" },
  from: { type: "string", example: "notes" },
  source: { type: "string", example: "reference" },
  top: { type: "string", example: "drive" },
  region: { type: "string", example: "fs" },
  "part-bytes": { type: "string", example: "50000000" },
  grace: { type: "string", example: "24h" },
  "dry-run": { type: "boolean" },
  prompt: { type: "string", example: '"Fix the typos in README.md"' },
  yes: { type: "boolean" },
  passphrase: { type: "string", example: "env:BACKUP_PASSPHRASE" },
  plaintext: { type: "boolean" },
  drives: { type: "boolean" },
  roots: { type: "string", multiple: true, example: "docs" },
  revocations: { type: "string", example: "revocations" },
  "accept-old-tokens": { type: "boolean" },
  "accept-list": { type: "boolean" },
  print: { type: "boolean" },
  force: { type: "boolean" },
  "deny-writes": { type: "boolean" },
  snapshot: { type: "boolean" },
  did: { type: "string", example: "did:key:z6Mk…" },
  label: { type: "string", example: '"indexer"' },
  name: { type: "string", example: "files-shop" },
  keep: { type: "boolean" },
  "clamp-times": { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

export type OptionName = keyof typeof OPTIONS;

/** Restrictions of roots, on every command that takes `--root`. */
export const GUARDS = ["deny", "protect", "no-protect", "read-only"] as const;

/** All commands with their options. */
export const COMMANDS = {
  init: ["root", "for", "name", "port", "yes", "print", "force"],
  serve: ["config", "root", ...GUARDS, "host", "port"],
  check: ["config", "root", ...GUARDS, "host", "port"],
  mcp: ["config", "root", ...GUARDS, "client-roots", "within", "tools", "profile", "caps", "key", "proof"],
  doctor: [],
  health: ["config", "host", "port", "url"],
  completion: [],
  call: ["config", "root", ...GUARDS, "caps", "key", "proof", "url", "token"],
  acp: ["config", "root", ...GUARDS, "caps", "key", "proof", "prompt", "yes", "deny-writes", "snapshot"],
  "key new": ["config"],
  "key show": ["config"],
  grant: ["to", "with", "can", "for", "key", "config", "proof", "profile", "out"],
  link: ["config", "url", "token", "with", "can", "caps", "for", "label", "json"],
  "token issue": ["config", "url", "token", "with", "can", "caps", "for", "label", "json"],
  "token ls": ["config", "url", "token", "json"],
  "token revoke": ["config", "url", "token", "keep", "json"],
  approvals: ["config", "url", "token", "json"],
  "lock ls": ["config", "url", "token", "json"],
  "lock drop": ["config", "url", "token"],
  "token inspect": ["config", "key", "with", "can", "json"],
  "token identity": ["to", "for", "key", "config", "out"],
  revoke: ["config", "token", "accept-list"],
  "audit verify": ["did", "config", "json"],
  "backup create": ["config", "drives", "roots", "passphrase", "plaintext"],
  "backup restore": ["config", "passphrase", "revocations", "accept-old-tokens"],
  "drive ls": ["config", "user", "key", "json"],
  "drive export": ["config", "user", "key", "drive", "top", "region", "part-bytes", "json"],
  "drive import": ["config", "user", "key", "drive", "from", "source", "json"],
  "drive merge": ["config", "user", "key", "drive", "from", "source", "json"],
  "drive verify": ["config", "user", "key", "drive", "clamp-times", "json"],
  "drive gc": ["config", "grace", "dry-run", "json"],
  "drive upgrade": ["config", "json"],
  "drive export-key": ["config", "user", "out"],
  "drive import-key": ["config", "user"],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type CommandName = keyof typeof COMMANDS;

/** Help topics: a command, a group of commands, or what is said where there is no command at all. */
export type HelpTopic = CommandName | "key" | "token" | "backup" | "drive" | "files" | "start";

export type Values = ReadonlyMap<OptionName, readonly string[]>;

/** A command line, split into options and positionals. */
export interface Given {
  readonly values: Values;
  /** Option names in order of appearance, for options that are paired by position. */
  readonly order: readonly OptionName[];
  readonly positionals: readonly string[];
  /** `--help` was given; it takes precedence over any mistake. */
  readonly help: boolean;
}

/** Splits a command line. Not in strict mode of `parseArgs`, whose messages are for programmers. @throws UsageError */
export function readOptions(argv: readonly string[]): Given {
  const { tokens, positionals } = parseArgs({
    args: moveIdsBehind(argv),
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<OptionName, string[]>();
  const order: OptionName[] = [];
  const faults: UsageError[] = [];
  const known = optionsFor(positionals);
  let help = false;
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const isHelp = token.name === "help" || (token.inlineValue === false && /^(?:-h|--help)$/.test(token.value));
    help ||= isHelp;
    const fault = faultOf(token, known);
    if (fault !== undefined) faults.push(new UsageError(fault));
    else if (isOptionName(token.name)) {
      values.set(token.name, [...(values.get(token.name) ?? []), token.value ?? ""]);
      order.push(token.name);
    }
  }
  if (faults[0] !== undefined && !help) throw faults[0];
  return { values, order, positionals, help };
}

/** A token id that begins with a dash, as one in 64 does (base64url). */
const DASHED_ID = /^-[A-Za-z0-9_-]{42}$/;

/** Moves token ids that look like options behind `--`, so that they are parsed as arguments. */
function moveIdsBehind(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const words = end < 0 ? argv : argv.slice(0, end);
  const isId = (word: string, index: number) => DASHED_ID.test(word) && !takesValue(words[index - 1]);
  if (!words.some(isId)) return [...argv];
  const others = words.filter((word, index) => !isId(word, index));
  return [...others, "--", ...words.filter(isId), ...(end < 0 ? [] : argv.slice(end + 1))];
}

function takesValue(word = ""): boolean {
  const name = word.slice(2);
  return word.startsWith("--") && isOptionName(name) && OPTIONS[name].type === "string";
}

/** Names of the options that a misspelt one may mean: those of its command. */
function optionsFor([first, second]: readonly string[]): readonly string[] {
  if (first === undefined) return ["help", "version"];
  const name = [`${first} ${second}`, first].find((one) => Object.hasOwn(COMMANDS, one));
  return name === undefined ? Object.keys(OPTIONS) : [...COMMANDS[name as CommandName], "help"];
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** Checks a single option. @param names to suggest one of @returns the problem, if any */
function faultOf(option: OptionToken, names: readonly string[]): string | undefined {
  const { name, rawName, value, inlineValue } = option;
  if (!isOptionName(name)) {
    const near = nearestName(name, names);
    return `Unknown option '${escapeText(rawName)}'${near === undefined ? "" : ` - did you mean '--${near}'?`}`;
  }
  const known = OPTIONS[name];
  if (known.type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  const example = `for example --${name} ${known.example}`;
  if (value === undefined || value === "") return `--${name} needs a value, ${example}`;
  // A missing value must not consume the next option; a lone "-" names a standard stream.
  if (inlineValue !== true && value.startsWith("-") && value !== "-") {
    return `--${name} needs a value before '${escapeText(value)}', ${example}`;
  }
  return looksSecret(value) ? secretRefusal(`--${name}`) : undefined;
}

const isOptionName = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name);

/** A JWT: three parts in base64url, the first begins with `{"`; or an access token. */
const TOKEN = /\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]|\bvft_[A-Za-z0-9_-]{43}/;
const SEED = /^(?:env:)?(?:0x)?[0-9a-fA-F]{64}$/;

/** Whether a word is a token or a seed instead of a reference to one; it must not appear in an error message either. */
export const looksSecret = (word: string): boolean => TOKEN.test(word) || SEED.test(word.trim());

/** @param what name of the option or argument */
export const secretRefusal = (what: string): string =>
  `${what} seems to be a token or a key itself, which others on this machine could see in the list of processes. ` +
  "Put it into a file or an environment variable, and name that: FILE or env:NAME";

/** Checks that an argument is safe to show. @throws UsageError if it is a token or a seed */
export function checkArgument(word: string): string {
  if (looksSecret(word)) throw new UsageError(secretRefusal("An argument"));
  return word;
}

/** The value of an option that may be given at most once. @throws UsageError */
export function singleValue(values: Values, name: OptionName): string | undefined {
  const [value, ...more] = values.get(name) ?? [];
  if (more.length > 0) throw new UsageError(`--${name} is given more than once`);
  return value;
}

/** The value of a mandatory option. @throws UsageError */
export function requiredValue(values: Values, command: CommandName, name: OptionName): string {
  const value = singleValue(values, name);
  if (value !== undefined) return value;
  const { example } = { example: "", ...OPTIONS[name] };
  throw new UsageError(`'${command}' needs --${name}, for example --${name} ${example}`);
}
