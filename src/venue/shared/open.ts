// Opens the shared state of a configuration, whose client and code are loaded only then.

import { ConfigError } from "../../config/errors.js";
import { listensOnLoopback, localUrl } from "../../config/loopback.js";
import type { SharedConfig, VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { type Log, silentLog } from "../../core/ports/log.js";
import type { InstanceDigest } from "../../core/ports/shared.js";
import { codeOf } from "../../core/unknown.js";
import { stringifyExact } from "../../schema/exact-json.js";
import { packageVersion } from "../../version.js";
import { keyOf } from "../identity/access.js";
import { openIdentity } from "../identity/identity.js";
import { readSecretFile } from "../start/state/state-dir.js";
import type { Engine } from "./connection.js";
import { macOf, PostgresShared, sharedSecret } from "./postgres.js";

const MAX_URL_BYTES = 4096;
const DIGEST_CHARS = 12;

interface OpenOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** The shared state of a venue that will listen. Nothing is connected yet. @throws ConfigError */
export async function openShared(
  config: VenueConfig,
  shared: SharedConfig | undefined,
  { env, log }: OpenOptions,
): Promise<PostgresShared> {
  if (shared === undefined) throw new Error("Cannot open: the venue is one process");
  const { name, seed, seedFile, did } = config;
  const identity = openIdentity({ seed, seedFile, did, log: silentLog });
  const key = keyOf(identity);
  const mac = macOf(sharedSecret(key, "digests"));
  return new PostgresShared({
    ...{ engine: await engineOf(shared, env), did: identity.did, key, log },
    facts: { name, version: packageVersion(), digest: digestOf(config, mac) },
    digestOf: (next) => digestOf(next, mac),
    advertised: (port) => advertised(config, port),
  });
}

/** Digests of what each instance has of its own; keyed, so that nobody else learns from them. */
function digestOf({ auth, file }: VenueConfig, mac: (text: string) => string): InstanceDigest {
  const digest = (value: unknown) => mac(stringifyExact(value)).slice(0, DIGEST_CHARS);
  const roots = Object.entries(file.roots).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { tokens: digest(auth.tokens), grants: digest(auth.grants), roots: digest(roots) };
}

/** By which URL peers reach an instance that listens. @param port absent: on a socket */
function advertised({ shared, hostname, listen }: VenueConfig, port: number | undefined): string | undefined {
  if (shared?.advertise !== undefined) return new URL(shared.advertise).origin;
  const isNear = port !== undefined && listensOnLoopback({ hostname, listen });
  return isNear ? localUrl({ hostname }, port) : undefined;
}

/** @throws ConfigError */
export async function engineOf({ postgres }: SharedConfig, env: OpenOptions["env"]): Promise<Engine> {
  const url = urlOf(postgres.url, env);
  try {
    const client = (await import("postgres")).default;
    return { url, schema: postgres.schema, postgres: client, requests: { durations: [], failures: 0 } };
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new ConfigError(
      ["'shared.postgres' needs the package 'postgres'. Install it beside venue-files: npm install postgres@3.4"],
      78,
    );
  }
}

function urlOf(url: SharedConfig["postgres"]["url"], env: OpenOptions["env"]): string {
  const key = "shared.postgres.url";
  if (url.env !== undefined) {
    const value = Object.hasOwn(env, url.env) ? env[url.env] : undefined;
    if (value === undefined) {
      throw new ConfigError([`'${key}.env' names a variable that is not set: ${escapeText(url.env)}`], 78);
    }
    return checkedUrl(value, `${key}.env`);
  }
  const path = url.file ?? "";
  const file = readSecretFile(path, { maxBytes: MAX_URL_BYTES, follow: true });
  if (!("fault" in file)) return checkedUrl(file.text, `${key}.file`);
  throw new ConfigError([`'${key}.file' cannot be read: ${file.fault}: ${escapeText(path)}`], file.exitStatus);
}

/** The text is never shown: it holds a password. */
function checkedUrl(text: string, key: string): string {
  const url = text.trim();
  if (/^postgres(?:ql)?:\/\/\S+$/.test(url)) return url;
  throw new ConfigError([`'${key}' must hold a URL that begins with postgres://`], 78);
}
