// Errors of a configuration, and the paths of keys in them.

import { escapeText } from "../core/errors/texts.js";

/** 66: the file is missing or unreadable. 69: a service that it names is not there. 78: its content is invalid. All as in `sysexits.h`. */
export type ConfigExitStatus = 66 | 69 | 78;

/** Reports every problem found in a configuration, not only the first. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** One line each; the message is these lines. */
  readonly problems: readonly string[];
  /** Exit status for commands. */
  readonly exitStatus: ConfigExitStatus;

  constructor(problems: readonly string[], exitStatus: ConfigExitStatus) {
    super(problems.join("\n"));
    this.problems = problems;
    this.exitStatus = exitStatus;
  }
}

/** Keys and array indexes from the top of a config to one value. */
export type KeyPath = readonly (string | number)[];

/** Formats a key path for messages: `auth.public.caps[0].with`. */
export function keyText(path: KeyPath): string {
  return path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${escapeText(key)}`))
    .join("");
}
