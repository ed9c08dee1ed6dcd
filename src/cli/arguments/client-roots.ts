// Parses `--client-roots` and `--within`.

import { singleValue, UsageError, type Values } from "./options.js";

/** `--client-roots`. */
export interface ClientRootsChoice {
  /** Folders below which roots of the client are served; at least one. Absent: the client is not asked. */
  readonly within?: readonly string[];
}

/** @throws UsageError for one of the two options without the other */
export function parseClientRoots(values: Values): ClientRootsChoice {
  const within = values.get("within") ?? [];
  if (!values.has("client-roots")) {
    if (within.length > 0) throw new UsageError("--within needs --client-roots, whose folders it bounds");
    return {};
  }
  if (within.length === 0) {
    throw new UsageError("--client-roots needs --within, the folder that they must lie in, for example --within ~/src");
  }
  if (singleValue(values, "profile") !== undefined) {
    throw new UsageError("--client-roots does not go with --profile, whose tools work on one root of yours");
  }
  return { within };
}
