/** What a command gets of the process it runs in. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly cwd: string;
  /**
   * Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. To be called before anything is
   * opened: a signal that nobody waits for yet would leave temp roots behind.
   */
  untilStopped(): Promise<void>;
  /** Calls at every SIGHUP, where the system has it. */
  onReload(reload: () => void): void;
}

/** Statuses of `sysexits.h`. */
export const EXIT = { ok: 0, failed: 1, usage: 64, noInput: 66, unavailable: 69, software: 70, config: 78 } as const;

/** Something outside that the command needs is not to be had. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The code of a system error, else an empty text. */
export const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

/** Writes, and waits until a long text has really left for a pipe. */
export function print({ stdout }: Pick<CommandContext, "stdout">, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error === undefined || error === null ? resolve() : reject(error)));
  });
}
