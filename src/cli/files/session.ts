// The session of a file command: its calls, output, colours, progress and failures.

import { DEFAULT_ROOT } from "../../config/parse-file.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, TARGET_ADVICE } from "../../core/errors/texts.js";
import { UNFLUSHED } from "../../core/errors/undo-texts.js";
import { worded } from "../../core/errors/wording.js";
import { fieldsOf } from "../../core/unknown.js";
import type { FileInputs, FileOutputs } from "../../schema/types.js";
import { openConfiguredLog } from "../../venue/start/open-parts.js";
import type { FilePlace, FileRun } from "../arguments/files.js";
import { namesRoots, type OwnCalls, type RemoteVenue } from "../arguments/remote.js";
import { Callers, type LabelledToken, tokensHere, tokensThere } from "../calls/callers.js";
import type { FileCalls } from "../calls/venue-calls.js";
import type { FileCommandName, FileValues } from "../commands/files.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadCaps, loadOneConfig, ownCaller } from "../load-config.js";
import { jsonText } from "../output/json.js";
import { type Paint, paintFor } from "../output/paint.js";
import { createProgress, type Progress } from "../progress.js";

/** Commands that are not named like their operations. */
const COMMANDS: Readonly<Record<string, string>> = {
  ...{ list: "ls", read: "cat", glob: "find", write: "put", delete: "rm", move: "mv", copy: "cp" },
};
const FLAGS: Readonly<Record<string, string>> = {
  ...{ parents: "-p", recursive: "-r", encoding: "--encoding", to: "ID", version: "ID" },
};
/** Not with a file of edits, which has the fields themselves. */
const FLAGS_OF_EDIT: Readonly<Record<string, string>> = { ...FLAGS, oldText: "--old", replaceAll: "--all" };

/** Interactive transfers have no deadline; the user can interrupt them. */
const NO_DEADLINE_MS = 2 ** 31;
const COLUMNS = 80;
/** Bytes of one read from a venue elsewhere. */
const REMOTE_READ_BYTES = 2 ** 20;

const NO_ROOTS = `venue-files: without --config, --root or --url there is only '${DEFAULT_ROOT}', an empty folder that is removed at the end\n`;

type Operation = keyof FileInputs & keyof FileOutputs;

/** The input of an operation; fields that are `undefined` are not given. */
export type Given<T> = {
  readonly [K in keyof T]: T[K] | (Record<never, never> extends Pick<T, K> ? undefined : never);
};

type Paged = "file:glob" | "file:grep" | "file:history" | "file:trash";

/** Context of a file command. */
export interface FileSession<N extends FileCommandName = FileCommandName> extends Omit<FileRun<N>, "calls"> {
  readonly context: CommandContext;
  /** Answers are printed as JSON. */
  readonly json: boolean;
  readonly isTerminal: boolean;
  /** Width of the terminal in characters. */
  readonly width: number;
  readonly paint: Paint;
  readonly progress: Progress;
  /** Aborted at the first signal. */
  readonly signal: AbortSignal;
  /** Maximum bytes of one read. */
  readonly maxReadBytes: number;
  /** @throws FileAdapterError */
  invoke<O extends Operation>(operation: O, input: Given<FileInputs[O]>): Promise<FileOutputs[O]>;
  /** Names of those who make changes; looked up once. */
  callers(): Promise<Callers>;
  /** Writes a file in one step. @throws FileAdapterError */
  upload: FileCalls["upload"];
  out(text: string | Uint8Array): Promise<void>;
  /** Reports a failed operation. Rethrows other errors. */
  failed(error: unknown): void;
}

/** Runs a file command on the roots of a configuration, or of a venue elsewhere. @returns its exit status */
export async function withFileSession<N extends FileCommandName>(
  run: FileRun<N>,
  context: CommandContext,
  work: (session: FileSession<N>) => Promise<number>,
): Promise<number> {
  const { name, values, words, calls: own } = run;
  const { json, color }: FileValues<FileCommandName> = values;
  const progress = createProgress(context);
  const stop = new AbortController();
  void context.untilStopped().then(() => stop.abort());
  const { calls, maxReadBytes, tokens } = await openCalls(own, context, stop.signal);
  let callers: Promise<Callers> | undefined;
  if (own.remote === undefined && !json && !namesRoots(own.source)) context.stderr.write(NO_ROOTS);
  const { stdout } = context;
  const isTerminal = stdout.isTTY === true;
  try {
    return await work({
      ...{ context, name, values, words, json, isTerminal, progress, maxReadBytes, signal: stop.signal },
      width: stdout.columns ?? COLUMNS,
      paint: paintFor(context, color),
      // Outputs of operations conform to their schemas.
      invoke: async (operation, input) =>
        told((await calls.run(operation, fieldsIn(input))) as FileOutputs[typeof operation], input, run, context),
      callers: () => {
        callers ??= tokens().then((found) => new Callers(found));
        return callers;
      },
      upload: async (input, content) => told(await calls.upload(input, content), input, run, context),
      out: (text) => print(context, text),
      failed: (error) => printFailure(error, run, context),
    });
  } catch (error) {
    printFailure(error, run, context);
    return EXIT.failed;
  } finally {
    progress.end();
    await calls.close();
  }
}

const fieldsIn = (input: object): object =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));

/** Says on standard error what cannot be taken back. @returns the output */
function told<T extends object>(output: T, input: object, { name, values }: FileRun, { stderr }: CommandContext): T {
  const { trashed, kept, reason, hint } = fieldsOf(output);
  if (!values.json && String(hint).includes(UNFLUSHED)) stderr.write(`venue-files: ${UNFLUSHED}\n`);
  // A file that `put` removes again is its own.
  const isOwn = trashed === false && name === "put";
  if (values.json || isOwn || (trashed !== false && kept !== false)) return output;
  const end = trashed === false ? "is deleted for good" : "was overwritten for good";
  stderr.write(`venue-files: ${escapeText(`${lostPlace(output, input)} ${end}`)} (${escapeText(String(reason))})\n`);
  return output;
}

function lostPlace(output: object, input: object): string {
  const { files, to } = fieldsOf(output);
  // A patch and an undo change several files, and tell of them all at once.
  if (Array.isArray(files)) return "what was there";
  const { root, path = "", toRoot = root } = fieldsOf(input);
  return `${toRoot}:${to ?? path}`;
}

interface OpenCalls {
  readonly calls: FileCalls;
  tokens(): Promise<readonly LabelledToken[]>;
  readonly maxReadBytes: number;
}

async function openCalls({ source, capsFile, caller, remote }: OwnCalls, context: CommandContext, signal: AbortSignal) {
  const caps = loadCaps(capsFile);
  return remote === undefined
    ? openLocal({ source, caller }, context, { caps, signal })
    : openRemote(remote, context, { caps, signal });
}

interface Narrowing {
  readonly caps: readonly unknown[] | undefined;
  readonly signal: AbortSignal;
}

async function openLocal(
  { source, caller }: Pick<OwnCalls, "source" | "caller">,
  context: CommandContext,
  narrowing: Narrowing,
): Promise<OpenCalls> {
  const { openFileCalls } = await import("../calls/file-calls.js");
  const config = loadOneConfig(source, context.cwd);
  const who = await ownCaller(caller, config, context);
  const log = openConfiguredLog(config, context.stderr);
  const limits = { ...config.file.limits, timeoutMs: NO_DEADLINE_MS };
  const unbounded = { ...config, maxContentSize: Number.MAX_SAFE_INTEGER, file: { ...config.file, limits } };
  const opened = await openFileCalls(unbounded, { env: context.env, log, ...who, ...narrowing });
  const calls = { ...opened, close: () => opened.close().finally(() => log.close()) };
  return { calls, maxReadBytes: limits.maxReadBytes, tokens: () => tokensHere(config, context.env, log) };
}

async function openRemote(remote: RemoteVenue, context: CommandContext, narrowing: Narrowing): Promise<OpenCalls> {
  const { openRemoteCalls } = await import("../calls/remote-calls.js");
  // A root with a smaller limit cuts the piece, and the next one begins there.
  const calls = openRemoteCalls(remote, context, narrowing);
  return { calls, maxReadBytes: REMOTE_READ_BYTES, tokens: () => tokensThere(calls) };
}

function printFailure(error: unknown, run: FileRun, { stderr }: CommandContext): void {
  if (!(error instanceof FileAdapterError)) throw error;
  const { message, code, data } = error;
  const text = run.values.json
    ? jsonText({ error: message, errorCode: code, errorData: data })
    : `venue-files: ${failureText(error, run)}`;
  stderr.write(`${text}\n`);
}

/** Runs a command on each item, which may tell a status; a failure does not stop the others. @returns the exit status */
export async function forEachItem<T>(
  items: readonly T[],
  session: FileSession,
  work: (item: T) => Promise<number | undefined>,
): Promise<number> {
  let status: number = EXIT.ok;
  for (const item of items) {
    try {
      status = Math.max(status, (await work(item)) ?? EXIT.ok);
    } catch (error) {
      session.failed(error);
      status = EXIT.failed;
    }
  }
  return status;
}

/** All pages of an answer. */
export async function* pagesOf<O extends Paged>(
  session: FileSession,
  operation: O,
  input: Given<FileInputs[O]>,
): AsyncGenerator<FileOutputs[O]> {
  for (let cursor: string | undefined; ; ) {
    const page = await session.invoke(operation, { ...input, cursor });
    yield page;
    if (page.nextCursor === undefined || page.nextCursor === cursor) return;
    cursor = page.nextCursor;
  }
}

const ENTRIES = 10_000;

/** All entries of a directory, page by page. */
export async function* entryPages(place: FilePlace, session: FileSession): AsyncGenerator<FileOutputs["file:list"]> {
  for (let after: string | undefined; ; ) {
    const page = await session.invoke("file:list", { ...place, limit: ENTRIES, after });
    yield page;
    after = page.entries.at(-1)?.name;
    if (!page.truncated || after === undefined) return;
  }
}

/** Prints an output as one line of JSON. */
export async function printJson(session: FileSession, output: unknown): Promise<undefined> {
  await session.out(`${jsonText(output)}\n`);
}

const NAME_A_KEY = "Name the key of its user: --key NAME. venue-files key new NAME makes one";

/** One line about a failure, with its hint. */
function failureText(error: FileAdapterError, { values }: FileRun): string {
  const { code, data } = error;
  const flags = "edits" in values && values.edits !== undefined ? FLAGS : FLAGS_OF_EDIT;
  const told = worded(error, (name) =>
    name.startsWith("file:") ? `venue-files ${COMMANDS[name.slice(5)] ?? name.slice(5)}` : flags[name],
  );
  const text = told
    // `mv` and `cp` know directories as targets and overwrite by themselves.
    .replace(TARGET_ADVICE, "")
    .replace(/\boldText(?=, or set --all$)/, "--old");
  const { hint = code === "DRIVE_REQUIRES_AUTH" ? NAME_A_KEY : undefined } = data;
  return typeof hint === "string" ? `${text}${text.endsWith(".") ? "" : "."} ${hint}` : text;
}
