// Converts job results into MCP tool results (content, structuredContent, _meta).

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { ContentBytes } from "../../core/content-bytes.js";
import { errorCodeOf } from "../../core/errors/error-output.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import type { OperationMetadata, Rendering } from "../../core/ports/adapter.js";
import { stringifyExact } from "../../schema/exact-json.js";
import { failureContent } from "./failure.js";

const RESULT = "venue-files/result";
const ERROR = "venue-files/error";
const JOB = "venue-files/job";

/** Image types that MCP clients display; other bodies become embedded resources. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * A successful tool result. Many clients pass a model only one of `content` and `structuredContent`, so nothing is
 * split between them: rendered bodies appear only in `content`, once; small answers appear whole in both.
 */
export function answer(
  tool: OperationMetadata,
  output: unknown,
  call: { input: unknown; jobId: string },
): CallToolResult {
  const job = { [JOB]: call.jobId };
  const errorCode = errorCodeOf(output);
  if (errorCode !== undefined) {
    const errorText = tool.renderError?.(output) ?? JSON.stringify(output);
    return { isError: true, content: [text(errorText)], _meta: { [ERROR]: { errorCode }, ...job } };
  }
  if (tool.render === undefined) {
    const structuredContent = output as Record<string, unknown>;
    return { content: [text(JSON.stringify(output))], structuredContent, _meta: job };
  }
  const rendering = tool.render(output, call.input);
  // Some hosts refuse an empty text, and a model would not know what it means: the note stands alone then.
  const isEmpty = rendering.kind === "text" && rendering.text === "" && tool.isVerbatim !== true;
  const content = isEmpty ? [] : [body(rendering)];
  if (rendering.kind === "json" && rendering.image !== undefined) {
    content.push({ type: "image", data: rendering.image.base64, mimeType: rendering.image.mime });
  }
  const note = rendering.note ?? (isEmpty ? "Nothing" : undefined);
  if (note !== undefined) content.push(text(note));
  return {
    content,
    _meta: { ...(Object.keys(rendering.rest).length > 0 ? { [RESULT]: rendering.rest } : {}), ...job },
  };
}

/**
 * A failed tool call. Without `structuredContent`: official clients validate it against the output schema even here.
 */
export function failure(error: FileAdapterError, tool: OperationMetadata, jobId: string): CallToolResult {
  return {
    isError: true,
    content: failureContent(error, tool),
    _meta: { [ERROR]: { errorCode: error.code, errorData: error.data }, [JOB]: jobId },
  };
}

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
