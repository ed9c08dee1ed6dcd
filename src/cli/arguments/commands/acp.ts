// The command line of `acp`.

import { singleValue, UsageError, type Values } from "../options.js";
import type { OwnCalls } from "../remote.js";

/** `acp`: runs an agent on the roots, and shows and confirms what it does. */
export interface AcpCommand extends OwnCalls {
  readonly name: "acp";
  /** Program and arguments. */
  readonly agent: readonly string[];
  /** `undefined`: prompts are lines of standard input. */
  readonly prompt: string | undefined;
  /** Answer to the agent's requests to change something. */
  readonly answer: "ask" | "allow" | "reject";
  /** Clone the roots before each command, so that everything it changes can be undone. */
  readonly snapshot: boolean;
}

/** @param agent its command line, passed on unparsed @throws UsageError */
export function parseAcp(agent: readonly string[], values: Values, own: OwnCalls): AcpCommand {
  const [first = ""] = agent;
  if (first === "") throw new UsageError("'acp' needs an agent, for example: venue-files acp -- node agent.mjs");
  if (values.has("yes") && values.has("deny-writes")) {
    throw new UsageError("Only one of --yes and --deny-writes may be given");
  }
  const answer = values.has("yes") ? "allow" : values.has("deny-writes") ? "reject" : "ask";
  return {
    name: "acp",
    ...own,
    agent,
    prompt: singleValue(values, "prompt"),
    answer,
    snapshot: values.has("snapshot"),
  };
}
