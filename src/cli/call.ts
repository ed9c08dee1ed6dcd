// The `call` command: runs one operation, on a configuration or on a venue elsewhere.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { ConfigError } from "../config/errors.js";
import { errorCodeOf, FileAdapterError } from "../core/errors/errors.js";
import { escapeText, internalError } from "../core/errors/texts.js";
import { type Log, silentLog } from "../core/ports/log.js";
import { parseInput, RefusedJson } from "../schema/exact-json.js";
import { nearestName } from "../schema/nearest.js";
import { UsageError } from "./arguments/options.js";
import type { OwnCalls, RemoteVenue } from "./arguments/remote.js";
import type { VenueCalls } from "./calls/venue-calls.js";
import { type CommandContext, EXIT, print } from "./context.js";
import { loadCaps, loadOneConfig, ownCaller } from "./load-config.js";
import { maxMessageBytes } from "./mcp/message-size.js";
import { jsonText } from "./output/json.js";
import { findProfile } from "./profile.js";

/** Matches file operations, by dispatch name or catalogue path; they need no other adapter. */
const FILE_OPERATION = /^\/?(?:file:|v\/ops\/file\/)/;
/** Matches the adapter in a catalogue path or dispatch name; it may be a profile. */
const ADAPTER = /^\/?(?:v\/ops\/([^/]+)\/|([^:/]+):)/;
/** "-" names standard input. */
const STDIN = "-";
/** The venue judges by its own limits; this one only ends what would never end. */
const MAX_REMOTE_INPUT_BYTES = 256 * 2 ** 20;

interface Call extends OwnCalls {
  readonly operation: string;
  /** JSON text; `-`: standard input. */
  readonly input: string;
}

/** `venue-files call`: runs one operation, here or on the venue of `--url`, and prints its output. */
export async function call(command: Call, context: CommandContext): Promise<number> {
  const isOnStdin = command.input === STDIN;
  const given = isOnStdin ? undefined : parseText(command.input, QUOTE);
  const stop = new AbortController();
  const caps = loadCaps(command.capsFile);
  const { log, maxInputBytes, open, close } =
    command.remote === undefined
      ? await prepareLocal(command, context, { caps, signal: stop.signal })
      : await prepareRemote(command.remote, context, { caps, signal: stop.signal });
  let calls: VenueCalls | undefined;
  try {
    const input = isOnStdin ? await readInput(context.stdin, maxInputBytes) : given;
    void context.untilStopped().then(() => stop.abort());
    calls = await open();
    const output = await calls.run(command.operation, input);
    await print(context, `${outputJson(output, log)}\n`);
    return errorCodeOf(output) === undefined ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    const { message, code, data } = error;
    const names = code === "UNKNOWN_OPERATION" ? await calls?.operations() : undefined;
    const advice = names === undefined ? "" : meantOperation(command.operation, names);
    context.stderr.write(`${jsonText({ error: message + advice, errorCode: code, errorData: data })}\n`);
    return EXIT.failed;
  } finally {
    await calls?.close();
    close();
  }
}

/** A venue that is ready to be opened. */
interface Prepared {
  readonly log: Log;
  readonly maxInputBytes: number;
  open(): Promise<VenueCalls>;
  /** Closes the log. */
  close(): void;
}

interface Narrowing {
  readonly caps: readonly unknown[] | undefined;
  readonly signal: AbortSignal;
}

async function prepareLocal(command: Call, context: CommandContext, narrowing: Narrowing): Promise<Prepared> {
  const loaded = loadOneConfig(command.source, context.cwd);
  const [, byPath, byName] = ADAPTER.exec(command.operation) ?? [];
  const profile = byPath ?? byName ?? "";
  const bound = findProfile(loaded, profile);
  const config = bound ?? loaded;
  const caller = await ownCaller(command.caller, config, context);
  const { openConfiguredLog } = await import("../venue/start/open-parts.js");
  const log = openConfiguredLog(config, context.stderr);
  const options = { env: context.env, log, ...caller, ...narrowing };
  const open = async (): Promise<VenueCalls> => {
    if (bound === undefined && !FILE_OPERATION.test(command.operation))
      return (await import("./calls/local-calls.js")).openLocalCalls(config, options);
    const { openFileCalls } = await import("./calls/file-calls.js");
    return openFileCalls(config, { ...options, profile: bound && profile });
  };
  return { log, maxInputBytes: maxMessageBytes(config), open, close: () => log.close() };
}

async function prepareRemote(remote: RemoteVenue, context: CommandContext, narrowing: Narrowing): Promise<Prepared> {
  const { openRemoteCalls } = await import("./calls/remote-calls.js");
  const calls = openRemoteCalls(remote, context, narrowing);
  return { log: silentLog, maxInputBytes: MAX_REMOTE_INPUT_BYTES, open: async () => calls, close: () => {} };
}

/** The operation that a misspelt one probably meant, as a sentence; else empty. */
function meantOperation(given: string, names: readonly string[]): string {
  const near = nearestName(given.replace(/^\/?v\/ops\/([^/]+)\//, "$1:"), names);
  return near === undefined ? "" : `. Did you mean '${near}'?`;
}

/** @throws UsageError, ConfigError if the input exceeds the maximum message size */
async function readInput(stdin: CommandContext["stdin"], maxBytes: number): Promise<unknown> {
  const { readStdin } = await import("./tokens/token-files.js");
  const text = await readStdin(stdin, maxBytes);
  if (text === undefined) throw new ConfigError(["Standard input holds more than an operation can take"], EXIT.config);
  return parseText(text, "Give one JSON object on standard input");
}

const QUOTE = `Quote it: '{"root":"tmp","path":"a.txt"}'`;

/** Parses JSON, or else JSON5, which has no exact form of large integers. @throws UsageError */
function parseText(text: string, advice: string): unknown {
  try {
    return parseInput(text);
  } catch (error) {
    if (error instanceof RefusedJson) throw new UsageError(`The input of 'call' cannot be taken: ${error.message}`);
    return parseJson5(text, advice);
  }
}

function parseJson5(text: string, advice: string): unknown {
  const JSON5: typeof import("json5") = createRequire(import.meta.url)("json5");
  let isExact = true;
  let isInfinite = false;
  const check = (_key: string, value: unknown): unknown => {
    // JSON has neither Infinity nor NaN, and would write null in their place.
    if (typeof value === "number" && !Number.isFinite(value)) isInfinite = true;
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) isExact = false;
    return value;
  };
  let value: unknown;
  try {
    value = JSON5.parse(text, check);
  } catch (error) {
    const [, reason = "not valid"] = /^JSON5: (.*)$/s.exec(error instanceof Error ? error.message : "") ?? [];
    throw new UsageError(`The input of 'call' is neither JSON nor JSON5: ${escapeText(reason)}. ${advice}`);
  }
  if (isInfinite) {
    throw new UsageError("The input of 'call' cannot be taken: Infinity and NaN are no JSON. Give a string");
  }
  if (isExact) return value;
  throw new UsageError("The input of 'call' cannot be taken: integers beyond 2^53 are kept only in strict JSON");
}

/** @throws INTERNAL if the output cannot be serialised as JSON, such as a value nested too deeply */
function outputJson(output: unknown, log: Log): string {
  try {
    return jsonText(output);
  } catch (err) {
    const requestId = randomUUID();
    log.error({ err, requestId }, "internal error");
    throw internalError(requestId);
  }
}
