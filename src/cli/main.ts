// Runs one command line, from its arguments to its exit status. The context is all it uses of the process.

import { ConfigError } from "../config/errors.js";
import { describeError } from "../core/errors/describe-error.js";
import { packageVersion } from "../version.js";
import { type FileRun, findFileCommand, readFileLine } from "./arguments/files.js";
import { UsageError } from "./arguments/options.js";
import { type CommandContext, EXIT, OutputClosed, Unavailable } from "./context.js";

/** Runs a command; errors are told on standard error. @param argv without program and script @returns the exit status */
export async function main(argv: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await runLine(argv, context);
  } catch (error) {
    return await explain(error, argv, context);
  }
}

async function runLine(argv: readonly string[], context: CommandContext): Promise<number> {
  if (argv[0] === COMPLETE) return (await import("./files/complete.js")).complete(argv.slice(1), context);
  const onFiles = await findFileCommand(argv);
  if (onFiles !== undefined) return runOnFiles(readFileLine(onFiles.name, onFiles.args), onFiles.name, context);
  if (argv.length === 0) return writeHelp((await import("./help/help.js")).START, context);
  const { COMMANDS } = await import("./commands/all.js");
  const { findCommand } = await import("./arguments/find-command.js");
  const { readLine } = await import("./arguments/read.js");
  const found = findCommand(argv);
  const { command } = found;
  const line = readLine(found.args, found);
  if (line === "version") {
    context.stdout.write(`${packageVersion()}\n`);
    return EXIT.ok;
  }
  if (line === "help" || found.name === "help") {
    const { helpText } = await import("./help/help.js");
    return writeHelp(line === "help" ? helpText(found.topic, false) : helpText(line.words, true), context);
  }
  if (command === undefined) throw new UsageError("A command is missing. Try: venue-files serve");
  try {
    return await command.run(line, context, COMMANDS);
  } catch (error) {
    const { config } = line.values;
    return locate(error, command.locates === true && typeof config === "string" ? config : undefined);
  }
}

async function runOnFiles(run: FileRun | "help", name: string, context: CommandContext): Promise<number> {
  if (run === "help") return writeHelp((await import("./help/help.js")).helpText([name], true), context);
  const { file } = run.calls.source;
  return (await import("./files/files.js")).file(run, context).catch((error: unknown) => locate(error, file));
}

/** The command that completion scripts call. */
const COMPLETE = "__complete";

/** @throws the error; problems of a configuration with their places */
async function locate(error: unknown, file: string | undefined): Promise<never> {
  if (file === undefined || !(error instanceof ConfigError)) throw error;
  throw (await import("./load-config.js")).locateProblems(error, file);
}

/** Help texts fit 120 columns; a narrower terminal gets them wrapped. */
async function writeHelp(text: string, { stdout }: CommandContext): Promise<number> {
  const { isTTY, columns } = stdout;
  const isNarrow = isTTY === true && columns > 0 && columns < 120;
  stdout.write(isNarrow ? (await import("./output/wrap.js")).wrapText(text, columns) : text);
  return EXIT.ok;
}

async function explain(error: unknown, argv: readonly string[], { stderr }: CommandContext): Promise<number> {
  const say = (text: string) => stderr.write(`${text}\n`);
  if (error instanceof UsageError) {
    const { helpCommand } = await import("./help/help.js");
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
