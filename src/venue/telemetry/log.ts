// The structured log: JSON lines to a file or standard error, without secrets.

import { closeSync, openSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Logger } from "pino";
import type { LogLevel } from "../../config/types.js";
import { type Clock, systemClock } from "../../core/clock.js";
import { describeError } from "../../core/errors/describe-error.js";
import type { Log, LogFields } from "../../core/ports/log.js";

export interface LogOptions {
  readonly level: LogLevel;
  /** Absolute path. Default: standard error. */
  readonly file?: string;
}

export interface LogStreams {
  /** Must write synchronously, or the last lines are lost when the process ends. */
  readonly stderr: { write(line: string): unknown };
  readonly clock?: Clock;
}

/** The log of a venue, with control over its file. */
export interface OpenLog extends Log {
  /** Loads what a line needs: once no descriptor is left, that cannot be done. */
  prepare(): void;
  /** Reopens the file by name, for log rotation by rename. On failure the old file stays in use. */
  reopen(): void;
  /** Closes the file; later lines go to standard error. */
  close(): void;
}

const RANKS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/**
 * Field names removed from log lines, in case a secret is logged by mistake: at the top level, in objects there, and in
 * objects in those. Errors are covered by describeError.
 */
const SECRET = [
  "authorization",
  "Authorization",
  "cookie",
  "token",
  "localToken",
  "tokens",
  "tokenCaps",
  "bearer",
  "jwt",
  "seed",
  "secret",
  "privateKey",
  "password",
  "ucans",
  "identityTokens",
  "proofs",
  "prf",
  "caps",
  "callCaps",
  "content",
];

/** Maximum characters of a text field; text from callers can be as long as a request. */
const MAX_TEXT_CHARS = 2000;

/**
 * Opens a structured log: one JSON line per event, with `level`, `time` (milliseconds since the epoch), the fields, and
 * `msg`. Log failures as the field `err`. A file is created with mode 0600 and appended to; a line that cannot be
 * written to it goes to standard error. Writing a line never throws.
 *
 * @throws the system's error when the file cannot be opened
 */
export function openLog(options: LogOptions, streams: LogStreams): OpenLog {
  const { stderr, clock = systemClock } = streams;
  const file = options.file === undefined ? undefined : new LogFile(options.file, stderr);
  const destination = file ?? stderr;
  let logger: Logger | undefined;
  const least = RANKS[options.level];
  // Loaded with the first line, so that a silent start does not wait for the library.
  const load = (): Logger => (logger ??= createLogger(options.level, destination, clock));
  const line =
    (level: Exclude<LogLevel, "silent">) =>
    (fields: LogFields, text: string): void => {
      if (RANKS[level] < least) return;
      if (attempt(() => load()[level]({ ...fields }, text))) return;
      attempt(() => destination.write(plainLine(level, fields, text)));
    };
  const plainLine = (level: LogLevel, { err }: LogFields, msg: string): string =>
    `${JSON.stringify({ level, time: clock.nowMs(), err: err === undefined ? err : describeError(err), msg })}\n`;
  const log: OpenLog = {
    prepare: () => void (options.level === "silent" || attempt(load)),
    debugs: options.level === "debug",
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    reopen: () => {
      const failure = file?.reopen();
      if (failure !== undefined) log.error({ err: failure }, "Cannot reopen the log file");
    },
    close: () => file?.close(),
  };
  return log;
}

/** Whether it did not throw. */
function attempt(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

function createLogger(level: LogLevel, destination: { write(line: string): unknown }, clock: Clock): Logger {
  const pino: typeof import("pino") = createRequire(import.meta.url)("pino");
  return pino.pino(
    {
      level,
      // No pid and hostname: the collector of the log adds them.
      base: null,
      timestamp: () => `,"time":${clock.nowMs()}`,
      formatters: { level: (label) => ({ level: label }), log: shortenFields },
      serializers: { err: describeError, error: describeError },
      redact: { paths: SECRET.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: "[hidden]" },
    },
    { write: (text) => void destination.write(text) },
  );
}

function shortenFields(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" && value.length > MAX_TEXT_CHARS ? `${value.slice(0, MAX_TEXT_CHARS)}…` : value,
  ]);
  return Object.fromEntries(entries);
}

class LogFile {
  readonly #path: string;
  readonly #stderr: LogStreams["stderr"];
  #fd: number | undefined;
  /** Whether the last line may be incomplete. */
  #torn = false;

  constructor(path: string, stderr: LogStreams["stderr"]) {
    this.#path = path;
    this.#stderr = stderr;
    this.#fd = open(path);
  }

  /** Writes synchronously: the lines before a crash are the ones that explain it. */
  write(line: string): void {
    if (this.#fd !== undefined) {
      try {
        writeFileSync(this.#fd, this.#torn ? `\n${line}` : line);
        this.#torn = false;
        return;
      } catch {
        this.#torn = true;
      }
    }
    this.#stderr.write(line);
  }

  /** @returns the system's error if it failed */
  reopen(): unknown {
    if (this.#fd === undefined) return undefined;
    try {
      const next = open(this.#path);
      closeSync(this.#fd);
      this.#fd = next;
      this.#torn = false;
      return undefined;
    } catch (error) {
      return error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

const open = (path: string): number => openSync(path, "a", 0o600);
