// Helpers of the parsers of single commands.

import { escapeText } from "../../core/errors/texts.js";
import { COMMANDS, type CommandName, checkArgument, type Given, UsageError } from "./options.js";

/** A command line with checked command and options, and the arguments after the command. */
export interface Line extends Given {
  readonly rest: readonly string[];
}

export function refuseArguments({ rest }: Line, command: CommandName): void {
  if (rest[0] !== undefined) throw surplusArgument(command, rest[0]);
}

export function surplusArgument(command: CommandName, word: string): UsageError {
  const shown = escapeText(checkArgument(word));
  // A file or folder without its option.
  const options: readonly string[] = COMMANDS[command];
  const option = /\.json5?$/.test(word) ? "config" : "root";
  const advice = options.includes(option) ? ` - did you mean '--${option} ${shown}'?` : "";
  return new UsageError(`'${command}' takes no argument '${shown}'${advice}`);
}

export function requireArgument({ rest }: Line, command: CommandName, what: string): string {
  const [only, ...more] = rest.map(checkArgument);
  if (only === undefined || only === "") throw new UsageError(`'${command}' needs ${what}`);
  if (more[0] !== undefined) throw surplusArgument(command, more[0]);
  return only;
}
