#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseGrant } from "./authz/grant.js";
import { ConfigError } from "./config/errors.js";
import { loadConfigFile, parseConfig } from "./config/load.js";
import { checkListener } from "./config/loopback.js";
import { parseRootArguments } from "./config/root-argument.js";
import type { VenueConfig } from "./config/types.js";
import { FileAdapterError } from "./core/errors.js";
import { RootsError } from "./roots/open.js";
import { type Command, type ConfigSource, parseCommandLine, UsageError } from "./surfaces/cli/arguments.js";
import { type OpenVenue, openVenue } from "./venue/open-venue.js";
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
  const venue = await openVenue(config, { listens: true, logInternal });
  warn(config, venue);
  const stopped = untilSignalled();
  try {
    const { url } = await listen(venue);
    const { banner } = await import("./surfaces/cli/banner.js");
    const roots = Object.entries(config.file.roots).map(([name, root]) => ({ name, ...root }));
    const publicAccess = venue.publicCaps.length > 0 || config.auth.public.enabled === true;
    process.stdout.write(
      banner({
        name: config.name,
        version: packageVersion(),
        url,
        did: venue.host.did,
        roots,
        publicCaps: venue.publicCaps,
        publicAccess,
        mcp: config.mcp !== false,
      }),
    );
    await stopped;
    return 0;
  } finally {
    await venue.close();
  }
}

async function listen(venue: OpenVenue): Promise<{ url: string }> {
  try {
    return await venue.host.listen();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (error instanceof Error && (error as NodeJS.ErrnoException).syscall === undefined) throw error;
    const { hostname, port } = venue.config;
    const reason = LISTEN_FAILURES[code] ?? `${code}. Choose another with --port`;
    throw new Unavailable(`Cannot listen on ${hostname}:${port}: ${reason}`);
  }
}

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use. Choose another with --port",
  EACCES: "the port needs more rights. Choose another with --port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "no such host name",
};

/** Something outside that the command needs is not to be had. */
class Unavailable extends Error {
  override readonly name = "Unavailable";
}

async function mcp(command: Extract<Command, { name: "mcp" }>): Promise<number> {
  const config = loadConfig(command.source);
  if (config.mcp === false) throw new ConfigError(["MCP is switched off: 'mcp' is false"], EXIT.config);
  const caps = loadCaps(command.capsFile);
  const [venue, { serveMcpStdio }] = await Promise.all([
    openVenue(config, { listens: false, logInternal }),
    import("./surfaces/mcp/stdio.js"),
  ]);
  warn(config, venue);
  const maxMessageBytes = config.file.limits.maxWriteBytes * MESSAGE_FACTOR + MESSAGE_EXTRA_BYTES;
  const streams = { input: process.stdin, output: process.stdout, maxMessageBytes, onError: logError };
  try {
    await Promise.race([serveMcpStdio(venue.mcpHost({ caps }), streams), untilSignalled()]);
    return 0;
  } finally {
    await venue.close();
  }
}

async function call(command: Extract<Command, { name: "call" }>): Promise<number> {
  const input = parseCallInput(command.input);
  const config = loadConfig(command.source);
  const caps = loadCaps(command.capsFile);
  const venue = await openVenue(config, { listens: false, logInternal });
  const stop = new AbortController();
  void untilSignalled().then(() => stop.abort());
  try {
    const name = venue.host.catalogue.resolve(command.operation)?.metadata.name ?? command.operation;
    const output = await venue.adapter.invoke(name, input, { caps, signal: stop.signal });
    await print(`${JSON.stringify(output)}\n`);
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

function loadConfig({ file, roots }: ConfigSource): VenueConfig {
  const options = {
    extraRoots: parseRootArguments(roots, process.cwd()),
    isGrant: (value: unknown) => parseGrant(value) !== undefined,
  };
  return file === undefined ? parseConfig({}, { ...options, baseDir: process.cwd() }) : loadConfigFile(file, options);
}

/** A list that narrows every call. A file that is no list would deny everything, so it is refused here. */
function loadCaps(file: string | undefined): unknown {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new ConfigError(["Cannot read the file of --caps"], EXIT.noInput);
  }
  const caps: unknown = parseCaps(text);
  if (!Array.isArray(caps))
    throw new ConfigError(
      ['The file of --caps must hold a list such as [{ with: "file://docs/", can: "crud/read" }]'],
      EXIT.config,
    );
  return caps;
}

function parseCaps(text: string): unknown {
  // Loaded only where it is needed, as in the configuration.
  const JSON5: typeof import("json5") = createRequire(import.meta.url)("json5");
  try {
    return JSON5.parse(text);
  } catch {
    throw new ConfigError(["The file of --caps is not valid JSON5"], EXIT.config);
  }
}

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

function logError(error: Error): void {
  process.stderr.write(`${error.message}\n`);
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
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
  if (error instanceof ConfigError || error instanceof RootsError) {
    process.stderr.write(`${error.message}\n`);
    return error instanceof ConfigError ? error.exitStatus : EXIT.config;
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
