// One command line, from its arguments to its exit status. It uses nothing of the process but what the context has.

import { ConfigError } from "../config/errors.js";
import { describeError } from "../core/errors/describe-error.js";
import { packageVersion } from "../version.js";
import { type Command, parseCommandLine } from "./arguments/arguments.js";
import { helpCommand } from "./arguments/command-name.js";
import { UsageError } from "./arguments/options.js";
import { type CommandContext, EXIT, OutputClosed, Unavailable } from "./context.js";

/** Runs a command; errors are told on standard error. @param argv without program and script @returns the exit status */
export async function main(argv: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await runParsed(argv, context);
  } catch (error) {
    return explain(error, argv, context);
  }
}

async function runParsed(argv: readonly string[], context: CommandContext): Promise<number> {
  if (argv[0] === COMPLETE) return (await import("./files/complete.js")).complete(argv.slice(1), context);
  const command = parseCommandLine(argv);
  try {
    return await run(command, context);
  } catch (error) {
    const source = "source" in command ? command.source : undefined;
    const file = typeof source === "object" ? source.file : undefined;
    if (file === undefined || !(error instanceof ConfigError)) throw error;
    throw (await import("./load-config.js")).locateProblems(error, file);
  }
}

/** The command that completion scripts call. */
const COMPLETE = "__complete";

/** Modules are imported per command, so that help and usage errors appear without delay. */
async function run(command: Command, context: CommandContext): Promise<number> {
  switch (command.name) {
    case "help":
      return writeHelp((await import("./help/help.js")).helpText(command.topic), context);
    case "version":
      context.stdout.write(`${packageVersion()}\n`);
      return EXIT.ok;
    case "serve":
      return (await import("./serve/serve.js")).serve(command, context);
    case "check":
      return (await import("./checks/check.js")).check(command, context);
    case "init":
      return (await import("./init/init.js")).init(command, context);
    case "doctor":
      return (await import("./checks/doctor.js")).doctor(context);
    case "health":
      return (await import("./checks/health.js")).health(command, context);
    case "completion":
      context.stdout.write((await import("./help/completion.js")).completionScript(command.shell));
      return EXIT.ok;
    case "mcp":
      return (await import("./mcp/mcp.js")).mcp(command, context);
    case "call":
      return (await import("./call.js")).call(command, context);
    case "acp":
      return (await import("./acp/acp.js")).acp(command, context);
    case "key new":
      return (await import("./tokens/key.js")).keyNew(command, context);
    case "key show":
      return (await import("./tokens/key.js")).keyShow(command, context);
    case "grant":
      return (await import("./tokens/grant.js")).grant(command, context);
    case "token inspect":
      return (await import("./tokens/inspect.js")).tokenInspect(command, context);
    case "token identity":
      return (await import("./tokens/identity-token.js")).tokenIdentity(command, context);
    case "backup create":
      return (await import("./backup/create.js")).backupCreate(command, context);
    case "backup restore":
      return (await import("./backup/restore.js")).backupRestore(command, context);
    case "drive ls":
    case "drive export":
    case "drive import":
    case "drive merge":
    case "drive verify":
    case "drive gc":
    case "drive upgrade":
    case "drive export-key":
    case "drive import-key":
      return (await import("./drives/drives.js")).drive(command, context);
    case "file":
      return (await import("./files/files.js")).file(command, context);
    case "file help":
      return writeHelp((await import("./help/files.js")).fileHelp(command.topic), context);
    case "revoke":
      return (await import("./tokens/revoke.js")).revoke(command, context);
    case "link":
    case "token issue":
    case "token ls":
    case "token revoke":
    case "approvals":
    case "lock ls":
    case "lock drop":
      return (await import("./access/access.js")).access(command, context);
    case "audit verify":
      return (await import("./audit/verify.js")).auditVerify(command, context);
  }
}

/** Help texts fit 120 columns; a narrower terminal gets them wrapped. */
async function writeHelp(text: string, { stdout }: CommandContext): Promise<number> {
  const { isTTY, columns } = stdout;
  const isNarrow = isTTY === true && columns > 0 && columns < 120;
  stdout.write(isNarrow ? (await import("./output/wrap.js")).wrapText(text, columns) : text);
  return EXIT.ok;
}

function explain(error: unknown, argv: readonly string[], { stderr }: CommandContext): number {
  const say = (text: string) => stderr.write(`${text}\n`);
  if (error instanceof UsageError) {
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
  if (error instanceof OutputClosed) return EXIT.outputClosed;
  say(`Internal error: ${JSON.stringify(describeError(error))}`);
  return EXIT.software;
}
