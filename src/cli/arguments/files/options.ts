// The options of each file command, and the `ROOT:PATH` arguments.

import { type ParseArgsConfig, parseArgs } from "node:util";
import { escapeText } from "../../../core/errors/texts.js";
import { nearestName } from "../../../schema/nearest.js";
import { checkArgument, looksSecret, secretRefusal, UsageError } from "../options.js";
import { type OwnCalls, reachOf } from "../remote.js";

type Options = NonNullable<ParseArgsConfig["options"]>;

const FLAG = { type: "boolean" } as const;
const VALUE = { type: "string" } as const;
/** `-h` is human sizes where the namesake has it; help is `--help` there. */
const HUMAN = { ...FLAG, short: "h" } as const;
const MANY = { type: "string", multiple: true } as const;

const GUARDS = ["deny", "protect", "no-protect", "read-only"] as const;

/** Options of every file command. */
export const FILE_OPTIONS = {
  ...{ deny: MANY, protect: MANY, "no-protect": FLAG, "read-only": FLAG },
  ...{ config: VALUE, root: MANY, caps: VALUE, key: VALUE, proof: MANY, url: VALUE, token: VALUE },
  ...{ json: FLAG, color: FLAG, help: { ...FLAG, short: "h" } },
} as const satisfies Options;

/** File commands with their options, named as in the Unix commands of the same name. */
export const FILE_COMMANDS = {
  ls: {
    ...{ long: { ...FLAG, short: "l" }, all: { ...FLAG, short: "a" }, one: { ...FLAG, short: "1" } },
    ...{ "human-readable": HUMAN, time: { ...FLAG, short: "t" } },
  },
  tree: { level: { ...VALUE, short: "L" }, size: { ...FLAG, short: "s" }, "human-readable": HUMAN },
  cat: { number: { ...FLAG, short: "n" } },
  head: { lines: { ...VALUE, short: "n" } },
  tail: { lines: { ...VALUE, short: "n" }, follow: { ...FLAG, short: "f" } },
  stat: {},
  watch: {},
  grep: {
    ...{ "ignore-case": { ...FLAG, short: "i" }, "fixed-strings": { ...FLAG, short: "F" } },
    ...{ "line-number": { ...FLAG, short: "n" }, "files-with-matches": { ...FLAG, short: "l" } },
    ...{ count: { ...FLAG, short: "c" }, recursive: { ...FLAG, short: "r" }, "no-ignore": FLAG },
    ...{ "after-context": { ...VALUE, short: "A" }, "before-context": { ...VALUE, short: "B" } },
    ...{ context: { ...VALUE, short: "C" }, include: MANY, exclude: MANY, regexp: { ...VALUE, short: "e" } },
  },
  find: { name: MANY, iname: MANY, path: MANY, type: VALUE, maxdepth: VALUE },
  du: {
    ...{ all: { ...FLAG, short: "a" }, bytes: { ...FLAG, short: "b" }, summarize: { ...FLAG, short: "s" } },
    ...{ "max-depth": { ...VALUE, short: "d" }, "human-readable": HUMAN },
  },
  edit: {
    ...{ old: VALUE, new: VALUE, expect: VALUE, all: FLAG, edits: VALUE },
    ...{ encoding: VALUE, "if-match": VALUE, "dry-run": { ...FLAG, short: "n" } },
  },
  patch: { in: VALUE, encoding: VALUE, "dry-run": { ...FLAG, short: "n" } },
  put: {
    ...{ recursive: { ...FLAG, short: "r" }, "no-clobber": { ...FLAG, short: "n" } },
    parents: { ...FLAG, short: "p" },
  },
  get: { recursive: { ...FLAG, short: "r" }, force: { ...FLAG, short: "f" } },
  history: { lines: { ...VALUE, short: "n" }, since: VALUE, actor: VALUE, via: VALUE },
  diff: {},
  undo: {
    ...{ last: VALUE, session: FLAG, since: VALUE, actor: VALUE, via: VALUE, "dry-run": { ...FLAG, short: "n" } },
    yes: { ...FLAG, short: "y" },
  },
  restore: { "if-match": VALUE },
  trash: { yes: { ...FLAG, short: "y" } },
  purge: { yes: { ...FLAG, short: "y" } },
  mkdir: { parents: { ...FLAG, short: "p" } },
  rm: { recursive: { ...FLAG, short: "r" }, force: { ...FLAG, short: "f" } },
  mv: { "no-clobber": { ...FLAG, short: "n" }, parents: { ...FLAG, short: "p" } },
  cp: {
    ...{ recursive: { ...FLAG, short: "r" }, "no-clobber": { ...FLAG, short: "n" } },
    parents: { ...FLAG, short: "p" },
  },
} as const satisfies Readonly<Record<string, Options>>;

export type FileCommandName = keyof typeof FILE_COMMANDS;

/** A file command, split into options and words. */
export interface FileCommand {
  readonly name: FileCommandName;
  readonly flags: ReadonlySet<string>;
  /** Options with a value; the last occurrence counts. */
  readonly values: ReadonlyMap<string, string>;
  /** Options that may be repeated. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
  readonly json: boolean;
}

export const isFileCommand = (name: string | undefined): name is FileCommandName =>
  name !== undefined && Object.hasOwn(FILE_COMMANDS, name);

/** Parses a file command's options. @param argv after the command @returns `"help"` for `--help` @throws UsageError */
function readFileCommand(name: FileCommandName, argv: readonly string[]): FileCommand | "help" {
  const own: Options = FILE_COMMANDS[name];
  const hasShortHelp = !Object.values(own).some(({ short }) => short === FILE_OPTIONS.help.short);
  const options: Options = { ...FILE_OPTIONS, ...(hasShortHelp ? {} : { help: FLAG }), ...own };
  const { tokens, positionals } = parseArgs({
    args: argv.map(name === "find" ? toLongOption : "lines" in own ? toLineCount : (word) => word),
    ...{ options, allowPositionals: true, strict: false, tokens: true },
  });
  const given = tokens.filter((token) => token.kind === "option");
  if (given.some((token) => token.name === "help")) return "help";
  const flags = new Set<string>();
  const values = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  for (const token of given) {
    const { name: option, rawName, value } = token;
    const known = Object.hasOwn(options, option) ? options[option] : undefined;
    if (known === undefined) throw unknownOption(name, rawName, Object.keys(options));
    if (option === "color") {
      values.set(option, colorOf(value));
      continue;
    }
    if (known.type === "boolean") {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
      flags.add(option);
      continue;
    }
    const text = checkValue(token, option);
    if (known.multiple === true) lists.set(option, [...(lists.get(option) ?? []), text]);
    else if (values.has(option)) throw new UsageError(`${rawName} is given more than once`);
    else values.set(option, text);
  }
  const words = positionals.map(checkArgument);
  return { name, flags, values, lists, words, json: flags.has("json") };
}

/** `find` takes long options with a single dash (`-name`). */
const toLongOption = (word: string): string =>
  word.startsWith("-") && Object.hasOwn(FILE_COMMANDS.find, word.slice(1)) ? `-${word}` : word;

/** `head` and `tail` take the number of lines as an option of its own (`-2`). */
const toLineCount = (word: string): string => word.replace(/^-(\d+)$/, "--lines=$1");

/** `--color` alone means always. @throws UsageError */
function colorOf(when = "always"): string {
  if (["always", "auto", "never"].includes(when)) return when;
  throw new UsageError(`--color takes always, auto or never, not '${escapeText(when)}'`);
}

/** Options whose values are content or patterns, so they may start with a dash or look like a secret. */
const MAY_BE_ANYTHING: ReadonlySet<string> = new Set(["old", "new", "regexp"]);

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function checkValue({ rawName, value, inlineValue }: OptionToken, option: string): string {
  if (value === undefined) throw new UsageError(`${rawName} needs a value`);
  if (MAY_BE_ANYTHING.has(option)) return value;
  // A missing value must not consume the next option; a lone "-" names a standard stream.
  if (value === "" || (inlineValue !== true && /^-./.test(value))) throw new UsageError(`${rawName} needs a value`);
  if (looksSecret(value)) throw new UsageError(secretRefusal(rawName));
  return value;
}

function unknownOption(command: FileCommandName, rawName: string, known: readonly string[]): UsageError {
  const near = nearestName(rawName.replace(/^-+/, ""), known);
  const advice = near === undefined ? "" : ` - did you mean '--${near}'?`;
  return new UsageError(`'${command}' has no option ${escapeText(rawName)}${advice}`);
}

/** The value of an option as an integer. @throws UsageError */
export function numberOf({ values }: FileCommand, option: string): number | undefined {
  const text = values.get(option);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${option} takes a whole number, not '${escapeText(text)}'`);
}

/** A path in a root, written `ROOT:PATH`. */
export interface FilePlace {
  readonly root: string;
  readonly path: string;
}

/** @throws UsageError */
export function placeOf(word: string): FilePlace {
  const colon = word.indexOf(":");
  if (colon > 0) return { root: word.slice(0, colon), path: word.slice(colon + 1) };
  throw new UsageError(`'${escapeText(word)}' names no root: say ROOT:PATH, for example docs:notes/a.md`);
}

export const placeText = ({ root, path }: FilePlace): string => escapeText(`${root}:${path}`);

/** The words of a command, checked for their number. @param what a name per word @throws UsageError */
export function wordsOf({ name, words }: FileCommand, ...what: readonly string[]): readonly string[] {
  if (words.length === what.length) return words;
  throw new UsageError(`'${name}' takes ${what.join(" and ")}: venue-files ${name} ${what.join(" ")}`);
}

/** The places named by the words of a command; at least one. @throws UsageError */
export const placesOf = (command: FileCommand): readonly FilePlace[] =>
  (command.words.length === 0 ? wordsOf(command, "ROOT:PATH") : command.words).map(placeOf);

// Parses the command lines of file commands.

/** A file command with its configuration and caller. */
export type FileRun = {
  readonly name: "file";
  readonly command: FileCommand;
} & OwnCalls;

export type FileLine = FileRun | { readonly name: "file help"; readonly topic: FileCommandName };

/** Options with a value that may precede the command. */
const LEADING = /^--(config|root|deny|protect|caps|key|proof|url|token)$/;

/** Parses a file command. @param argv without node and script @returns `undefined` for others @throws UsageError */
export function parseFileLine(argv: readonly string[]): FileLine | undefined {
  const [first, topic, ...more] = argv;
  if (first === "help" && isFileCommand(topic) && more.length === 0) return { name: "file help", topic };
  const at = commandIndex(argv);
  const name = argv[at];
  if (!isFileCommand(name)) return undefined;
  const command = readFileCommand(name, argv.toSpliced(at, 1));
  return command === "help" ? { name: "file help", topic: name } : { name: "file", command, ...parseOwnCalls(command) };
}

function commandIndex(argv: readonly string[]): number {
  let index = 0;
  while (argv[index]?.startsWith("--") === true) index += LEADING.test(argv[index] ?? "") ? 2 : 1;
  return index;
}

function parseOwnCalls({ values, lists, flags }: FileCommand): OwnCalls {
  const key = values.get("key");
  const proofs = lists.get("proof") ?? [];
  const given = (name: string): boolean => values.has(name) || lists.has(name) || flags.has(name);
  const local = ["config", "root", ...GUARDS].filter(given);
  const guards = {
    ...{ deny: lists.get("deny") ?? [], protect: lists.get("protect") ?? [] },
    readOnly: flags.has("read-only"),
  };
  const reach = reachOf({ url: values.get("url"), token: values.get("token"), key, proofs, local });
  return {
    source: {
      ...{ file: values.get("config"), roots: lists.get("root") ?? [] },
      ...(GUARDS.some(given) ? { guards, noProtect: flags.has("no-protect") } : {}),
    },
    capsFile: values.get("caps"),
    ...reach,
  };
}
