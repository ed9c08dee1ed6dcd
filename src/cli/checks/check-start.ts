// Predicts why `serve` could not start, without creating or opening anything.

import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { join } from "node:path";
import { forgetsDrives } from "../../config/checks/drives.js";
import { ConfigError } from "../../config/errors.js";
import { bareHost } from "../../config/loopback.js";
import type { S3Config, VenueConfig } from "../../config/types.js";
import { fileErrno, folderErrno, socketErrno } from "../../jail/creatable.js";
import { NO_DATABASE } from "../../venue/start/drives.js";
import { OPEN_FAILURES } from "../../venue/start/open-parts.js";
import { NO_CREDENTIALS, s3Access } from "../../venue/start/s3-access.js";
import { checkState, hasLocalToken, stateDirOf } from "../../venue/start/state/place.js";
import { type CommandContext, codeOf } from "../context.js";
import { listenFailure } from "../serve/listen-failure.js";
import { isLoadable } from "./native.js";

type Environment = CommandContext["env"];

/**
 * Reasons why `serve` could not start, found without opening or creating anything: log files, folders, the state
 * directory and the address. Does not check whether another venue is using them, since that may be this venue, nor
 * whether a bucket is reachable.
 *
 * `hasKey`: the venue's seed exists.
 */
export async function startProblems(
  config: VenueConfig,
  { env, hasKey }: { readonly env: Environment; readonly hasKey: boolean },
): Promise<readonly string[]> {
  const listening = await listenErrno(config);
  return [
    ...fileProblems(config),
    ...(await storageProblems(config, env)),
    ...(hasKey ? [] : newKeyProblems(config)),
    ...(await driveProblems(config, env)),
    ...stateProblems(config, env),
    ...(listening === undefined ? [] : [listenFailure(config, listening)]),
  ];
}

const openProblem = (what: string, errno: string, path: string): string =>
  `${what}: ${OPEN_FAILURES[errno] ?? errno}: ${path}`;

function fileProblems({ audit, log }: VenueConfig): readonly string[] {
  const files = [
    ["audit.file", audit.file],
    ["log.file", log.file],
  ] as const;
  return files.flatMap(([key, path]) => {
    const errno = path === undefined ? undefined : fileErrno(path);
    return path === undefined || errno === undefined ? [] : [openProblem(`'${key}' cannot be opened`, errno, path)];
  });
}

async function storageProblems({ storage }: VenueConfig, env: Environment): Promise<readonly string[]> {
  if (storage.content === "memory") return [];
  if (storage.content === "s3") return credentialProblems("storage.s3", storage.s3, env);
  const { path } = storage;
  const errno = folderErrno(path);
  if (errno !== undefined) return [openProblem("'storage.path' cannot be opened", errno, path)];
  const { whyNotStorage } = await import("../../venue/assets/files.js");
  const fault = await whyNotStorage(path);
  return fault === undefined ? [] : [`'storage.path' cannot be opened: ${fault}: ${path}`];
}

function newKeyProblems({ seedFile, did }: VenueConfig): readonly string[] {
  if (seedFile === undefined) return [];
  const errno = fileErrno(seedFile);
  const unmade =
    errno === undefined ? [] : [openProblem("'seedFile' cannot be used: it cannot be made", errno, seedFile)];
  if (did?.startsWith("did:key:") !== true) return unmade;
  return [...unmade, "'did' is not the did:key of this venue's key: a new 'seedFile' never has it. Leave out 'did'"];
}

async function driveProblems(config: VenueConfig, env: Environment): Promise<readonly string[]> {
  const { store } = config.drives;
  const opensDatabase = typeof store === "object" || hasLastingDrives(config);
  if (opensDatabase && !isLoadable("lmdb")) return [`'drives.store' cannot be opened: ${NO_DATABASE}`];
  if (typeof store === "object" && "s3" in store) return credentialProblems("drives.store", store.s3, env);
  if (!opensDatabase) return [];
  const path = typeof store === "object" ? store.path : join(stateDirOf(config, env), "drives");
  const errno = typeof store === "object" ? folderErrno(path) : undefined;
  if (errno !== undefined) return [openProblem("'drives.store' cannot be opened", errno, path)];
  const { checkIndex } = await import("../../drive/store/embedded/index-state.js");
  try {
    checkIndex(join(path, "index"));
    return [];
  } catch (error) {
    return [`'drives.store' cannot be opened: ${error instanceof Error ? error.message : error}`];
  }
}

function credentialProblems(key: string, s3: S3Config, env: Environment): readonly string[] {
  return s3Access(s3, env).credentials === undefined ? [`'${key}' cannot be opened: ${NO_CREDENTIALS}`] : [];
}

function stateProblems(config: VenueConfig, env: Environment): readonly string[] {
  if (!needsState(config)) return [];
  try {
    checkState(config, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Whether a start opens the state directory: for the local token, a bucket, or persistent drives in roots. */
function needsState(config: VenueConfig): boolean {
  const { store } = config.drives;
  if (hasLocalToken(config) || config.storage.content === "s3") return true;
  if (typeof store === "object" && "s3" in store) return true;
  return store === undefined && hasLastingDrives(config);
}

const hasLastingDrives = (config: VenueConfig): boolean =>
  !forgetsDrives(config) && Object.values(config.file.roots).some(({ kind }) => kind === "dlfs");

/** The errno that listening would fail with. Probes the address by binding a UDP socket, so nothing can connect. */
async function listenErrno({ listen, hostname, port }: VenueConfig): Promise<string | undefined> {
  if (listen !== undefined) return socketErrno(listen.socket);
  try {
    const { address, family } = await lookup(bareHost(hostname));
    await tryAddress(family === 6 ? "udp6" : "udp4", address, port);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    // A UDP port in use says nothing about the TCP port.
    return code === "EADDRINUSE" ? undefined : code;
  }
}

function tryAddress(type: "udp4" | "udp6", address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(type);
    socket.once("error", (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ port, address, exclusive: true }, () => socket.close(() => resolve()));
  });
}
