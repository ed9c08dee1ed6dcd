#!/usr/bin/env node

// Entry point of the command line: compiled code, signals, environment and exit codes.

import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import type { CommandContext } from "./cli/context.js";
import { works } from "./core/io.js";
import { packageFile } from "./core/package-files.js";
import { isWindows } from "./core/system.js";

const PRIVATE = 0o700;

/**
 * Has Node 22 and later keep what V8 makes of the program, in `.compiled/` of the package or where NODE_COMPILE_CACHE says. Whoever can
 * write there decides what runs, so it lies beside the code itself, and only in a package of the user's own.
 */
function keepCompiledCode(): void {
  const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache === undefined) return;
  const folder = packageFile(".compiled/");
  try {
    const owner = statSync(packageFile("package.json")).uid;
    if (owner !== (process.geteuid?.() ?? owner)) return;
    mkdirSync(folder, { recursive: true, mode: PRIVATE });
  } catch {
    // The package need not be writable.
    return;
  }
  enableCompileCache(fileURLToPath(folder));
}

// Before anything else is loaded.
keepCompiledCode();

/** On Windows: its console is closed (soon the system ends the process), Ctrl-Break. Elsewhere SIGHUP has other meanings. */
const CONSOLE_SIGNALS = isWindows() ? (["SIGHUP", "SIGBREAK"] as const) : [];
const isInteractive = process.stdin.isTTY === true || process.stdout.isTTY === true;

const hasTerminal = (): boolean => works(() => closeSync(openSync("/dev/tty", "r")));

const context: CommandContext = {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
  untilStopped: () =>
    new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM", ...CONSOLE_SIGNALS] as const) process.once(signal, () => resolve());
    }),
  onReload: (reload) => {
    if (isWindows()) return;
    // SIGHUP also means that the terminal was closed; then it must end the process, as it does by default.
    process.on("SIGHUP", () => (isInteractive && !hasTerminal() ? process.kill(process.pid, "SIGTERM") : reload()));
  },
};

// A closed output pipe (EPIPE) must not stop the server.
for (const stream of [process.stderr, process.stdout]) stream.on("error", () => {});

const { main } = await import("./cli/main.js");
main(process.argv.slice(2), context).then((status) => process.exit(status));
