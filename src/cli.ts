#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { parseGrant } from "./authz/grant.js";
import { ConfigError } from "./config/errors.js";
import { loadConfigFile, parseConfig } from "./config/load.js";
import { checkListener } from "./config/loopback.js";
import { parseRootArguments } from "./config/root-argument.js";
import type { VenueConfig } from "./config/types.js";
import { FileAdapterError } from "./core/errors.js";
import { escapeText, internalError } from "./core/texts.js";
import { type Command, type ConfigSource, parseCommandLine, UsageError } from "./surfaces/cli/arguments.js";
import type { OpenVenue } from "./venue/open-venue.js";
import { packageVersion } from "./version.js";

const EXIT = { failed: 1, usage: 64, noInput: 66, unavailable: 69, software: 70, config: 78 } as const;

/** JSON text may need up to six characters for one of a body, and a message has some more around it. */
const MESSAGE_FACTOR = 6;
const MESSAGE_EXTRA_BYTES = 1_048_576;

async function main(argv: readonly string[]): Promise<number> {
  const command = parseCommandLine(argv);
  switch (command.name) {
    case "help":
      process.stdout.write((await import("./surfaces/cli/help.js")).helpText(command.topic));
      return 0;
    case "version":
      process.stdout.write(`${packageVersion()}\n`);
      return 0;
    case "serve":
      return serve(command);
    case "mcp":
      return mcp(command);
    case "call":
      return call(command);
  }
}

async function serve(command: Extract<Command, { name: "serve" }>): Promise<number> {
  const configured = loadConfig(command.source);
  const config = command.port === undefined ? configured : { ...configured, port: command.port };
  const refusal = checkListener(config);
  if (refusal !== undefined) throw new ConfigError([refusal], EXIT.config);
  const stopped = untilSignalled();
  const venue = await open(config, { listens: true });
  warn(config, venue);
  try {
    const { url } = await listen(venue);
    const { banner } = await import("./surfaces/cli/banner.js");
    const roots = Object.entries(config.file.roots).map(([name, root]) => ({ name, ...root }));
    process.stdout.write(
      banner({
        name: config.name,
        version: packageVersion(),
        url,
        did: venue.host.did,
        roots,
        publicCaps: venue.publicCaps,
        publicAccess: venue.publicAccess,
        mcp: config.mcp !== false,
      }),
    );
    await stopped;
    return 0;
  } finally {
    await venue.close();
  }
}

/** What it takes to run operations is loaded only here: help, and being told of a mistake, should not wait for it. */
async function open(config: VenueConfig, options: { listens: boolean }): Promise<OpenVenue> {
  const { openVenue } = await import("./venue/open-venue.js");
  return openVenue(config, { ...options, logInternal });
}

async function listen(venue: OpenVenue): Promise<{ url: string }> {
  try {
    return await venue.host.listen();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    const code = codeOf(error);
    const { hostname, port } = venue.config;
    const reason = LISTEN_FAILURES[code] ?? code;
    throw new Unavailable(`Cannot listen on ${hostname}:${port}: ${reason}`);
  }
}

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use. Choose another with --port",
  EACCES: "the port needs more rights. Choose another with --port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "no such host name",
  EAI_AGAIN: "the host name cannot be looked up",
};

/** Something outside that the command needs is not to be had. */
class Unavailable extends Error {
  override readonly name = "Unavailable";
}

async function mcp(command: Extract<Command, { name: "mcp" }>): Promise<number> {
  const config = loadConfig(command.source);
  if (config.mcp === false) throw new ConfigError(["MCP is switched off: 'mcp' is false"], EXIT.config);
  const caps = loadCaps(command.capsFile);
  const stopped = untilSignalled();
  const [venue, { serveMcpStdio }] = await Promise.all([
    open(config, { listens: false }),
    import("./surfaces/mcp/stdio.js"),
  ]);
  warn(config, venue);
  if (process.stdin.isTTY) process.stderr.write("Waiting for an MCP client on standard input. Stop with Ctrl-C.\n");
  const maxMessageBytes = config.file.limits.maxWriteBytes * MESSAGE_FACTOR + MESSAGE_EXTRA_BYTES;
  const streams = { input: process.stdin, output: process.stdout, maxMessageBytes, onError: logMcp };
  try {
    await Promise.race([serveMcpStdio(venue.mcpHost({ caps }), streams), stopped]);
    return 0;
  } finally {
    await venue.close();
  }
}

async function call(command: Extract<Command, { name: "call" }>): Promise<number> {
  const input = parseCallInput(command.input);
  const config = loadConfig(command.source);
  const caps = loadCaps(command.capsFile);
  const stop = new AbortController();
  void untilSignalled().then(() => stop.abort());
  const venue = await open(config, { listens: false });
  try {
    const name = venue.host.catalogue.resolve(command.operation)?.metadata.name ?? command.operation;
    const output = await venue.adapter.invoke(name, input, { caps, signal: stop.signal });
    await print(`${outputJson(output)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    const { message, code, data } = error;
    process.stderr.write(`${JSON.stringify({ error: message, errorCode: code, errorData: data })}\n`);
    return EXIT.failed;
  } finally {
    await venue.close();
  }
}

/** @throws INTERNAL for what cannot be written as JSON, such as a value nested too deeply */
function outputJson(output: unknown): string {
  try {
    return JSON.stringify(output);
  } catch (error) {
    const requestId = randomUUID();
    logInternal(error, requestId);
    throw internalError(requestId);
  }
}

function loadConfig({ file, roots }: ConfigSource): VenueConfig {
  const options = {
    extraRoots: parseRootArguments(roots, process.cwd()),
    isGrant: (value: unknown) => parseGrant(value) !== undefined,
  };
  return file === undefined ? parseConfig({}, { ...options, baseDir: process.cwd() }) : loadConfigFile(file, options);
}

/** A list that narrows every call. A file that is no list would deny everything, so it is refused here. */
function loadCaps(file: string | undefined): readonly unknown[] | undefined {
  if (file === undefined) return undefined;
  const name = `"${escapeText(basename(file))}"`;
  let caps: unknown;
  try {
    caps = parseJson5(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ConfigError([`Cannot read ${name}: not valid JSON5`], EXIT.config);
    const code = codeOf(error);
    throw new ConfigError([`Cannot read ${name}: ${READ_FAILURES[code] ?? code}`], EXIT.noInput);
  }
  if (Array.isArray(caps)) return caps;
  throw new ConfigError([`${name} must hold a list such as [{ with: "file://docs/", can: "crud/read" }]`], EXIT.config);
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
};

function parseJson5(text: string): unknown {
  // Loaded only where it is needed, as in the configuration.
  const JSON5: typeof import("json5") = createRequire(import.meta.url)("json5");
  return JSON5.parse(text);
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

function parseCallInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`The input of 'call' is not valid JSON. Quote it: '{"root":"tmp","path":"a.txt"}'`);
  }
}

function warn(config: VenueConfig, venue: OpenVenue): void {
  for (const warning of [...config.warnings, ...venue.adapter.warnings]) process.stderr.write(`Warning: ${warning}\n`);
}

function logInternal(error: unknown, requestId: string): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`Internal error (${requestId}): ${detail}\n`);
}

/** One line for a fault of the MCP connection; of a message that is no JSON-RPC the SDK gives pages of reasons. */
function logMcp({ message }: Error): void {
  const reason = message.startsWith("[") ? "a message was ignored, it is not JSON-RPC" : escapeText(message);
  process.stderr.write(`MCP: ${reason}\n`);
}

/**
 * Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. To be called before anything is opened:
 * a signal that nobody waits for yet would leave temp roots behind.
 */
function untilSignalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

/** Waits until a long output has really left for a pipe. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error === undefined || error === null ? resolve() : reject(error)));
  });
}

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\nSee: venue-files --help\n`);
    return EXIT.usage;
  }
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    return error.exitStatus;
  }
  if (error instanceof Unavailable) {
    process.stderr.write(`${error.message}\n`);
    return EXIT.unavailable;
  }
  logInternal(error, "start");
  return EXIT.software;
}

main(process.argv.slice(2)).then(
  (status) => process.exit(status),
  (error) => process.exit(explain(error)),
);
