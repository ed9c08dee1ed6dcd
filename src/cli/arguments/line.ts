// Helpers of the parsers of single commands.

import { escapeText } from "../../core/errors/texts.js";
import { type CommandName, checkedArgument, type Given, UsageError } from "./options.js";

/** A command line with checked command and options, and the arguments after the command. */
export interface Line extends Given {
  readonly rest: readonly string[];
}

export function noArguments({ rest }: Line, command: CommandName): void {
  if (rest[0] !== undefined) throw surplus(command, rest[0]);
}

export const surplus = (command: CommandName, word: string): UsageError =>
  new UsageError(`'${command}' takes no argument '${escapeText(checkedArgument(word))}'`);

export function oneArgument({ rest }: Line, command: CommandName, what: string): string {
  const [only, ...more] = rest.map(checkedArgument);
  if (only === undefined || only === "") throw new UsageError(`'${command}' needs ${what}`);
  if (more[0] !== undefined) throw surplus(command, more[0]);
  return only;
}
