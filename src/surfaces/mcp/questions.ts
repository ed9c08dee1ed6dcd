// Asks the user of a client about a call that waits for a person: one form with what the call would do, and one boolean.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { ClientQuestion, Effect, EffectState } from "../../core/ports/effect.js";
import type { ToolRequest } from "./tool-calls.js";

/** Name of the form among what is asked, and of its field. */
const FORM = "approval";
const FIELD = "allow";
const MAX_DIFF_CHARS = 4000;
/** How long a user has on a connection that waits for the answer. */
export const ANSWER_MS = 300_000;

type Capabilities = { readonly elicitation?: unknown } | undefined;

/** Whether a client shows forms to its user. Without a mode it shows forms, as before there were modes. */
export function canAsk(context: ServerContext, connection: Capabilities): boolean {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
  const declared = (envelope[CLIENT_CAPABILITIES_META_KEY] ?? connection) as Capabilities;
  const { elicitation } = declared ?? {};
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}

/** The answer that a call brings to a question of before. */
export function answerIn({ mcpReq }: ServerContext): ToolRequest["answered"] {
  const token = mcpReq.requestState();
  if (typeof token !== "string") return undefined;
  const response = inputResponse(mcpReq.inputResponses, FORM);
  if (response.kind !== "elicit" || response.action === "cancel") return { token, answer: "dismissed" };
  const isAllowed = response.action === "accept" && response.content?.[FIELD] === true;
  return { token, answer: isAllowed ? "allowed" : "denied" };
}

export const createQuestion = (question: ClientQuestion): InputRequiredResult =>
  inputRequired({
    requestState: question.token,
    inputRequests: {
      [FORM]: inputRequired.elicit({
        message: messageOf(question),
        requestedSchema: {
          type: "object",
          properties: { [FIELD]: { type: "boolean", title: "Allow this once", default: false } },
          required: [FIELD],
        },
      }),
    },
  });

function messageOf({ operation, effects, more, diff }: ClientQuestion): string {
  const others = more === undefined ? [] : [`- and ${more} more, which are not shown`];
  const lines = [`Allow ${operation} once?`, ...effects.map(lineOf), ...others];
  if (diff === undefined) return lines.join("\n");
  const isCut = diff.length > MAX_DIFF_CHARS;
  const shown = diff.slice(0, MAX_DIFF_CHARS).split("\n").map(escapeText).join("\n");
  return [...lines, "", isCut ? `${shown}\n... ${diff.length - MAX_DIFF_CHARS} more characters` : shown].join("\n");
}

function lineOf({ root, path, real, action, to, toReal, command, before, after }: Effect): string {
  const place = (one: string, led = one): string =>
    led === one ? `"${escapeText(one)}"` : `"${escapeText(one)}" (leads to "${escapeText(led)}")`;
  const target = to === undefined ? "" : ` to ${place(to, toReal)}`;
  const states = [...(before === undefined ? [] : [`now ${sizeOf(before)}`]), ...sizeAfter(after)];
  const facts = states.length === 0 ? "" : ` (${states.join(", ")})`;
  if (command !== undefined) return `- run, with root '${escapeText(root)}' to change: ${escapeText(command)}`;
  return `- ${action} ${place(path, real)}${target} in root '${escapeText(root)}'${facts}`;
}

const sizeAfter = (after: EffectState | undefined): readonly string[] =>
  after?.size === undefined ? [] : [`then ${sizeOf(after)}`];

function sizeOf({ type, size, entries, names = [] }: EffectState): string {
  const shown = names.map((name) => `"${escapeText(name)}"`).join(", ");
  const first = shown === "" ? "" : `: ${shown}${names.length < (entries ?? 0) ? ", …" : ""}`;
  const parts = [entries === undefined ? type : `${type} of ${counted(entries, "entry", "entries")}${first}`];
  return [...parts, ...(size === undefined ? [] : [`${size} bytes`])].join(", ");
}
