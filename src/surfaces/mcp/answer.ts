// Converts job results into MCP tool results (content, structuredContent, _meta). Long texts come here already cut:
// operations cut them as they render them (`ops/content/cut-to-budget.ts`).

import type { ContentBytes } from "../../core/content-bytes.js";
import { errorCodeOf, type FileAdapterError } from "../../core/errors/errors.js";
import type { JsonObject, OperationMetadata, Rendering } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { stringifyExact } from "../../schema/exact-json.js";
import { failureContent } from "./failure.js";
import type { ContentBlock, Params, ToolResult } from "./wire.js";

export const RESULT = "venue-files/result";
const ERROR = "venue-files/error";
const JOB = "venue-files/job";
const ROOT = "venue-files/root";

/** Facts about its call in an answer. */
export interface AnsweredCall {
  readonly jobId: string;
  /** The root that the call has left out, and was made in. */
  readonly root?: string | undefined;
}

/** Image types that MCP clients display; other bodies become embedded resources. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * A successful tool result. Many clients pass a model only one of `content` and `structuredContent`, so nothing is
 * split between them: rendered bodies appear only in `content`, once; small answers appear whole in both.
 */
export function answer(
  tool: OperationMetadata,
  output: unknown,
  call: AnsweredCall & { readonly input: unknown },
): ToolResult {
  const errorCode = errorCodeOf(output);
  if (errorCode !== undefined) {
    const errorText = tool.renderError?.(output) ?? JSON.stringify(output);
    return { isError: true, content: [text(errorText)], _meta: metaOf(call, { [ERROR]: { errorCode } }) };
  }
  if (tool.render === undefined) {
    const { json, value } = asJson(output ?? null);
    const structuredContent = isObject(value) && !isWrapped(tool.output) ? value : { result: value };
    return { content: [text(json)], structuredContent, _meta: metaOf(call) };
  }
  const rendering = rendered(tool.render, output, call.input);
  // Some hosts refuse an empty text, and a model would not know what it means: the note stands alone then.
  const isEmpty = rendering.kind === "text" && rendering.text === "" && tool.isVerbatim !== true;
  const content = isEmpty ? [] : [body(rendering)];
  if (rendering.kind === "json" && rendering.blob !== undefined) {
    content.push(body({ kind: "blob", ...rendering.blob, rest: {} }));
  }
  const note = rendering.note ?? (isEmpty ? "Nothing" : undefined);
  if (note !== undefined) content.push(text(note));
  const isMore = Object.keys(rendering.rest).length > 0;
  return { content, _meta: metaOf(call, isMore ? { [RESULT]: rendering.rest } : {}) };
}

/** The call is done: an answer that cannot be rendered is shown as it is. */
function rendered(render: NonNullable<OperationMetadata["render"]>, output: unknown, input: unknown): Rendering {
  try {
    return render(output, input);
  } catch {
    return { kind: "json", value: output, rest: {} };
  }
}

/**
 * A failed tool call. Without `structuredContent`: official clients validate it against the output schema even here.
 */
export function failure(error: FileAdapterError, tool: OperationMetadata, call: AnsweredCall): ToolResult {
  return {
    isError: true,
    content: failureContent(error, tool),
    _meta: metaOf(call, { [ERROR]: { errorCode: error.code, errorData: error.data } }),
  };
}

/** With every digit of large integers in the text, and as doubles beside it: whoever writes the message takes no others. */
function asJson(output: unknown): { readonly json: string; readonly value: unknown } {
  try {
    return { json: JSON.stringify(output), value: output };
  } catch {
    const json = stringifyExact(output);
    return { json, value: JSON.parse(json) };
  }
}

/** The protocol knows objects alone: others are sent as `result`, as official servers do. */
const isWrapped = ({ type }: JsonObject): boolean => typeof type === "string" && type !== "object";

/** The output schema as lists of tools show it. One without a single type may hold for what is wrapped. */
export function outputSchemaOf({ output }: OperationMetadata): JsonObject {
  if (output["type"] === "object") return output;
  return { type: "object", ...(isWrapped(output) ? { properties: { result: {} }, required: ["result"] } : {}) };
}

const metaOf = ({ jobId, root }: AnsweredCall, more: Readonly<Record<string, unknown>> = {}): Params => ({
  ...more,
  [JOB]: jobId,
  ...(root === undefined ? {} : { [ROOT]: root }),
});

const text = (value: string | ContentBytes): ContentBlock => ({ type: "text", text: asString(value) });

/** The protocol's types know strings alone; bytes come only where the writer of the connection takes them. */
const asString = (value: string | ContentBytes): string => value as string;

function body(rendering: Rendering): ContentBlock {
  switch (rendering.kind) {
    case "text":
      return text(rendering.text);
    case "json":
      return text(stringifyExact(rendering.value));
    case "blob":
      return IMAGES.has(rendering.mime)
        ? { type: "image", data: asString(rendering.base64), mimeType: rendering.mime }
        : {
            type: "resource",
            resource: { uri: rendering.uri, mimeType: rendering.mime, blob: asString(rendering.base64) },
          };
  }
}
