import { realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { ConfigError } from "../config/errors.js";
import { isLoopbackListener } from "../config/loopback.js";
import type { VenueConfig } from "../config/types.js";
import { defaultStateDir } from "./state-dir.js";

/** A path of the venue's own that makes whoever reads it, or writes it, more than they are. */
interface Secret {
  readonly key: string;
  readonly path: string;
}

/**
 * Refuses roots in which a caller could find the venue's own secrets: with the local token anybody is the operator, with
 * the seed anybody is the venue.
 *
 * @throws ConfigError naming each
 */
export function checkSecretsOutside(config: VenueConfig, env: Readonly<Record<string, string | undefined>>): void {
  const roots = Object.entries(config.file.roots).flatMap(([name, root]) =>
    root.kind === "host" ? [{ name, path: realPath(root.path) }] : [],
  );
  const problems = secretsOf(config, env).flatMap(({ key, path }) => {
    const real = realPath(path);
    return roots.filter((root) => lies(real, root.path)).map(({ name }) => problem(key, name));
  });
  if (problems.length > 0) throw new ConfigError(problems, 78);
}

const problem = (key: string, root: string): string =>
  `'${key}' lies inside root '${root}', whose readers could act as this venue or its operator. Choose a place outside`;

function secretsOf(config: VenueConfig, env: Readonly<Record<string, string | undefined>>): Secret[] {
  const { auth, seedFile, stateDir, storage } = config;
  const files = auth.tokens.flatMap(({ token }, index) =>
    token.file === undefined ? [] : [{ key: `auth.tokens[${index}].token.file`, path: token.file }],
  );
  return [
    ...(seedFile === undefined ? [] : [{ key: "seedFile", path: seedFile }]),
    ...((auth.localToken ?? isLoopbackListener(config))
      ? [{ key: "stateDir", path: stateDir ?? defaultStateDir(env) }]
      : []),
    // Not a secret, but whoever writes there changes assets behind their hashes.
    ...(storage.content === "file" ? [{ key: "storage.path", path: storage.path }] : []),
    ...files,
  ];
}

/** Where a path really leads; of one that does not exist yet, where it will be. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

const lies = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
