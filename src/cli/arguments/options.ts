import { parseArgs } from "node:util";
import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";

/** A command line that cannot be understood. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Every option with its short form, the value it takes, and an example of one. */
export const OPTIONS = {
  config: { type: "string", example: "venue.json5" },
  root: { type: "string", multiple: true, example: "docs=./docs" },
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
  "deny-writes": { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

export type OptionName = keyof typeof OPTIONS;

/** Every command with the options it takes. */
export const COMMANDS = {
  serve: ["config", "root", "port"],
  check: ["config", "root"],
  mcp: ["config", "root", "tools", "profile", "caps", "key", "proof"],
  call: ["config", "root", "caps", "key", "proof"],
  acp: ["config", "root", "caps", "key", "proof", "prompt", "yes", "deny-writes"],
  "key new": ["config"],
  "key show": ["config"],
  grant: ["to", "with", "can", "for", "key", "config", "proof", "profile", "out"],
  "token inspect": ["config", "key", "with", "can", "json"],
  "token identity": ["to", "for", "key", "config", "out"],
  revoke: ["config", "token"],
  "drive ls": ["config", "user", "key", "json"],
  "drive export": ["config", "user", "key", "drive", "top", "region", "part-bytes", "json"],
  "drive import": ["config", "user", "key", "drive", "from", "source", "json"],
  "drive merge": ["config", "user", "key", "drive", "from", "source", "json"],
  "drive verify": ["config", "user", "key", "drive", "json"],
  "drive gc": ["config", "grace", "dry-run", "json"],
  "drive export-key": ["config", "user", "out"],
  "drive import-key": ["config", "user"],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type CommandName = keyof typeof COMMANDS;

/** What help is given on: a command, or several that begin with one word. */
export type HelpTopic = CommandName | "key" | "token" | "drive";

export type Values = ReadonlyMap<OptionName, readonly string[]>;

/** The words of a command line, apart. */
export interface Given {
  readonly values: Values;
  /** The options as they came, for those whose order says what belongs together. */
  readonly order: readonly OptionName[];
  readonly positionals: readonly string[];
  /** Whoever asks for help gets it, whatever else may be wrong. */
  readonly help: boolean;
}

/** Takes the words apart. Node's own check of options is not used: its texts are for programmers. @throws UsageError */
export function readOptions(argv: readonly string[]): Given {
  const { tokens, positionals } = parseArgs({
    args: idsBehind(argv),
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<OptionName, string[]>();
  const order: OptionName[] = [];
  const faults: UsageError[] = [];
  let help = false;
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const isHelp = token.name === "help" || (token.inlineValue === false && /^(?:-h|--help)$/.test(token.value));
    help ||= isHelp;
    const fault = faultOf(token);
    if (fault !== undefined) faults.push(new UsageError(fault));
    else if (isOptionName(token.name)) {
      values.set(token.name, [...(values.get(token.name) ?? []), token.value ?? ""]);
      order.push(token.name);
    }
  }
  if (faults[0] !== undefined && !help) throw faults[0];
  return { values, order, positionals, help };
}

/** The id of a token, one in 64 of which begins with a dash. */
const DASHED_ID = /^-[A-Za-z0-9_-]{42}$/;

/** Puts ids that look like options behind all options, where they are arguments. */
function idsBehind(argv: readonly string[]): string[] {
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

/** What is wrong with one option as it stands. */
function faultOf(option: {
  name: string;
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}) {
  const { name, rawName, value, inlineValue } = option;
  if (!isOptionName(name)) {
    const near = nearestName(name, Object.keys(OPTIONS));
    return `Unknown option '${escapeText(rawName)}'${near === undefined ? "" : ` - did you mean '--${near}'?`}`;
  }
  const known = OPTIONS[name];
  if (known.type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  const example = `for example --${name} ${known.example}`;
  if (value === undefined || value === "") return `--${name} needs a value, ${example}`;
  // A forgotten value must not swallow the option behind it; a dash alone stands for a standard stream.
  if (inlineValue !== true && value.startsWith("-") && value !== "-") {
    return `--${name} needs a value before '${escapeText(value)}', ${example}`;
  }
  return looksSecret(value) ? secretRefusal(`--${name}`) : undefined;
}

const isOptionName = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name);

/** Three parts of base64url: a token; the first begins with `{"`. */
const TOKEN = /\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]/;
const SEED = /^(?:env:)?(?:0x)?[0-9a-fA-F]{64}$/;

/** Whether a word holds a token or a seed itself in place of where one is: it must not even stand in an error. */
export const looksSecret = (word: string): boolean => TOKEN.test(word) || SEED.test(word.trim());

/** @param what the option or argument that the word stands for */
export const secretRefusal = (what: string): string =>
  `${what} seems to be a token or a key itself, which others on this machine could see in the list of processes. ` +
  "Put it into a file or an environment variable, and name that: FILE or env:NAME";

/** An argument that may be shown. @throws UsageError for a token or seed in place of what names it */
export function checkedArgument(word: string): string {
  if (looksSecret(word)) throw new UsageError(secretRefusal("An argument"));
  return word;
}

/** The value of an option that can be given once. @throws UsageError */
export function single(values: Values, name: OptionName): string | undefined {
  const [value, ...more] = values.get(name) ?? [];
  if (more.length > 0) throw new UsageError(`--${name} is given more than once`);
  return value;
}

/** The same where it must be given. @throws UsageError */
export function needed(values: Values, command: CommandName, name: OptionName): string {
  const value = single(values, name);
  if (value !== undefined) return value;
  const { example } = { example: "", ...OPTIONS[name] };
  throw new UsageError(`'${command}' needs --${name}, for example --${name} ${example}`);
}
