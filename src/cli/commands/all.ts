// The table of commands but those on files, in the order in which messages name them.

import { ACCESS } from "./access.js";
import { BACKUP } from "./backup.js";
import { BEGIN } from "./begin.js";
import { CLUSTER } from "./cluster.js";
import type { Command, Commands, Options } from "./command.js";
import { DRIVES } from "./drives.js";
import { SERVE } from "./serve.js";
import { KEYS_AND_GRANTS, TOKENS } from "./tokens.js";

const { init, doctor, completion } = BEGIN;
const { serve, check, mcp, health, call, acp } = SERVE;

export const COMMANDS: Commands = {
  ...{ init, serve, check, mcp, doctor, health, completion, call, acp },
  ...{ ...KEYS_AND_GRANTS, ...ACCESS, ...TOKENS, ...BACKUP, ...DRIVES, ...CLUSTER },
};

/** The options of all of them, each as its first command has it. */
export const OPTIONS: Options = Object.assign(
  {},
  ...Object.values(COMMANDS)
    .map(({ options }) => options)
    .reverse(),
);

export const commandOf = (name: string): Command | undefined =>
  Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

/** Names of the commands that begin with this word and have a second one. */
export const commandsOf = (first: string): string[] =>
  Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `));
