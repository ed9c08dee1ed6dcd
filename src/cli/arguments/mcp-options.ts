// The options of `mcp`: `--client-roots`, `--within`, and which tools it offers.

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

/** Which tools `mcp` offers. */
export interface ToolChoice {
  /** `undefined`: as configured. */
  readonly tools: "default" | "full" | undefined;
  /** Offer only the tools of this profile. */
  readonly profile: string | undefined;
}

/** @throws UsageError */
export function parseToolChoice(values: Values): ToolChoice {
  const [tools, profile] = [singleValue(values, "tools"), singleValue(values, "profile")];
  if (tools !== undefined && profile !== undefined) throw new UsageError("--profile has tools of its own: no --tools");
  if (tools === undefined || tools === "default" || tools === "full") return { tools, profile };
  throw new UsageError("--tools must be default or full");
}
