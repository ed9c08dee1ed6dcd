import { parseArgs } from "node:util";
import { escapeText } from "../../core/texts.js";
import { nearestName } from "../../schema/nearest.js";

/** A command line, understood. */
export type Command =
  | { readonly name: "help"; readonly topic: CommandName | undefined }
  | { readonly name: "version" }
  | { readonly name: "serve"; readonly source: ConfigSource; readonly port: number | undefined }
  | { readonly name: "check"; readonly source: ConfigSource }
  | { readonly name: "mcp"; readonly source: ConfigSource; readonly capsFile: string | undefined }
  | {
      readonly name: "call";
      readonly source: ConfigSource;
      readonly capsFile: string | undefined;
      readonly operation: string;
      /** JSON text. */
      readonly input: string;
    };

/** Where the configuration comes from. */
export interface ConfigSource {
  readonly file: string | undefined;
  /** Values of `--root`. */
  readonly roots: readonly string[];
}

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
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

type OptionName = keyof typeof OPTIONS;

/** Every command with the options it takes. */
export const COMMANDS = {
  serve: ["config", "root", "port"],
  check: ["config", "root"],
  mcp: ["config", "root", "caps"],
  call: ["config", "root", "caps"],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type CommandName = keyof typeof COMMANDS;

/** @param argv without node and script @throws UsageError */
export function parseCommandLine(argv: readonly string[]): Command {
  const { values, positionals, help } = read(argv);
  const [first, ...rest] = positionals;
  if (first === "help") return { name: "help", topic: helpTopic(rest) };
  if (help) return { name: "help", topic: helpTopic(positionals.slice(0, 1)) };
  if (values.has("version")) return { name: "version" };
  if (first === undefined) throw new UsageError("A command is missing. Try: venue-files serve");
  const name = parseCommandName(first);
  const allowed: readonly string[] = COMMANDS[name];
  for (const option of values.keys()) {
    if (!allowed.includes(option)) throw new UsageError(`'${name}' has no option --${option}`);
  }
  const source = { file: single(values, "config"), roots: values.get("root") ?? [] };
  if (name === "call") return { name, source, capsFile: single(values, "caps"), ...operation(rest) };
  if (rest[0] !== undefined) throw new UsageError(`'${name}' takes no argument '${escapeText(rest[0])}'`);
  if (name === "check") return { name, source };
  return name === "serve"
    ? { name, source, port: port(single(values, "port")) }
    : { name, source, capsFile: single(values, "caps") };
}

type Values = ReadonlyMap<OptionName, readonly string[]>;

interface Given {
  readonly values: Values;
  readonly positionals: readonly string[];
  /** Whoever asks for help gets it, whatever else may be wrong. */
  readonly help: boolean;
}

/** Takes the words apart. Node's own check of options is not used: its texts are for programmers. */
function read(argv: readonly string[]): Given {
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<OptionName, string[]>();
  const faults: UsageError[] = [];
  let help = false;
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const isHelp = token.name === "help" || (token.inlineValue === false && /^(?:-h|--help)$/.test(token.value));
    help ||= isHelp;
    const fault = faultOf(token);
    if (fault !== undefined) faults.push(new UsageError(fault));
    else if (isOptionName(token.name)) values.set(token.name, [...(values.get(token.name) ?? []), token.value ?? ""]);
  }
  if (faults[0] !== undefined && !help) throw faults[0];
  return { values, positionals, help };
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
  // A forgotten value must not swallow the option behind it.
  if (inlineValue !== true && value.startsWith("-")) {
    return `--${name} needs a value before '${escapeText(value)}', ${example}`;
  }
  return undefined;
}

const isOptionName = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name);

const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

function single(values: Values, name: OptionName): string | undefined {
  const [value, ...more] = values.get(name) ?? [];
  if (more.length > 0) throw new UsageError(`--${name} is given more than once`);
  return value;
}

function parseCommandName(text: string): CommandName {
  if (isCommandName(text)) return text;
  const names = [...Object.keys(COMMANDS), "help"];
  const near = nearestName(text, names);
  const advice = near === undefined ? `. Commands: ${names.join(", ")}` : ` - did you mean '${near}'?`;
  throw new UsageError(`Unknown command '${escapeText(text)}'${advice}`);
}

function helpTopic([topic, ...more]: readonly string[]): CommandName | undefined {
  if (more[0] !== undefined) throw new UsageError(`'help' takes one command, not also '${escapeText(more[0])}'`);
  return topic === undefined ? undefined : parseCommandName(topic);
}

function operation(rest: readonly string[]): { operation: string; input: string } {
  const [name, input = "{}", ...more] = rest;
  if (name === undefined) throw new UsageError("'call' needs an operation, for example: venue-files call file:roots");
  if (more.length > 0) throw new UsageError("'call' takes an operation and one JSON object. Quote the JSON");
  return { operation: name, input };
}

function port(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535)
    throw new UsageError(`--port must be between 0 and 65535, not '${escapeText(text)}'`);
  return value;
}
