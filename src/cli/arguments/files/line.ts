// Parses the command lines of file commands.

import { GUARDS } from "../options.js";
import type { OwnCalls } from "../remote.js";
import { reachOf } from "../remote.js";
import { type FileCommand, type FileCommandName, isFileCommand, readFileCommand } from "./options.js";

/** A file command with its configuration and caller. */
export type FileRun = {
  readonly name: "file";
  readonly command: FileCommand;
  /** Changes are not recorded. */
  readonly journals?: false;
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
      ...(GUARDS.some(given) ? { guards } : {}),
    },
    capsFile: values.get("caps"),
    ...reach,
  };
}
