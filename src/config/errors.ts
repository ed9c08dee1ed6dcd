/** 66: the file is missing or unreadable. 78: its content is invalid. Both as in `sysexits.h`. */
export type ConfigExitStatus = 66 | 78;

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
