// The request of a read: its mode, its range and its effective limits.

import { invalidInput } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import type { ReadInput } from "../../schema/types.js";
import { checkEncoding } from "./encoding.js";

/** The input of a read, without the path. */
export type ReadRequest = Omit<ReadInput, "root" | "path">;

export type Mode = "auto" | "text" | "bytes" | "json";
type RangeKind = "lines" | "head" | "tail" | "bytes";

/** Input fields of each kind of range; only one kind may be given. */
const RANGES: Readonly<Record<RangeKind, readonly (keyof ReadRequest)[]>> = {
  lines: ["line", "limit"],
  head: ["head"],
  tail: ["tail"],
  bytes: ["offset", "length"],
};
const KINDS = ["lines", "head", "tail", "bytes"] as const satisfies readonly RangeKind[];

/** One read of one file, with its limits. Sizes are in bytes. */
export interface Reading {
  readonly request: ReadRequest;
  readonly call: FileCall;
  readonly mode: Mode;
  /** The encoding of the file, if given by the call or the root. */
  readonly encoding: string | undefined;
  /** The most that any `maxBytes` gives. */
  readonly ceiling: number;
  /** Maximum size of content that is returned whole or not at all; JSON has {@link mostCut}. */
  readonly mostWhole: number;
  /** Maximum size of content that may be cut. */
  readonly mostCut: number;
  /** Maximum number of lines of content that may be cut. */
  readonly mostLines: number;
  /** The answer may carry the content as bytes. */
  readonly takesBytes: boolean;
}

export function readingOf(request: ReadRequest, call: FileCall): Reading {
  const { budget, limits, root } = call;
  const ceiling = Math.min(budget?.maxBytes ?? limits.maxReadBytes, limits.maxReadBytes);
  const { maxBytes = ceiling, mode } = request;
  const mostWhole = Math.min(maxBytes, ceiling);
  const byDefault = request.maxBytes === undefined ? budget : undefined;
  const isRange = rangeOf(request) !== undefined;
  return {
    request,
    call,
    ceiling,
    mostWhole,
    mode: mode === undefined || mode === "" ? "auto" : mode,
    encoding: request.encoding ?? root.encoding,
    mostCut: Math.min(byDefault?.defaultBytes ?? mostWhole, mostWhole),
    // A range is a window of the file, numbered lines are made here: neither is worth it.
    takesBytes: call.takesBytes && !isRange && request.lineNumbers !== true,
    mostLines: (isRange ? undefined : byDefault?.defaultLines) ?? Number.POSITIVE_INFINITY,
  };
}

/** The kind of range; `undefined`: the whole file. Runs at every read, so it allocates nothing. */
export function rangeOf({ line, limit, head, tail, offset, length }: ReadRequest): RangeKind | undefined {
  if (line !== undefined || limit !== undefined) return "lines";
  if (head !== undefined) return "head";
  if (tail !== undefined) return "tail";
  return offset !== undefined || length !== undefined ? "bytes" : undefined;
}

/** Whether the end of the file alone ends what is read. */
export function isOpenEnded(request: ReadRequest): boolean {
  const range = rangeOf(request);
  if (range === "lines") return request.limit === undefined;
  return range === undefined || (range === "bytes" && request.length === undefined);
}

/** Checks what the schema cannot express. @throws INVALID_INPUT */
export function checkRequest(request: ReadRequest): void {
  const { mode, encoding } = request;
  const range = rangeOf(request);
  if (range !== undefined) checkOneRange(request);
  if (mode === "json" && range !== undefined) {
    throw invalidInput("'mode' must be one of: auto, text, bytes when a range is given", "/mode", "auto, text, bytes");
  }
  if ((mode === "json" || mode === "bytes") && request.lineNumbers === true) {
    throw invalidInput("'mode' must be one of: auto, text with lineNumbers", "/mode", "auto, text");
  }
  if (encoding === undefined) return;
  if (mode === "bytes") throw invalidInput("'encoding' is not for mode: bytes", "/encoding", "no encoding");
  checkEncoding(encoding);
}

function checkOneRange(request: ReadRequest): void {
  const [, second] = KINDS.filter((kind) => RANGES[kind].some((field) => request[field] !== undefined));
  if (second === undefined) return;
  const field = RANGES[second].find((one) => request[one] !== undefined);
  const expected = "one of line+limit, head, tail, offset+length";
  throw invalidInput(`Only ${expected} may be given`, `/${field}`, expected);
}
