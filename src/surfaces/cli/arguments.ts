import { parseArgs } from "node:util";

/** A command line, understood. */
export type Command =
  | { readonly name: "help"; readonly topic: string | undefined }
  | { readonly name: "version" }
  | { readonly name: "serve"; readonly source: ConfigSource; readonly port: number | undefined }
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

const OPTIONS = {
  config: { type: "string" },
  root: { type: "string", multiple: true },
  port: { type: "string" },
  caps: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

type OptionName = keyof typeof OPTIONS;

const ALLOWED: Readonly<Record<string, readonly OptionName[]>> = {
  serve: ["config", "root", "port"],
  mcp: ["config", "root", "caps"],
  call: ["config", "root", "caps"],
};

/** @param argv without node and script @throws UsageError */
export function parseCommandLine(argv: readonly string[]): Command {
  const { values, positionals } = read(argv);
  const [name, ...rest] = positionals;
  if (values.help === true || name === "help") return { name: "help", topic: name === "help" ? rest[0] : name };
  if (values.version === true) return { name: "version" };
  if (name === undefined) throw new UsageError("A command is missing. Try: venue-files serve");
  const allowed = ALLOWED[name];
  if (allowed === undefined)
    throw new UsageError(`Unknown command '${name}'. Commands: ${Object.keys(ALLOWED).join(", ")}`);
  for (const option of Object.keys(values) as OptionName[]) {
    if (!allowed.includes(option)) throw new UsageError(`'${name}' has no option --${option}`);
  }
  const source = { file: values.config, roots: values.root ?? [] };
  if (name === "call") return { name, source, capsFile: values.caps, ...operation(rest) };
  if (rest.length > 0) throw new UsageError(`'${name}' takes no argument '${rest[0]}'`);
  return name === "serve" ? { name, source, port: port(values.port) } : { name: "mcp", source, capsFile: values.caps };
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split(". ")[0] ?? "") : "Not understood");
  }
}

function operation(rest: readonly string[]): { operation: string; input: string } {
  const [name, input = "{}", ...more] = rest;
  if (name === undefined) throw new UsageError(`'call' needs an operation, for example: venue-files call file:roots`);
  if (more.length > 0) throw new UsageError("'call' takes an operation and one JSON object. Quote the JSON");
  return { operation: name, input };
}

function port(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535)
    throw new UsageError(`--port must be between 0 and 65535, not '${text}'`);
  return value;
}
