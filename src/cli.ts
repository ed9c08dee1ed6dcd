#!/usr/bin/env node
// Entry point of the command line: signals, environment and exit codes.

import { closeSync, openSync } from "node:fs";
import type { CommandContext } from "./cli/context.js";
import { main } from "./cli/main.js";
import { optimizeSooner } from "./cli/optimize-sooner.js";

const isInteractive = process.stdin.isTTY === true || process.stdout.isTTY === true;

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

const context: CommandContext = {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
  untilStopped: () =>
    new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    }),
  onServing: optimizeSooner,
  onReload: (reload) => {
    // SIGHUP also means that the terminal was closed; then it must end the process, as it does by default.
    process.on("SIGHUP", () => (isInteractive && !hasTerminal() ? process.kill(process.pid, "SIGTERM") : reload()));
  },
};

// A closed output pipe (EPIPE) must not stop the server.
for (const stream of [process.stderr, process.stdout]) stream.on("error", () => {});

main(process.argv.slice(2), context).then((status) => process.exit(status));
