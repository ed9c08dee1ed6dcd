// Finds the command, or the help topic, in the words of a command line; the shells of `completion`.

import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";
import { FILE_COMMANDS } from "./files/options.js";
import { COMMANDS, type CommandName, checkArgument, type HelpTopic, UsageError } from "./options.js";

/** Splits words into the command name (one or two words) and its arguments. @throws UsageError if unknown */
export function commandOf(first: string, others: readonly string[]): { name: CommandName; rest: readonly string[] } {
  if (isCommandName(first)) return { name: first, rest: others };
  const seconds = secondWords(first);
  if (seconds.length === 0) throw unknownCommand(first);
  const [second, ...rest] = others;
  const name = `${first} ${second}`;
  if (isCommandName(name)) return { name, rest };
  if (second === undefined) throw new UsageError(`'${first}' needs one of: ${seconds.join(", ")}`);
  const near = nearestName(second, seconds);
  const advice =
    near === undefined ? `. Commands: ${commandsOf(first).join(", ")}` : ` - did you mean '${first} ${near}'?`;
  throw new UsageError(`Unknown command '${first} ${escapeText(checkArgument(second))}'${advice}`);
}

/** The command line that shows the help for what was asked for. */
export function helpCommand([first = "", second = ""]: readonly string[]): string {
  const names = [`${first} ${second}`, first];
  const known = names.find((name) => isCommandName(name) || Object.hasOwn(FILE_COMMANDS, name)) ?? topicOf(first);
  return known === undefined ? "venue-files --help" : `venue-files help ${known}`;
}

const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

const commandsOf = (first: string): string[] => Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `));

const secondWords = (first: string): string[] => commandsOf(first).map((name) => name.slice(first.length + 1));

function unknownCommand(text: string): UsageError {
  const first = Object.keys(COMMANDS).map((name) => name.split(" ")[0] ?? "");
  const names = [...new Set(first), "help", ...Object.keys(FILE_COMMANDS)];
  const near = nearestName(text, names);
  const advice = near === undefined ? `. Commands: ${names.join(", ")}` : ` - did you mean '${near}'?`;
  return new UsageError(`Unknown command '${escapeText(checkArgument(text))}'${advice}`);
}

const isTopic = (text: string): text is HelpTopic =>
  isCommandName(text) || ["key", "token", "backup", "drive", "files"].includes(text);

/** A command, a group of commands that has a help text, or the only command of a group. */
function topicOf(word: string): HelpTopic | undefined {
  if (isTopic(word)) return word;
  const [only, ...others] = commandsOf(word);
  return only !== undefined && others.length === 0 && isCommandName(only) ? only : undefined;
}

/**
 * The topic of a help request.
 *
 * @param strict refuse further words after the topic
 * @throws UsageError
 */
export function helpTopic(words: readonly string[], strict: boolean): HelpTopic | undefined {
  const [first, second = "", ...more] = words;
  if (first === undefined) return undefined;
  const both = `${first} ${second}`;
  const surplusWord = isCommandName(both) ? more[0] : words[1];
  if (strict && surplusWord !== undefined && isTopic(first)) {
    throw new UsageError(`'help' takes one command, not also '${escapeText(checkArgument(surplusWord))}'`);
  }
  if (isCommandName(both)) return both;
  const topic = topicOf(first);
  if (topic !== undefined) return topic;
  throw unknownCommand(first);
}

/** Shells that `completion` writes scripts for. */
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

export type Shell = (typeof SHELLS)[number];

export const isShell = (name: string): name is Shell => (SHELLS as readonly string[]).includes(name);
