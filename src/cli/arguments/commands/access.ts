// The command lines of links, access tokens, approvals and locks.

import type { Capability } from "../../../core/call/capability.js";
import { type Line, refuseArguments } from "../line.js";
import { checkArgument, singleValue, UsageError } from "../options.js";
import { type RemoteVenue, reachOf } from "../remote.js";
import { pairCapabilities, parseLifetime } from "./grant.js";

/** Which running venue is asked. */
export interface RunningTarget {
  /** `undefined`: the one that runs with this state directory. */
  readonly remote: RemoteVenue | undefined;
  readonly config: string | undefined;
}

interface Wanted {
  readonly label: string | undefined;
  readonly capabilities: readonly Capability[];
  /** A file with a list of capabilities. */
  readonly capsFile: string | undefined;
  readonly lifetimeSeconds: number | undefined;
}

/** A parsed command on access to a running venue. */
export type AccessCommand = { readonly target: RunningTarget; readonly json: boolean } & (
  | ({ readonly name: "link" } & Wanted)
  | ({ readonly name: "token issue" } & Wanted)
  | { readonly name: "token ls" }
  | { readonly name: "token revoke"; readonly ids: readonly string[]; readonly keep: boolean }
  | { readonly name: "approvals" }
  | { readonly name: "lock ls" }
  | { readonly name: "lock drop"; readonly ids: readonly string[] }
);

/** @throws UsageError */
export function parseAccess(name: AccessCommand["name"], line: Line): AccessCommand {
  const { values } = line;
  const common = { target: targetOf(line), json: values.has("json") };
  if (name === "token revoke") {
    const ids = line.rest.map(checkArgument);
    if (ids.length === 0) throw new UsageError("'token revoke' needs the id of a token. See: venue-files token ls");
    return { name, ids, keep: values.has("keep"), ...common };
  }
  if (name === "lock drop") {
    const ids = line.rest.map(checkArgument);
    if (ids.length === 0) throw new UsageError("'lock drop' needs the id of a lock. See: venue-files lock ls");
    return { name, ids, ...common };
  }
  refuseArguments(line, name);
  if (name === "token ls" || name === "approvals" || name === "lock ls") return { name, ...common };
  const wanted = wantedOf(line);
  if (name === "token issue" && wanted.capabilities.length === 0 && wanted.capsFile === undefined) {
    throw new UsageError(
      "'token issue' needs what the token may do: --with file://docs/ --can crud/read, or --caps FILE",
    );
  }
  return { name, ...wanted, ...common };
}

function targetOf({ values }: Line): RunningTarget {
  const config = singleValue(values, "config");
  const [url, token] = [singleValue(values, "url"), singleValue(values, "token")];
  const local = config === undefined ? [] : ["config"];
  const { remote } = reachOf({ url, token, key: undefined, proofs: [], local });
  return { remote, config };
}

function wantedOf(line: Line): Wanted {
  const { values } = line;
  const capabilities = pairCapabilities(line);
  const capsFile = singleValue(values, "caps");
  if (capabilities.length > 0 && capsFile !== undefined) {
    throw new UsageError("--caps takes the place of --with and --can");
  }
  return { label: singleValue(values, "label"), capabilities, capsFile, lifetimeSeconds: parseLifetime(values) };
}
