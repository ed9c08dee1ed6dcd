// Finds the command in a command line.

import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";
import { commandOf, commandsOf, OPTIONS } from "../commands/all.js";
import type { Command } from "../commands/command.js";
import { unknownCommand } from "../help/help.js";
import { checkArgument, UsageError } from "./options.js";
import { type Reading, takesValue } from "./read.js";

/** A command, and how to read the rest of its line. */
export interface Found extends Reading {
  readonly args: readonly string[];
  /** The topic of help, if help is asked for. */
  readonly topic: readonly string[];
  /** Absent: there is none, or `help`. */
  readonly command?: Command;
}

/** @throws UsageError for an unknown one */
export function findCommand(argv: readonly string[]): Found {
  const others = OPTIONS;
  const at = firstWord(argv);
  const first = argv[at];
  if (first === undefined) return { options: OPTIONS, others, args: argv, topic: [] };
  const args = argv.toSpliced(at, 1);
  if (first === "help") return { name: first, options: {}, words: { most: Infinity }, others, args, topic: [] };
  const own = commandOf(first);
  if (own !== undefined) return { ...own, command: own, name: first, others, args, topic: [first] };
  const second = args[firstWord(args)];
  const name = `${first} ${second}`;
  const topic = [first, second ?? ""];
  const two = commandOf(name);
  if (two !== undefined) return { ...two, command: two, name, others, args: args.toSpliced(firstWord(args), 1), topic };
  if (args.some((word) => word === "-h" || word === "--help")) return { options: {}, others, args: ["--help"], topic };
  throw unknown(first, second);
}

/** The index of the first word that is neither an option nor its value. */
export function firstWord(argv: readonly string[]): number {
  let at = 0;
  while (argv[at]?.startsWith("-") === true) at += takesValue(argv[at], OPTIONS) ? 2 : 1;
  return at;
}

function unknown(first: string, second: string | undefined): UsageError {
  const names = commandsOf(first);
  if (names.length === 0) return unknownCommand(first);
  const seconds = names.map((name) => name.slice(first.length + 1));
  if (second === undefined) return new UsageError(`'${first}' needs one of: ${seconds.join(", ")}`);
  const near = nearestName(second, seconds);
  const advice = near === undefined ? `. Commands: ${names.join(", ")}` : ` - did you mean '${first} ${near}'?`;
  return new UsageError(`Unknown command '${first} ${escapeText(checkArgument(second))}'${advice}`);
}
