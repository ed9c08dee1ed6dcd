// The `serve` command: opens every venue of a configuration, listens, and reloads on SIGHUP.

import { execFile } from "node:child_process";
import { basename } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { checkListener, localUrl } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { attempt } from "../../core/io.js";
import { silentLog } from "../../core/ports/log.js";
import { publicCapsOf, servesPublic } from "../../venue/identity/access.js";
import { SESSION_MS } from "../../venue/identity/access-tokens.js";
import { servesDav } from "../../venue/start/dav.js";
import { openConfiguredLog } from "../../venue/start/open-parts.js";
import { type OpenVenue, openVenue, type PreparedReload } from "../../venue/start/open-venue.js";
import { localTokenFile, stateDirOf, withOwnStateDirs } from "../../venue/start/state/place.js";
import { announceRunning, runningFile } from "../../venue/start/state/running.js";
import { servesWorkspace } from "../../venue/start/workspace.js";
import type { OpenLog } from "../../venue/telemetry/log.js";
import { packageVersion } from "../../version.js";
import type { ConfigSource } from "../arguments/remote.js";
import { type CommandContext, codeOf, EXIT, isSystemError, print, Unavailable } from "../context.js";
import { loadConfigs, locateProblems, warn } from "../load-config.js";
import { banner, quote } from "../output/banner.js";
import { listenFailure } from "./listen-failure.js";

/** `venue-files serve`: serves every venue of the configuration until stopped. None starts unless all of them can. */
export async function serve(source: ConfigSource, context: CommandContext): Promise<number> {
  const configs = configsOf(source, context);
  const stopped = context.untilStopped();
  const logs = configs.map((config) => openConfiguredLog(config, context.stderr));
  const venues = await openAll(configs, logs, context);
  const supervisor = createSupervisor(context);
  const announced: (() => void)[] = [];
  try {
    let reloaded = Promise.resolve();
    context.onReload(() => {
      // Log rotation sends SIGHUP as well.
      for (const log of logs) log.reopen();
      for (const venue of venues) venue.lookForAudit();
      reloaded = reloaded.then(async () => {
        await supervisor.reloading();
        await reload(venues, source, context);
        await supervisor.ready(summaryOf(venues));
      });
    });
    for (const venue of venues) warn(venue, context);
    const ports: (number | undefined)[] = [];
    for (const venue of venues) ports.push(await listen(venue));
    for (const [index, venue] of venues.entries()) announced.push(announce(venue, ports[index], context));
    for (const [index, venue] of venues.entries()) {
      const link = await linkOf(venue, ports[index], context);
      context.stdout.write(`${link}${await bannerOf(venue, ports[index], context)}\n`);
    }
    context.stdout.write("Stop with Ctrl-C.\n");
    await supervisor.ready(summaryOf(venues));
    for (const log of logs) log.prepare();
    await stopped;
    await supervisor.stopping();
  } finally {
    for (const takeAway of announced) takeAway();
    await Promise.all(venues.map((venue) => venue.close()));
    for (const log of logs) log.close();
  }
  // A closed output is no failure of the stop.
  await print(context, "Stopped.\n").catch(() => {});
  return EXIT.ok;
}

const summaryOf = (venues: readonly OpenVenue[]): string => `Serving ${venues.map(({ host }) => host.url).join(", ")}`;

function configsOf(source: ConfigSource, { cwd, env }: CommandContext): readonly VenueConfig[] {
  const configs = loadConfigs(source, cwd);
  const refusals = configs.map(checkListener).filter((refusal) => refusal !== undefined);
  if (refusals.length > 0) throw new ConfigError(refusals, EXIT.config);
  return withOwnStateDirs(configs, env);
}

async function openAll(
  configs: readonly VenueConfig[],
  logs: readonly OpenLog[],
  { env }: CommandContext,
): Promise<OpenVenue[]> {
  const venues: OpenVenue[] = [];
  try {
    for (const [index, config] of configs.entries()) {
      venues.push(await openVenue(config, { listens: true, env, log: logs[index] ?? silentLog }));
    }
    return venues;
  } catch (error) {
    await Promise.all(venues.map((venue) => venue.close()));
    throw error;
  }
}

/** @returns the port; `undefined` on a socket */
async function listen({ config, host }: OpenVenue): Promise<number | undefined> {
  try {
    return (await host.listen()).port;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new Unavailable(listenFailure(config, codeOf(error)));
  }
}

/**
 * Says where commands find the venue: where it listens, since `baseUrl` may lead around the world. Only where there is a
 * state directory already: nothing is made for this alone.
 */
function announce({ config, host, access }: OpenVenue, port: number | undefined, { env }: CommandContext): () => void {
  if (access.localToken === undefined) return () => {};
  const base = config.stateBase ?? stateDirOf(config, env);
  const where =
    config.listen === undefined ? { url: localUrl(config, port ?? config.port) } : { socket: config.listen.socket };
  return announceRunning(runningFile(base, config.name), { pid: process.pid, ...where, did: host.did });
}

/** A link that signs in the user at the terminal. Output that is kept must not hold one, and has the command that makes one. */
async function linkOf(venue: OpenVenue, port: number | undefined, { stdout, env }: CommandContext): Promise<string> {
  const { config, access, host } = venue;
  if (!servesWorkspace(config)) return "";
  const page = `Open ${host.url}/workspace/`;
  if (access.localToken === undefined || (stdout.isTTY !== true && port === undefined)) return `${page}\n\n`;
  if (stdout.isTTY !== true) return `${page} with a link from: ${linkCommand(config, port ?? config.port, env)}\n\n`;
  const request = { label: "terminal of serve", lifetimeMs: SESSION_MS, maker: { kind: "operator" } } as const;
  const link = await access.accessTokens?.link(request);
  return link === undefined ? "" : `${page}#login=${link.secret} (once, within 15 minutes)\n\n`;
}

/** The command that makes a link, for a reader of kept output, who may be in another folder and outside of the service. */
function linkCommand(config: VenueConfig, port: number, env: CommandContext["env"]): string {
  const { STATE_DIRECTORY: _, ...own } = env;
  const ownStateDir = attempt(() => stateDirOf({}, own));
  const isFound = config.stateBase === undefined && stateDirOf(config, env) === ownStateDir;
  if (isFound) return "venue-files link";
  return `venue-files link --url ${localUrl(config, port)} --token ${quote(localTokenFile(config, env))}`;
}

const CLIENT_CAPS = ["crud", "exec/run"].map((can) => ({ with: "file://", can }));
const CLIENT_MS = 30 * 24 * 3_600_000;

/**
 * A token for the configuration of clients where a root asks a person: with the operator's own, a client could answer
 * for itself.
 */
async function clientTokenOf(
  { config, access }: OpenVenue,
  { stdout }: CommandContext,
): Promise<{ readonly clientToken?: string }> {
  const hasApprovals = Object.values(config.file.roots).some(({ approve }) => approve !== undefined);
  if (!hasApprovals || stdout.isTTY !== true || config.mcp === false || access.localToken === undefined) return {};
  const request = { label: "MCP configuration of serve", caps: CLIENT_CAPS, lifetimeMs: CLIENT_MS };
  const made = await access.accessTokens?.issue({ ...request, maker: { kind: "operator" } });
  return made === undefined ? {} : { clientToken: made.secret };
}

async function bannerOf(venue: OpenVenue, port: number | undefined, context: CommandContext): Promise<string> {
  const { config, host, access } = venue;
  const { env, stdout } = context;
  return banner({
    ...(await clientTokenOf(venue, context)),
    name: config.name,
    version: packageVersion(),
    url: host.url,
    // Without a name outside, the address is told as it was given.
    ...(config.baseUrl === undefined ? {} : { localUrl: localUrl(config, port ?? config.port) }),
    did: host.did,
    roots: Object.entries(config.file.roots).map(([name, root]) => ({
      name,
      ...root,
      ...(root.kind === "dlfs" ? { owner: "each caller" } : {}),
    })),
    publicCaps: publicCapsOf(config),
    publicAccess: servesPublic(config),
    mcp: config.mcp !== false,
    webdav: servesDav(config),
    tokens: access.staticTokens.length,
    ...(config.listen === undefined ? {} : { socket: config.listen.socket }),
    ...(access.localToken === undefined
      ? {}
      : { localToken: { file: localTokenFile(config, env), ...(stdout.isTTY ? { text: access.localToken } : {}) } }),
  });
}

/** Applies a changed configuration file to all venues, or to none if it has a problem. */
async function reload(venues: readonly OpenVenue[], source: ConfigSource, context: CommandContext): Promise<void> {
  const prepared: PreparedReload[] = [];
  try {
    const configs = configsOf(source, context);
    if (configs.length !== venues.length) throw new ConfigError(["venues cannot come or go without a new start"], 78);
    for (const [index, config] of configs.entries()) {
      const change = venues[index]?.prepareReload(config);
      if (change !== undefined) prepared.push(change);
    }
  } catch (err) {
    await Promise.all(prepared.map((change) => change.discard()));
    const located = locateProblems(err, source.file);
    venues[0]?.log.error(
      { err, at: placesIn(located, source) },
      "configuration not reloaded: the old one stays in force",
    );
    printReloadFailure(located, source, context);
    return;
  }
  for (const [index, { log, adapter }] of venues.entries()) {
    const keys = (await prepared[index]?.commit()) ?? [];
    log.info({ roots: adapter.roots.map(({ name }) => name) }, "configuration reloaded");
    if (keys.length > 0) log.warn({ keys }, "changed keys that need a new start");
  }
}

/** Where the mistakes are, as `venue.json5:3:9`; the log leaves out the folder. */
function placesIn(error: unknown, { file = "" }: ConfigSource): readonly string[] {
  if (!(error instanceof ConfigError)) return [];
  const start = escapeText(file);
  const places = error.problems.filter((text) => text.startsWith(`${start}:`)).map((text) => text.slice(start.length));
  return places.flatMap((text) => /^:\d+:\d+/.exec(text)?.[0] ?? []).map((at) => escapeText(basename(file)) + at);
}

/** Tells the user at the terminal why a reload failed; the log may go elsewhere, and leaves out paths. */
function printReloadFailure(error: unknown, source: ConfigSource, { stderr }: CommandContext): void {
  if (stderr.isTTY !== true || !(error instanceof ConfigError)) return;
  const file = source.file === undefined ? "" : ` of ${escapeText(source.file)}`;
  stderr.write(`The configuration${file} was not reloaded, the old one stays in force:\n${error.message}\n`);
}

/** Tells a service manager of each step; does nothing where there is none. */
export interface Supervisor {
  ready(status: string): Promise<void>;
  /** To be followed by {@link ready}. */
  reloading(): Promise<void>;
  stopping(): Promise<void>;
}

const MICROSECONDS = 1000;

/** The manager that `NOTIFY_SOCKET` names. With `WATCHDOG_USEC` it also hears regularly that the event loop runs. */
export function createSupervisor({ env }: Pick<CommandContext, "env">): Supervisor {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = env;
  if (socket === undefined || socket === "")
    return { ready: async () => {}, reloading: async () => {}, stopping: async () => {} };
  const own = { PATH: env["PATH"], NOTIFY_SOCKET: socket };
  const tell = (...states: readonly string[]) =>
    new Promise<void>((resolve) => {
      // The manager takes what a child says (NotifyAccess=all); a failure shows as a start that times out.
      execFile("systemd-notify", [`--pid=${process.pid}`, ...states], { env: own, timeout: 5000 }, () => resolve());
    });
  const periodMs = Number(watchdog) / MICROSECONDS / 2;
  if (periodMs > 0 && (watched === undefined || Number(watched) === process.pid)) {
    setInterval(() => void tell("WATCHDOG=1"), periodMs).unref();
  }
  return {
    ready: (status) => tell("READY=1", `STATUS=${status}`),
    reloading: () => tell("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => tell("STOPPING=1"),
  };
}
