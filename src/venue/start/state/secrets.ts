// Keeps the venue's own secrets out of the roots it serves.

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import type { VenueConfig } from "../../../config/types.js";
import { isInside, realPath } from "../../../process/host-path.js";
import { hasLocalToken, stateDirIfAny, stateDirOf } from "./place.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A path of the venue's own that no root may contain. */
interface Secret {
  readonly key: string;
  readonly path: string;
  /** The danger of access to it. */
  readonly danger: string;
}

const BECOME = "whose readers could act as this venue or its operator";
/** Write access there changes content without changing the hash it is stored under. */
const REPLACE = "whose writers could change what assets hold";
const READ_ALL = "whose callers could read or change everybody's drives";
const UNREVOKE = "whose writers could take revocations back";
const REACH = "whose readers could reach what the instances of this venue share";
const UNRECORD = "whose writers could change what it records";

/**
 * Refuses roots that contain secrets of the venue. With the local token anyone can act as the operator, with the seed
 * as the venue, with a key as its owner.
 *
 * @throws ConfigError naming each secret
 */
export function checkSecretsOutside(config: VenueConfig, env: Environment): void {
  const problems = exposedSecrets(config, env).map(
    ({ secret: { key, danger }, root }) => `'${key}' lies inside root '${root}', ${danger}. Choose a place outside`,
  );
  if (problems.length > 0) throw new ConfigError(problems, 78);
}

/** Names of roots that contain secrets of the venue which are there already. */
export function rootsWithSecrets(config: VenueConfig, env: Environment): string[] {
  const judged = { ...config, auth: { ...config.auth, localToken: false } };
  const exposed = exposedSecrets(judged, env).filter(({ secret }) => existsSync(secret.path));
  return [...new Set(exposed.map(({ root }) => root))];
}

function exposedSecrets(config: VenueConfig, env: Environment): { secret: Secret; root: string }[] {
  const roots = Object.entries(config.file.roots).flatMap(([name, root]) =>
    root.kind === "host" ? [{ name, path: realPath(root.path) }] : [],
  );
  return secretsOf(config, env).flatMap((secret) => {
    const places = placesOf(secret.path);
    return roots
      .filter((root) => places.some((place) => isInside(place, root.path)))
      .map(({ name }) => ({ secret, root: name }));
  });
}

/**
 * Whether a directory holds a secret of the venue or lies inside one, whoever chose it.
 *
 * @param path absolute; need not exist
 */
export function touchesSecrets(path: string, config: VenueConfig, env: Environment): boolean {
  // Where there is no state directory, none is touched.
  const judged = { ...config, auth: { ...config.auth, localToken: false } };
  const places = secretsOf(judged, env).flatMap((secret) => placesOf(secret.path));
  return placesOf(path).some((at) => places.some((place) => isInside(place, at) || isInside(at, place)));
}

/** Both the target and the location of the name: either end of a symbolic link could be replaced. */
const placesOf = (path: string): string[] => [realPath(path), join(realPath(dirname(path)), basename(path))];

function secretsOf(config: VenueConfig, env: Environment): Secret[] {
  const { auth, seedFile, storage, drives, audit, log, shared } = config;
  const { file: databaseUrl } = shared?.postgres.url ?? {};
  const { revocations } = auth.ucan;
  const stateDir = knownStateDir(config, env);
  const files = auth.tokens.flatMap(({ token }, index) =>
    token.file === undefined ? [] : [{ key: `auth.tokens[${index}].token.file`, path: token.file, danger: BECOME }],
  );
  return [
    ...(seedFile === undefined ? [] : [{ key: "seedFile", path: seedFile, danger: BECOME }]),
    // Even without a local token: it also holds keys, and the revocation list unless that is configured elsewhere.
    ...(stateDir === undefined ? [] : [{ key: "stateDir", path: stateDir, danger: BECOME }]),
    ...(storage.content === "file" ? [{ key: "storage.path", path: storage.path, danger: REPLACE }] : []),
    ...(typeof drives.store === "object" && "path" in drives.store
      ? [{ key: "drives.store.path", path: drives.store.path, danger: READ_ALL }]
      : []),
    ...(audit.file === undefined ? [] : [{ key: "audit.file", path: audit.file, danger: UNRECORD }]),
    ...(log.file === undefined ? [] : [{ key: "log.file", path: log.file, danger: UNRECORD }]),
    ...(revocations === undefined ? [] : [{ key: "auth.ucan.revocations", path: revocations, danger: UNREVOKE }]),
    ...(databaseUrl === undefined ? [] : [{ key: "shared.postgres.url.file", path: databaseUrl, danger: REACH }]),
    ...files,
  ];
}

/** The state directory; `undefined` if there is none. @throws ConfigError when one is required and cannot be determined */
export const knownStateDir = (config: VenueConfig, env: Environment): string | undefined =>
  hasLocalToken(config) ? stateDirOf(config, env) : stateDirIfAny(config, env);
