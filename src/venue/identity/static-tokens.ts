// Static bearer tokens from the configuration, kept only as SHA-256 hashes.

import { createHash } from "node:crypto";
import { ConfigError, type ConfigExitStatus } from "../../config/errors.js";
import type { StaticTokenConfig } from "../../config/types.js";
import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { readSecretFile } from "../start/state/state-dir.js";
import { canonicalDid, type Identity } from "./identity.js";

const MIN_LENGTH = 32;
const MAX_LENGTH = 8192;
/** token68, the form of credentials after `Bearer` (RFC 9110 §11.2). */
const TOKEN68 = /^[A-Za-z0-9._~+/-]+=*$/;

/** A preconfigured bearer token. Only its hash is kept. */
export interface StaticToken {
  readonly name: string;
  readonly sha256: Buffer;
  /** DID its bearer is authenticated as. */
  readonly did: string;
  readonly caps: readonly Capability[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The venue that accepts the tokens: its DIDs, its operator and the owners of its roots. */
export interface TokenVenue extends Pick<Identity, "did" | "keyDid"> {
  readonly operatorDid: string;
  /** Roots by name; only their owners matter. Absent: no root has an owner of its own. */
  readonly roots?: Readonly<Record<string, { readonly owner?: string }>>;
}

/** DIDs that revoke a static token, whatever its own `did`: `<venue DID>:token:<name>`, for either DID of the venue. */
export const staticTokenDids = ({ did, keyDid }: Pick<Identity, "did" | "keyDid">, name: string): readonly string[] => [
  ...new Set([did, keyDid].map((venue) => `${venue}:token:${name}`)),
];

interface Problem {
  readonly text: string;
  readonly exitStatus: ConfigExitStatus;
}

/**
 * Resolves the static tokens of a config.
 *
 * @param env environment for `token.env`
 * @throws ConfigError with all problems found; 66 when all of them are unreadable files, else 78
 */
export function resolveStaticTokens(
  tokens: readonly StaticTokenConfig[],
  env: Environment,
  venue: TokenVenue,
): readonly StaticToken[] {
  const problems: Problem[] = [];
  const found: (StaticToken & { readonly key: string })[] = [];
  for (const [index, token] of tokens.entries()) {
    const key = `auth.tokens[${index}]`;
    const did = canonicalDid(venue, token.did ?? `${venue.did}:token:${token.name}`);
    const role = roleOf(did, venue);
    if (role !== undefined) {
      problems.push(invalid(`'${key}.did' must not be ${role}: a static token only adds capabilities`));
    }
    const sha256 = hashOf(token, `${key}.token`, env);
    if ("text" in sha256) {
      problems.push(sha256);
      continue;
    }
    const twin = found.find((other) => other.sha256.equals(sha256));
    if (twin !== undefined) problems.push(invalid(`'${twin.key}.token' and '${key}.token' are the same token`));
    found.push({ key, name: token.name, sha256, did, caps: token.caps });
  }
  if (problems.length > 0) throw failure(problems);
  return found.map(({ name, sha256, did, caps }) => ({ name, sha256, did, caps }));
}

/** The role a DID has in the venue besides bearing a token, if any. */
function roleOf(did: string, venue: TokenVenue): string | undefined {
  if (did === canonicalDid(venue, venue.operatorDid)) return "the operator";
  const owned = Object.entries(venue.roots ?? {}).find(
    ([, { owner }]) => owner !== undefined && canonicalDid(venue, owner) === did,
  );
  return owned === undefined ? undefined : `the owner of root '${owned[0]}'`;
}

function failure(problems: readonly Problem[]): ConfigError {
  const onlyUnreadable = problems.every(({ exitStatus }) => exitStatus === 66);
  return new ConfigError(
    problems.map(({ text }) => text),
    onlyUnreadable ? 66 : 78,
  );
}

function hashOf({ token }: StaticTokenConfig, key: string, env: Environment): Buffer | Problem {
  if (token.sha256 !== undefined) {
    const isHash = /^[0-9a-fA-F]{64}$/.test(token.sha256);
    return isHash ? Buffer.from(token.sha256, "hex") : invalid(`'${key}.sha256' must be 64 hex digits`);
  }
  if (token.env !== undefined) return hashOfVariable(token.env, `${key}.env`, env);
  if (token.file !== undefined) return hashOfFile(token.file, `${key}.file`);
  return invalid(`'${key}' must have one of 'env', 'file' and 'sha256'`);
}

function hashOfVariable(name: string, key: string, env: Environment): Buffer | Problem {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined) return invalid(`'${key}' names a variable that is not set: ${escapeText(name)}`);
  return checkedHash(value, key);
}

function hashOfFile(path: string, key: string): Buffer | Problem {
  const file = readSecretFile(path, { maxBytes: MAX_LENGTH + 2, follow: true });
  if (!("fault" in file)) return checkedHash(file.text.replace(/\r?\n$/, ""), key);
  return { text: `'${key}' cannot be read: ${file.fault}: ${escapeText(path)}`, exitStatus: file.exitStatus };
}

/** The hash of a valid token. Errors show neither the token nor the position of the fault. */
function checkedHash(token: string, key: string): Buffer | Problem {
  if (token.length < MIN_LENGTH) return invalid(`'${key}' holds a token of fewer than ${MIN_LENGTH} characters`);
  if (token.length > MAX_LENGTH) return invalid(`'${key}' holds a token of more than ${MAX_LENGTH} characters`);
  if (!TOKEN68.test(token)) {
    return invalid(
      `'${key}' holds a token that cannot be sent: only letters, digits and -._~+/ may be in it, = at its end`,
    );
  }
  return createHash("sha256").update(token).digest();
}

const invalid = (text: string): Problem => ({ text, exitStatus: 78 });
