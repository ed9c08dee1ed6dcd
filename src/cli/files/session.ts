import { FileAdapterError } from "../../core/errors/errors.js";
import type { ResolveAsset } from "../../core/ports/adapter.js";
import { stringifyExact } from "../../schema/exact-json.js";
import type { FileInputs, FileOutputs } from "../../schema/types.js";
import { openConfiguredLog } from "../../venue/start/open-parts.js";
import { openVenue } from "../../venue/start/open-venue.js";
import type { FileRun } from "../arguments/file-line.js";
import type { FileCommand } from "../arguments/file-options.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadCaps, loadOneConfig } from "../load.js";
import { coloured, type Paint, plain } from "../output/paint.js";
import { ownCaller } from "../own-caller.js";
import { createProgress, type Progress } from "../progress.js";

/** A transfer of a person ends when it is done, or they end it. */
const NO_DEADLINE_MS = 2 ** 31;
const COLUMNS = 80;

type Operation = keyof FileInputs & keyof FileOutputs;

/** What a command on files works with. */
export interface FileSession {
  readonly context: CommandContext;
  readonly command: FileCommand;
  readonly isTerminal: boolean;
  /** Characters of a line. */
  readonly width: number;
  readonly paint: Paint;
  readonly progress: Progress;
  /** Most bytes that one read gives. */
  readonly maxReadBytes: number;
  /** @param resolveAsset what the asset of a write stands for @throws FileAdapterError */
  invoke<O extends Operation>(operation: O, input: FileInputs[O], resolveAsset?: ResolveAsset): Promise<FileOutputs[O]>;
  out(text: string | Uint8Array): Promise<void>;
  /** Says what has failed. @throws whatever is no failure of an operation */
  failed(error: unknown): void;
}

/** Runs `work` on the roots of a configuration, as `call` does. @returns its exit status */
export async function inFileSession(
  run: FileRun,
  context: CommandContext,
  work: (session: FileSession) => Promise<number>,
): Promise<number> {
  const { command, source, capsFile } = run;
  const config = loadOneConfig(source, context.cwd);
  const caps = loadCaps(capsFile);
  const caller = await ownCaller(run.caller, config, context);
  const progress = createProgress(context);
  const stop = new AbortController();
  void context.untilStopped().then(() => stop.abort());
  const log = openConfiguredLog(config, context.stderr);
  const limits = { ...config.file.limits, timeoutMs: NO_DEADLINE_MS };
  const unbounded = { ...config, maxContentSize: Number.MAX_SAFE_INTEGER, file: { ...config.file, limits } };
  const venue = await openVenue(unbounded, { listens: false, env: context.env, log, filesOnly: true, ...caller });
  const own = venue.ownContext();
  const who = own.callerDID ?? venue.host.did;
  const { env, stdout } = context;
  const isTerminal = stdout.isTTY === true;
  const isColoured = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  try {
    return await work({
      ...{ context, command, isTerminal, progress, maxReadBytes: limits.maxReadBytes },
      width: stdout.columns ?? COLUMNS,
      paint: isColoured ? coloured : plain,
      async invoke(operation, input, resolveAsset) {
        const narrowed = { ...own, signal: stop.signal, ...(caps === undefined ? {} : { caps }) };
        const withAsset = resolveAsset === undefined ? narrowed : { ...narrowed, resolveAsset };
        return parseOutput(await venue.host.run({ operation, input, caller: who, context: withAsset }).result);
      },
      out: (text) => print(context, text),
      failed: (error) => sayFailure(error, command, context),
    });
  } catch (error) {
    sayFailure(error, command, context);
    return EXIT.failed;
  } finally {
    progress.end();
    await venue.close();
  }
}

/** What an operation of ours gave is what its schema says. */
function parseOutput<O extends Operation>(output: unknown): FileOutputs[O] {
  return output as FileOutputs[O];
}

function sayFailure(error: unknown, { json }: FileCommand, { stderr }: CommandContext): void {
  if (!(error instanceof FileAdapterError)) throw error;
  const { message, code, data } = error;
  const text = json ? JSON.stringify({ error: message, errorCode: code, errorData: data }) : `venue-files: ${message}`;
  stderr.write(`${text}\n`);
}

/** Works on each of several; one that fails does not stop the others. @returns the exit status */
export async function onEach<T>(
  items: readonly T[],
  session: FileSession,
  work: (item: T) => Promise<void>,
): Promise<number> {
  let status: number = EXIT.ok;
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      session.failed(error);
      status = EXIT.failed;
    }
  }
  return status;
}

/** One answer as a line of JSON. */
export const asJson = (session: FileSession, output: unknown): Promise<void> =>
  session.out(`${stringifyExact(output)}\n`);
