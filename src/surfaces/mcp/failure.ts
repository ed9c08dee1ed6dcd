// Failed tool calls. Many hosts show models nothing but `content`, so whatever helps stands there.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { worded } from "../../core/errors/wording.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import { fieldsOf } from "../../core/unknown.js";
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
  const said = fitTokens(worded(error, toolNames(tool)), MAX_TOKENS, code);
  const help = helpOf(error, said);
  return [text(said), ...(help === "" ? [] : [text(help)])];
}

const text = (value: string): ContentBlock => ({ type: "text", text: value });

/** Tools of one adapter share the beginning of their names. */
function toolNames({ name, toolName }: OperationMetadata) {
  const own = name.slice(name.indexOf(":") + 1);
  const start = toolName.endsWith(own) ? toolName.slice(0, -own.length) : "file_";
  return (one: string) => (one.startsWith("file:") ? start + one.slice(5) : undefined);
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

const WORD_CHARS = 12;
/** Shortest form of a path or another word that is cut in its middle. */
const SHORTEST_CHARS = 16;

/** Texts are not looked at further: nothing longer would fit. */
const MAX_CHARS = 2000;

const RUNS = /[A-Za-z0-9]+|[!-/:-@[-`{-~]+|[^!-~]/gu;

/** An estimate of the tokens of a text; it errs on the long side for hashes and rare scripts. */
function estimateTokens(text: string): number {
  let tokens = 0;
  for (const word of text.split(/\s+/)) {
    // A space before digits takes a token of its own.
    if (/^[0-9]/.test(word)) tokens++;
    for (const [run] of word.matchAll(RUNS)) tokens += costOf(run);
  }
  return tokens;
}

function costOf(run: string): number {
  const { length } = run;
  if (run.charCodeAt(0) > 0x7e) return Buffer.byteLength(run);
  if (/^[0-9]+$/.test(run)) return Math.ceil(length / 3);
  if (/^[A-Za-z]+$/.test(run)) return length > WORD_CHARS ? 0.8 * length : Math.max(1, length / 6);
  // Letters mixed with digits are hashes more often than words.
  if (/[A-Za-z0-9]/.test(run)) return 0.8 * length;
  return 0.3 + 0.5 * length;
}

/**
 * Shortens a text so that it takes at most about `most` tokens with `ending`, which stays whole: first the longest words
 * (paths and names) in their middle, then the end.
 */
function fitTokens(text: string, most: number, ending: string): string {
  const room = most - estimateTokens(ending);
  const words = text.slice(0, MAX_CHARS).toWellFormed().split(" ");
  while (estimateTokens(words.join(" ")) > room) {
    const sizes = words.map((word) => [...word].length);
    const size = Math.max(...sizes);
    if (size <= SHORTEST_CHARS) return `${cutTo(words.join(" "), room)}${ending}`;
    const at = sizes.indexOf(size);
    words[at] = shorten(words[at] ?? "");
  }
  return `${words.join(" ")}${ending}`;
}

/** Takes a third out of the middle of a word, at least down to the shortest form. */
function shorten(word: string): string {
  const points = [...word.replace("…", "")];
  const kept = Math.max(SHORTEST_CHARS - 2, Math.floor((points.length * 2) / 3));
  const head = Math.floor(kept / 2);
  return `${points.slice(0, head).join("")}…${points.slice(head - kept).join("")}`;
}

function cutTo(text: string, room: number): string {
  const points = [...text];
  let end = points.length;
  while (end > 0 && estimateTokens(`${points.slice(0, end).join("")}…`) > room) end -= 8;
  return `${points.slice(0, Math.max(0, end)).join("")}…`;
}
