import { realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { NoStateDir } from "./state-dir.js";
import { hasLocalToken, stateDirOf } from "./state-place.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A path of the venue's own that no caller may come near. */
interface Secret {
  readonly key: string;
  readonly path: string;
  /** What a caller who does could do. */
  readonly danger: string;
}

const BECOME = "whose readers could act as this venue or its operator";
/** Whoever writes there changes assets behind their hashes. */
const REPLACE = "whose writers could change what assets hold";
const READ_ALL = "whose callers could read or change everybody's drives";
const UNREVOKE = "whose writers could take revocations back";

/**
 * Refuses roots in which a caller could find the venue's own secrets: with the local token anybody is the operator, with
 * the seed anybody is the venue, and with a key somebody else.
 *
 * @throws ConfigError naming each
 */
export function checkSecretsOutside(config: VenueConfig, env: Environment): void {
  const roots = Object.entries(config.file.roots).flatMap(([name, root]) =>
    root.kind === "host" ? [{ name, path: realPath(root.path) }] : [],
  );
  const problems = secretsOf(config, env).flatMap(({ key, path, danger }) => {
    // Where it is and where its name is: of a link, either may be changed.
    const places = [realPath(path), join(realPath(dirname(path)), basename(path))];
    return roots
      .filter((root) => places.some((place) => lies(place, root.path)))
      .map(({ name }) => `'${key}' lies inside root '${name}', ${danger}. Choose a place outside`);
  });
  if (problems.length > 0) throw new ConfigError(problems, 78);
}

function secretsOf(config: VenueConfig, env: Environment): Secret[] {
  const { auth, seedFile, storage, drives } = config;
  const { revocations } = auth.ucan;
  const stateDir = knownStateDir(config, env);
  const files = auth.tokens.flatMap(({ token }, index) =>
    token.file === undefined ? [] : [{ key: `auth.tokens[${index}].token.file`, path: token.file, danger: BECOME }],
  );
  return [
    ...(seedFile === undefined ? [] : [{ key: "seedFile", path: seedFile, danger: BECOME }]),
    // Whether or not there is a local token: keys are kept there, and the revocation list that nobody placed elsewhere.
    ...(stateDir === undefined ? [] : [{ key: "stateDir", path: stateDir, danger: BECOME }]),
    ...(storage.content === "file" ? [{ key: "storage.path", path: storage.path, danger: REPLACE }] : []),
    ...(typeof drives.store === "object" && "path" in drives.store
      ? [{ key: "drives.store.path", path: drives.store.path, danger: READ_ALL }]
      : []),
    ...(revocations === undefined ? [] : [{ key: "auth.ucan.revocations", path: revocations, danger: UNREVOKE }]),
    ...files,
  ];
}

/** The state directory; `undefined`: there is none. @throws ConfigError when there must be one and nobody knows where */
export function knownStateDir(config: VenueConfig, env: Environment): string | undefined {
  try {
    return stateDirOf(config, env);
  } catch (error) {
    if (!(error instanceof NoStateDir) || hasLocalToken(config)) throw error;
    return undefined;
  }
}

/** Where a path really leads; of one that does not exist yet, where it will be. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

const lies = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
