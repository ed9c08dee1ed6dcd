// Asks the user of a client about a call that waits for a person: one form with what the call would do, and one boolean.

import type { Abortable } from "../../core/call/scope.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { ClientQuestion, Effect, EffectState } from "../../core/ports/effect.js";
import { fieldsOf, isObject } from "../../core/unknown.js";
import type { ProgressNotes } from "./progress.js";
import type { Era } from "./revisions.js";
import { runTool, type Served, type ToolRequest } from "./tool-calls.js";
import { INVALID_PARAMS, type Params, RequestFault, type ToolResult } from "./wire.js";

/** Name of the form among what is asked, and of its field. */
const FORM = "approval";
const FIELD = "allow";
const MAX_DIFF_CHARS = 4000;
/** How often a user is asked about one call on a connection that waits for the answer. */
const MAX_ROUNDS = 8;
const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** Shows a form to the user of a client. @throws why there is no answer */
export type AskUser = (form: object, signal: Abortable) => Promise<unknown>;

/** A client, and whether it can ask its user. */
interface Client {
  readonly era: Era;
  readonly capabilities: unknown;
  readonly ask?: AskUser | undefined;
}

/** Result that asks: the client makes the call again with the answers and the state. */
export interface InputRequired {
  readonly resultType: "input_required";
  readonly requestState: string;
  readonly inputRequests: object;
}

type Answered = NonNullable<ToolRequest["answered"]>;

/**
 * Calls a tool. If the call waits for a person, the user of the client is asked: by the result, or where the protocol has no such
 * results by a request in between, after which the call is made again.
 */
export async function callAsking(
  by: Served,
  call: {
    readonly request: ToolRequest;
    readonly notes: () => ProgressNotes | undefined;
    readonly params: Params;
    readonly client: Client;
  },
): Promise<ToolResult | InputRequired> {
  const { request, notes, params, client } = call;
  let answered = answerIn(params);
  for (let round = 1; ; round += 1) {
    let question: ClientQuestion | undefined;
    const onQuestion = (asked: ClientQuestion): void => {
      question = asked;
    };
    // A person who dismissed the question is not asked again.
    const mayAsk = by.host.asksUsers === true && answered?.answer !== "dismissed" && canAsk(client);
    const progress = notes();
    const result = await runTool(by, { ...request, progress, answered, ...(mayAsk ? { onQuestion } : {}) });
    if (result.isError !== true || question === undefined) return result;
    const { token } = question;
    if (client.ask === undefined) {
      const form = { method: "elicitation/create", params: formOf(question) };
      return { resultType: "input_required", requestState: token, inputRequests: { [FORM]: form } };
    }
    if (round > MAX_ROUNDS) return unanswered(`it still asks after ${MAX_ROUNDS} answers`);
    try {
      answered = answerOf(token, await client.ask(formOf(question), request.signal));
    } catch (error) {
      return unanswered(error instanceof Error ? error.message : String(error));
    }
  }
}

const unanswered = (reason: string): ToolResult => ({
  content: [{ type: "text", text: `Fulfilling input required by 'tools/call' failed: ${reason}` }],
  isError: true,
});

/** Whether a client shows forms to its user. Without a mode it shows forms, as before there were modes. */
function canAsk({ era, capabilities, ask }: Client): boolean {
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined;
  if (!isObject(elicitation) || (era === "legacy" && ask === undefined)) return false;
  return "form" in elicitation || !("url" in elicitation);
}

/** The answer that a call brings to a question of before. @throws RequestFault */
function answerIn({ requestState: token, inputResponses }: Params): Answered | undefined {
  if (token === undefined) return undefined;
  if (typeof token !== "string") {
    const reason = { reason: "invalid_request_state" };
    throw new RequestFault(INVALID_PARAMS, "Invalid or expired requestState", reason);
  }
  const response = fieldsOf(inputResponses)[FORM];
  const isAnswer = ACTIONS.includes(fieldsOf(response)["action"]);
  return isAnswer ? answerOf(token, response) : { token, answer: "dismissed" };
}

/** @throws the answer is none */
function answerOf(token: string, response: unknown): Answered {
  const { action, content } = fieldsOf(response);
  if (!ACTIONS.includes(action)) {
    throw new Error(`Invalid result for elicitation/create: action: expected one of ${ACTIONS.join(", ")}`);
  }
  if (action === "cancel") return { token, answer: "dismissed" };
  return { token, answer: action === "accept" && fieldsOf(content)[FIELD] === true ? "allowed" : "denied" };
}

const formOf = (question: ClientQuestion): object => ({
  message: messageOf(question),
  requestedSchema: {
    type: "object",
    properties: { [FIELD]: { type: "boolean", title: "Allow this once", default: false } },
    required: [FIELD],
  },
  mode: "form",
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
