// The options that choose the tools of `mcp`.

import { singleValue, UsageError, type Values } from "./options.js";

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
