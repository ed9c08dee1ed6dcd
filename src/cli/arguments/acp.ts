import type { OwnCalls } from "./arguments.js";
import { single, UsageError, type Values } from "./options.js";

/** `acp`: an agent on the roots, watched. */
export interface AcpCommand extends OwnCalls {
  readonly name: "acp";
  /** Program and arguments. */
  readonly agent: readonly string[];
  /** `undefined`: prompts are lines of standard input. */
  readonly prompt: string | undefined;
  /** What is answered where the agent wants to change something. */
  readonly answer: "ask" | "allow" | "reject";
}

/** @param agent its command line, which is nobody's business but its own @throws UsageError */
export function parseAcp(agent: readonly string[], values: Values, own: OwnCalls): AcpCommand {
  const [first = ""] = agent;
  if (first === "") throw new UsageError("'acp' needs an agent, for example: venue-files acp -- node agent.mjs");
  if (values.has("yes") && values.has("deny-writes")) {
    throw new UsageError("Only one of --yes and --deny-writes may be given");
  }
  const answer = values.has("yes") ? "allow" : values.has("deny-writes") ? "reject" : "ask";
  return { name: "acp", ...own, agent, prompt: single(values, "prompt"), answer };
}
