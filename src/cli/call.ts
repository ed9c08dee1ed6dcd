import { randomUUID } from "node:crypto";
import { FileAdapterError } from "../core/errors.js";
import type { Log } from "../core/log.js";
import { internalError } from "../core/texts.js";
import { type Command, UsageError } from "../surfaces/cli/arguments.js";
import { openConfiguredLog } from "../venue/open-parts.js";
import { openVenue } from "../venue/open-venue.js";
import { type CommandContext, EXIT } from "./context.js";
import { loadCaps, loadOneConfig } from "./load.js";

/** `venue-files call`: runs one operation as the operator and prints its output. */
export async function call(command: Extract<Command, { name: "call" }>, context: CommandContext): Promise<number> {
  const input = parseInput(command.input);
  const config = loadOneConfig(command.source, context.cwd);
  const caps = loadCaps(command.capsFile);
  const stop = new AbortController();
  void context.untilStopped().then(() => stop.abort());
  const log = openConfiguredLog(config, context.stderr);
  const venue = await openVenue(config, { listens: false, env: context.env, log });
  try {
    const name = venue.host.catalogue.resolve(command.operation)?.operation.metadata.name ?? command.operation;
    const output = await venue.adapter.invoke(name, input, { caps, signal: stop.signal });
    await print(context, `${outputJson(output, log)}\n`);
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    const { message, code, data } = error;
    context.stderr.write(`${JSON.stringify({ error: message, errorCode: code, errorData: data })}\n`);
    return EXIT.failed;
  } finally {
    await venue.close();
  }
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`The input of 'call' is not valid JSON. Quote it: '{"root":"tmp","path":"a.txt"}'`);
  }
}

/** @throws INTERNAL for what cannot be written as JSON, such as a value nested too deeply */
function outputJson(output: unknown, log: Log): string {
  try {
    return JSON.stringify(output);
  } catch (err) {
    const requestId = randomUUID();
    log.error({ err, requestId }, "internal error");
    throw internalError(requestId);
  }
}

/** Waits until a long output has really left for a pipe. */
function print({ stdout }: CommandContext, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error === undefined || error === null ? resolve() : reject(error)));
  });
}
