// Helpers of the parsers of single commands.

import { escapeText } from "../../core/errors/texts.js";
import { type CommandName, checkArgument, type Given, UsageError } from "./options.js";

/** A command line with checked command and options, and the arguments after the command. */
export interface Line extends Given {
  readonly rest: readonly string[];
}

export function refuseArguments({ rest }: Line, command: CommandName): void {
  if (rest[0] !== undefined) throw surplusArgument(command, rest[0]);
}

export const surplusArgument = (command: CommandName, word: string): UsageError =>
  new UsageError(`'${command}' takes no argument '${escapeText(checkArgument(word))}'`);

export function requireArgument({ rest }: Line, command: CommandName, what: string): string {
  const [only, ...more] = rest.map(checkArgument);
  if (only === undefined || only === "") throw new UsageError(`'${command}' needs ${what}`);
  if (more[0] !== undefined) throw surplusArgument(command, more[0]);
  return only;
}
