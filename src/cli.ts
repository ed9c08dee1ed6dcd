#!/usr/bin/env node
// Entry point of the command line: signals, environment and exit codes; commands are loaded on demand.

import { closeSync, openSync } from "node:fs";
import { type Command, parseCommandLine } from "./cli/arguments/arguments.js";
import { UsageError } from "./cli/arguments/options.js";
import { type CommandContext, EXIT, Unavailable } from "./cli/context.js";
import { ConfigError } from "./config/errors.js";
import { describeError } from "./core/errors/describe-error.js";
import { packageVersion } from "./version.js";

async function main(argv: readonly string[], context: CommandContext): Promise<number> {
  if (argv[0] === COMPLETE) return (await import("./cli/files/complete.js")).complete(argv.slice(1), context);
  const command = parseCommandLine(argv);
  try {
    return await run(command, context);
  } catch (error) {
    const source = "source" in command ? command.source : undefined;
    const file = typeof source === "object" ? source.file : undefined;
    if (file === undefined || !(error instanceof ConfigError)) throw error;
    throw (await import("./cli/load-config.js")).locateProblems(error, file);
  }
}

/** The command that completion scripts call. */
const COMPLETE = "__complete";

/** Modules are imported per command, so that help and usage errors appear without delay. */
async function run(command: Command, context: CommandContext): Promise<number> {
  switch (command.name) {
    case "help":
      context.stdout.write((await import("./cli/help/help.js")).helpText(command.topic));
      return EXIT.ok;
    case "version":
      context.stdout.write(`${packageVersion()}\n`);
      return EXIT.ok;
    case "serve":
      return (await import("./cli/serve/serve.js")).serve(command, context);
    case "check":
      return (await import("./cli/checks/check.js")).check(command, context);
    case "init":
      return (await import("./cli/init/init.js")).init(command, context);
    case "doctor":
      return (await import("./cli/checks/doctor.js")).doctor(context);
    case "health":
      return (await import("./cli/checks/health.js")).health(command, context);
    case "completion":
      context.stdout.write((await import("./cli/help/completion.js")).completionScript(command.shell));
      return EXIT.ok;
    case "mcp":
      return (await import("./cli/mcp/mcp.js")).mcp(command, context);
    case "call":
      return (await import("./cli/call.js")).call(command, context);
    case "acp":
      return (await import("./cli/acp/acp.js")).acp(command, context);
    case "key new":
      return (await import("./cli/tokens/key.js")).keyNew(command, context);
    case "key show":
      return (await import("./cli/tokens/key.js")).keyShow(command, context);
    case "grant":
      return (await import("./cli/tokens/grant.js")).grant(command, context);
    case "token inspect":
      return (await import("./cli/tokens/inspect.js")).tokenInspect(command, context);
    case "token identity":
      return (await import("./cli/tokens/identity-token.js")).tokenIdentity(command, context);
    case "backup create":
      return (await import("./cli/backup/create.js")).backupCreate(command, context);
    case "backup restore":
      return (await import("./cli/backup/restore.js")).backupRestore(command, context);
    case "drive ls":
    case "drive export":
    case "drive import":
    case "drive merge":
    case "drive verify":
    case "drive gc":
    case "drive upgrade":
    case "drive export-key":
    case "drive import-key":
      return (await import("./cli/drives/drives.js")).drive(command, context);
    case "file":
      return (await import("./cli/files/files.js")).file(command, context);
    case "file help":
      context.stdout.write((await import("./cli/help/files.js")).fileHelp(command.topic));
      return EXIT.ok;
    case "revoke":
      return (await import("./cli/tokens/revoke.js")).revoke(command, context);
    case "link":
    case "token issue":
    case "token ls":
    case "token revoke":
    case "approvals":
      return (await import("./cli/access/access.js")).access(command, context);
    case "audit verify":
      return (await import("./cli/audit/verify.js")).auditVerify(command, context);
  }
}

async function explain(error: unknown, argv: readonly string[]): Promise<number> {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  if (error instanceof UsageError) {
    const { helpCommand } = await import("./cli/arguments/command-name.js");
    say(`${error.message}\nSee: ${helpCommand(argv)}`);
    return EXIT.usage;
  }
  if (error instanceof ConfigError) {
    say(error.message);
    return error.exitStatus;
  }
  if (error instanceof Unavailable) {
    say(error.message);
    return EXIT.unavailable;
  }
  say(`Internal error: ${JSON.stringify(describeError(error))}`);
  return EXIT.software;
}

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
  onReload: (reload) => {
    // SIGHUP also means that the terminal was closed; then it must end the process, as it does by default.
    process.on("SIGHUP", () => (isInteractive && !hasTerminal() ? process.kill(process.pid, "SIGTERM") : reload()));
  },
};

// A closed output pipe (EPIPE) must not stop the server.
for (const stream of [process.stderr, process.stdout]) stream.on("error", () => {});

const argv = process.argv.slice(2);
main(argv, context).then(
  (status) => process.exit(status),
  async (error) => process.exit(await explain(error, argv)),
);
