// Decides on the requests of an agent: by asking the user, or by the options of the command.

import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import { fieldsOf } from "../../core/unknown.js";
import type { ApprovalAnswer, ApprovalRequest } from "../../surfaces/acp/review/approval.js";
import type { CommandContext } from "../context.js";
import { coloured, plain } from "../output/paint.js";
import type { LineAsker } from "./line-asker.js";
import { requestView } from "./view.js";

/** Decides on an agent's requests, by asking the user or by the command's options. */
export interface Answers {
  approve(request: ApprovalRequest): Promise<ApprovalAnswer>;
  /** Answers a permission request (`session/request_permission`) of the agent. */
  permit(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
}

const ANSWERS: Readonly<Record<string, ApprovalAnswer>> = {
  y: "allow",
  yes: "allow",
  n: "reject",
  no: "reject",
  a: "allow_always",
  always: "allow_always",
  v: "reject_always",
  never: "reject_always",
};
const QUESTION = "Allow it? [y]es, [n]o, [a]lways in this root, ne[v]er in this root: ";

export function createAnswers(
  rule: "ask" | "allow" | "reject",
  { lines, context: { stdout } }: { lines: LineAsker; context: CommandContext },
): Answers {
  const paint = stdout.isTTY === true ? coloured : plain;
  const asksUser = rule === "ask" && lines.canAsk;
  const say = (text: string): void => void stdout.write(text);
  return {
    async approve(request) {
      say(requestView(request, paint));
      if (!asksUser) {
        const isAllowed = rule === "allow";
        say(isAllowed ? "Allowed.\n" : `Not allowed${rule === "ask" ? ": nobody can be asked. See --yes" : ""}.\n`);
        return isAllowed ? "allow" : "reject";
      }
      for (;;) {
        const line = await lines.ask(QUESTION, request.signal);
        if (line === undefined) return "reject";
        const answer = ANSWERS[line.trim().toLowerCase()];
        if (answer !== undefined) return answer;
      }
    },
    async permit(request, signal) {
      const { options } = request;
      // Version 2 has a title for the question.
      const title = fieldsOf(request)["title"] ?? request.toolCall?.title ?? "a tool call";
      say(`\nThe agent asks for permission: ${escapeText(String(title))}\n`);
      const chosen = asksUser ? await choose(options, lines, signal) : narrowestOption(options, rule === "allow");
      if (chosen === undefined) return { outcome: { outcome: "cancelled" } };
      say(`${escapeText(chosen.name)}.\n`);
      return { outcome: { outcome: "selected", optionId: chosen.optionId } };
    },
  };
}

type Options = RequestPermissionRequest["options"];

/** The narrowest option that allows, or rejects. */
function narrowestOption(options: Options, allow: boolean): Options[number] | undefined {
  const kinds = allow ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  return kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined);
}

async function choose(options: Options, lines: LineAsker, signal: AbortSignal): Promise<Options[number] | undefined> {
  const list = options.map(({ name }, index) => `  ${index + 1} ${escapeText(name)}\n`).join("");
  for (;;) {
    const line = await lines.ask(`${list}Which one? `, signal);
    if (line === undefined) return undefined;
    const option = options[Number(line.trim()) - 1];
    if (option !== undefined) return option;
  }
}
