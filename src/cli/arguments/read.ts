// Reads the command line of one command by its options in the table; not in strict mode of `parseArgs`, whose messages are for
// programmers.

import { parseArgs } from "node:util";
import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";
import type { LooseLine, LooseValues, Option, Options, Page } from "../commands/command.js";
import { checkArgument, looksSecret, secretRefusal, UsageError } from "./options.js";

const FLAG = { type: "boolean" } as const;
const VERSION = { version: { ...FLAG, short: "V" } } as const;

/** A command and its surroundings. */
export interface Reading extends Pick<Page, "options" | "words"> {
  /** Absent: the line has no command. */
  readonly name?: string;
  /** Options of all commands. Absent: unknown options are named as those of this command. */
  readonly others?: Options;
  /** Rewrites a word in a form of its namesake: `-name` of `find`. */
  readonly respell?: (word: string) => string;
}

/** @param args after the command @returns `"help"` for `--help`, which goes before any mistake @throws UsageError */
export function readLine(args: readonly string[], reading: Reading): LooseLine | "help" | "version" {
  const { name, options, others } = reading;
  const takesShortHelp = !Object.values(options).some(({ short }) => short === "h");
  const help = { help: takesShortHelp ? { ...FLAG, short: "h" } : FLAG };
  const known: Options = { ...help, ...(others === undefined ? {} : VERSION), ...options };
  const { tokens, positionals } = parseArgs({
    args: moveIdsBehind(args, { ...others, ...known }).map(reading.respell ?? ((word) => word)),
    ...{ options: known, allowPositionals: true, strict: false, tokens: true },
  });
  const given = tokens.filter((token) => token.kind === "option");
  const isHelp = ({ name: option, value, inlineValue }: OptionToken): boolean =>
    option === "help" || (inlineValue === false && (value === "--help" || (value === "-h" && takesShortHelp)));
  if (given.some(isHelp)) return "help";
  const values: LooseValues = emptyValues(options);
  const foreign: UsageError[] = [];
  for (const token of given) {
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (option !== undefined) take(values, token, option);
    else if (others !== undefined && Object.hasOwn(others, token.name))
      foreign.push(new UsageError(`'${name}' has no option ${token.rawName}`));
    else throw unknownOption(token.rawName, Object.keys(known), reading);
  }
  if (values["version"] === true && others !== undefined) return "version";
  const words = reading.words?.raw === true ? positionals : positionals.map(checkArgument);
  const line = { values, words, order: given.map((token) => token.name) };
  if (name === undefined) return line;
  if (foreign[0] !== undefined) throw foreign[0];
  checkWords(name, words, reading);
  for (const [option, { required, example }] of Object.entries(options)) {
    if (required !== true || values[option] !== undefined) continue;
    throw new UsageError(`'${name}' needs --${option}, for example --${option} ${example}`);
  }
  return line;
}

const emptyValues = (options: Options): LooseValues =>
  Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple, oneOf }]) => [
      name,
      multiple === true ? [] : type === "boolean" && oneOf === undefined ? false : undefined,
    ]),
  );

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** @throws UsageError */
function take(values: LooseValues, token: OptionToken, option: Option): void {
  const { name, rawName, value } = token;
  if (option.oneOf !== undefined) {
    values[name] = wordOf(rawName, value, option.oneOf);
  } else if (option.type === "boolean") {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    values[name] = true;
  } else {
    const text = checkValue(token, option);
    const before = values[name];
    if (Array.isArray(before)) values[name] = [...before, text];
    else if (before === undefined) values[name] = text;
    else throw new UsageError(`${rawName} is given more than once`);
  }
}

function wordOf(rawName: string, value: string | undefined, words: NonNullable<Option["oneOf"]>): string {
  if (value === undefined || words.includes(value)) return value ?? words[0];
  const list = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  throw new UsageError(`${rawName} takes ${list}, not '${escapeText(value)}'`);
}

/** @throws UsageError */
function checkValue({ rawName, value, inlineValue }: OptionToken, { anyText, example }: Option): string {
  const advice = example === undefined ? "" : `, for example ${rawName} ${example}`;
  if (value === undefined) throw new UsageError(`${rawName} needs a value${advice}`);
  if (anyText === true) return value;
  if (value === "") throw new UsageError(`${rawName} needs a value${advice}`);
  // A missing value must not consume the next option; a lone "-" names a standard stream.
  if (inlineValue !== true && /^-./.test(value)) {
    throw new UsageError(`${rawName} needs a value${advice && ` before '${escapeText(value)}'`}${advice}`);
  }
  if (looksSecret(value)) throw new UsageError(secretRefusal(rawName));
  return value;
}

function unknownOption(rawName: string, known: readonly string[], { name, others }: Reading): UsageError {
  // Without a command nearly any option may be meant.
  const near = nearestName(rawName.replace(/^-+/, ""), name === undefined ? ["help", "version"] : known);
  const advice = near === undefined ? "" : ` - did you mean '--${near}'?`;
  const shown = escapeText(rawName);
  return new UsageError(
    others === undefined ? `'${name}' has no option ${shown}${advice}` : `Unknown option '${shown}'${advice}`,
  );
}

/** @throws UsageError */
function checkWords(name: string, given: readonly string[], { words = { most: 0 }, options }: Reading): void {
  const { most, needs } = words;
  if (needs !== undefined && (given[0] ?? "") === "") throw new UsageError(`'${name}' needs ${needs}`);
  const surplus = given[most];
  if (surplus === undefined) return;
  const shown = escapeText(checkArgument(surplus));
  // A file or folder without its option.
  const option = /\.json5?$/.test(surplus) ? "config" : "root";
  const advice = Object.hasOwn(options, option) ? ` - did you mean '--${option} ${shown}'?` : "";
  throw new UsageError(`'${name}' takes no argument '${shown}'${advice}`);
}

/** A token id that begins with a dash, as one in 64 does (base64url). */
const DASHED_ID = /^-[A-Za-z0-9_-]{42}$/;

/** Moves token ids that look like options behind `--`, so that they are read as arguments. */
function moveIdsBehind(args: readonly string[], known: Options): string[] {
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const isId = (word: string, index: number) => DASHED_ID.test(word) && !takesValue(words[index - 1], known);
  if (!words.some(isId)) return [...args];
  const others = words.filter((word, index) => !isId(word, index));
  return [...others, "--", ...words.filter(isId), ...(end < 0 ? [] : args.slice(end + 1))];
}

/** Whether the next word is the value of this one. */
export function takesValue(word = "", known: Options): boolean {
  const name = word.slice(2);
  return word.startsWith("--") && Object.hasOwn(known, name) && known[name]?.type === "string";
}
