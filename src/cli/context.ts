// The context of a command: the process environment, exit codes, and output.

import { fieldsOf } from "../core/unknown.js";

/** The process environment of a command, injected so that tests can replace it. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly cwd: string;
  /**
   * Resolves at the first SIGINT or SIGTERM, on Windows also when the console is closed; a second one ends the process at
   * once. Call it before opening anything: an unhandled signal would leave temp roots behind.
   */
  untilStopped(): Promise<void>;
  /** Registers a callback for SIGHUP, on systems that have it. */
  onReload(reload: () => void): void;
}

/** "-" names standard input or output. */
export const STREAM = "-";

/** Exit statuses; 64 and above as in `sysexits.h`. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 64,
  noInput: 66,
  unavailable: 69,
  software: 70,
  config: 78,
  /** As of a process that SIGPIPE ends. */
  outputClosed: 141,
} as const;

/** An external resource that the command needs is unavailable (exit status 69). */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The reader of the output has closed it, as `head` does when it has enough (exit status 141). */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** The code of an error that has one, such as that of a system call, else an empty string. */
export const codeOf = (error: unknown): string => String(fieldsOf(error)["code"] ?? "");

/** Whether a system call failed. */
export const isSystemError = (error: unknown): boolean => "syscall" in fieldsOf(error);

/**
 * Writes, and waits until the text has been flushed; otherwise `process.exit` could truncate output to a pipe.
 * @throws OutputClosed
 */
export function print({ stdout }: Pick<CommandContext, "stdout">, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      if (error === undefined || error === null) resolve();
      else reject(codeOf(error) === "EPIPE" ? new OutputClosed() : error);
    });
  });
}
