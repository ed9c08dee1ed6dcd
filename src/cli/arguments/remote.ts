// The options that say where a command runs: a configuration, bare folders, or the URL of a venue.

import type { ListenerOverride } from "../../config/parse-venue.js";
import type { HostRootInput } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { UsageError } from "./options.js";
import type { RootGuards } from "./root.js";

/** A venue that runs elsewhere. */
export interface RemoteVenue {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  /** A file, or `env:NAME`; `undefined`: call as anybody. */
  readonly token: string | undefined;
  /** Files with UCANs that go with each call. */
  readonly proofs: readonly string[];
}

/** A caller other than the operator. Keys and tokens are references: a name, a path, or `env:NAME`. */
export interface CallerSource {
  readonly key: string;
  readonly proofs: readonly string[];
}

/** Whom a command calls, and as whom. */
export interface Reach {
  /** `undefined`: a venue in this process. */
  readonly remote?: RemoteVenue | undefined;
  /** Only in this process; `undefined`: the operator. */
  readonly caller: CallerSource | undefined;
}

/** Options that tell it. */
export interface ReachOptions {
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly key: string | undefined;
  readonly proofs: readonly string[];
  /** Options given that only make sense for a venue in this process. */
  readonly local: readonly string[];
}

/** @throws UsageError for options that do not fit each other */
export function reachOf({ url, token, key, proofs, local }: ReachOptions): Reach {
  if (url === undefined) {
    if (token !== undefined) throw new UsageError("--token needs --url, for example --url http://localhost:8080");
    if (key !== undefined) return { caller: { key, proofs } };
    if (proofs.length === 0) return { caller: undefined };
    throw new UsageError("--proof needs --key: without it the caller is the operator, who needs no proof");
  }
  if (key !== undefined) {
    const advice = "make one with: venue-files token identity --to DID --key KEY --out FILE";
    throw new UsageError(`--url takes --token in place of --key; ${advice}`);
  }
  if (local[0] !== undefined) {
    throw new UsageError(`--url asks a venue that has its own configuration: no --${local[0]}`);
  }
  return { caller: undefined, remote: { url: parseBaseUrl(url), token, proofs } };
}

/** @throws UsageError */
function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url !== undefined && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, "");
  // The text is not repeated: it may hold a password.
  throw new UsageError(
    `--url takes the address of a venue without credentials, for example ${escapeText("--url http://localhost:8080")}`,
  );
}

/** Source of the configuration. */
export interface ConfigSource {
  readonly file: string | undefined;
  /** Values of `--root`. */
  readonly roots: readonly string[];
  /** Bare folders of `mcp`. */
  readonly folders?: readonly string[];
  /** Roots that the client of `mcp` has named, checked. */
  readonly clientRoots?: Readonly<Record<string, HostRootInput>>;
  /** Bare folders do not protect `@git`. */
  readonly noProtect?: boolean;
  readonly guards?: RootGuards;
  /** `--host` and `--port`; `undefined`: as configured. */
  readonly listener?: ListenerOverride | undefined;
}

/** Whether a configuration or the command line names what is served; else that is one temp root. */
export const namesRoots = ({ file, roots, folders }: ConfigSource): boolean =>
  file !== undefined || roots.length > 0 || folders !== undefined;

/** Common options of `mcp`, `call`, `acp` and the file commands. */
export interface OwnCalls extends Reach {
  readonly source: ConfigSource;
  readonly capsFile: string | undefined;
}
