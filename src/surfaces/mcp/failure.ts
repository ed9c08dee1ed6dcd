// Failed tool calls. Many hosts show models nothing but `content`, so whatever helps stands there.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { PLAIN_WORDING, phrase, type Wording } from "../../core/errors/wording.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import { fieldsOf } from "../../core/unknown.js";
import { fitTokens } from "./token-estimate.js";
import type { ContentBlock } from "./wire.js";

const MAX_TOKENS = 75;
const MAX_NEAREST_CHARS = 600;

/**
 * The content of a failed call: the text and the code, then what helps to mend the call. The tools of a profile answer
 * as the system they imitate, with the text alone.
 */
export function failureContent(error: FileAdapterError, tool: OperationMetadata): ContentBlock[] {
  if (tool.isVerbatim === true) return [text(error.message)];
  const code = ` [${error.code}]`;
  const said = fitTokens(phrase(error.sentence, wordingOf(tool)), MAX_TOKENS, code);
  const help = helpOf(error, said);
  return [text(said), ...(help === "" ? [] : [text(help)])];
}

const text = (value: string): ContentBlock => ({ type: "text", text: value });

/** Tools of one adapter share the beginning of their names. */
function wordingOf({ name, toolName }: OperationMetadata): Wording {
  const own = name.slice(name.indexOf(":") + 1);
  const start = toolName.endsWith(own) ? toolName.slice(0, -own.length) : "file_";
  return { ...PLAIN_WORDING, tool: (one) => `${start}${one}` };
}

/** @param said holds the hint already in some errors */
function helpOf({ code, data }: FileAdapterError, said: string): string {
  const { hint, nearest, current } = data;
  return [
    ...(code === "NO_MATCH" ? nearestLines(nearest) : []),
    ...(code === "CONFLICT" ? currentLines(current) : []),
    ...(typeof hint === "string" && !said.includes(hint) ? [hint] : []),
  ].join("\n");
}

function nearestLines(nearest: unknown): string[] {
  const [best]: unknown[] = Array.isArray(nearest) ? nearest : [];
  const { startLine, endLine, text: found } = fieldsOf(best);
  if (typeof found !== "string") return [];
  return [`Nearest text, lines ${startLine}-${endLine}:`, firstChars(found)];
}

/** Cut between characters. */
function firstChars(found: string): string {
  if (found.length <= MAX_NEAREST_CHARS) return found;
  return found.slice(0, MAX_NEAREST_CHARS).replace(/[\ud800-\udbff]$/, "");
}

function currentLines(current: unknown): string[] {
  if (current === null) return ["Nothing is there now"];
  return typeof current === "string" ? [`Current etag: ${current}`] : [];
}
