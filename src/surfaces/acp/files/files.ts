// File access of a session through the file adapter: reading, hashing, conditional writes, and creation of parents.

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { Ability } from "../../../core/call/capability.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import { hashText } from "../../../core/etag.js";
import type { Exec, OperationMetadata, SurfaceContext } from "../../../core/ports/adapter.js";
import type { ChangeRecord } from "../../../core/ports/changes/change.js";
import type { ClientApproval } from "../../../core/ports/effect.js";
import { fieldsOf } from "../../../core/unknown.js";
import type { FileOutputs, ReadInput, ReadOutput, RootsOutput, WriteInput } from "../../../schema/types.js";

/** The part of the file adapter that this surface uses; `createFileAdapter` returns all of it. */
export interface AcpAdapter {
  /** @throws FileAdapterError on every failure */
  invoke(operation: string, input: unknown, context?: SurfaceContext): Promise<unknown>;
  /** The rights of the caller. Absent: missing rights show only when an operation is refused. */
  rights?(
    operation: string,
    context: SurfaceContext,
  ): { allows(segments: readonly string[], ability: Ability | "exec/run"): boolean };
  /** Absent: there are no terminals. */
  readonly exec?: Exec;
  /** Absent: agents get no tools. */
  readonly operations?: readonly OperationMetadata[];
}

/** A file, by root and path. */
export interface FilePlace {
  readonly root: string;
  readonly path: string;
}

/** Content of a file. `hash` is in the form that `ifMatch` takes. */
export type Content =
  | { readonly kind: "text"; readonly text: string; readonly hash: string; readonly size: number }
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly hash: string; readonly size: number }
  /** Too large to keep in memory. */
  | { readonly kind: "large"; readonly hash: string; readonly size: number }
  | { readonly kind: "missing" }
  /** The caller may write the file but not read it. */
  | { readonly kind: "unseen" };

/** The expected state before a change: no file, unknown content, or content with a hash. */
export type Expected =
  | { readonly kind: "missing" }
  | { readonly kind: "unseen" }
  | { readonly kind: "text" | "bytes" | "large"; readonly hash: string };

export const codeOf = (error: unknown): FileAdapterError["code"] | undefined =>
  error instanceof FileAdapterError ? error.code : undefined;

/** Hash of the text encoded as UTF-8. */
export const hashOfText = (text: string): string => hashOfBytes(Buffer.from(text, "utf8"));

const hashOfBytes = (bytes: Buffer): string => hashText(createHash("sha256").update(bytes).digest("hex"));

/** The calls of one session; each carries the session's reachable directories. */
export interface FileCalls {
  readonly adapter: AcpAdapter;
  /** @param signal cancels the call; absent: it cannot be cancelled */
  context(signal?: AbortSignal): SurfaceContext;
}

/** Calls that the user of the client has allowed, each as it was shown. */
export const allowedCalls = ({ adapter, context }: FileCalls): FileCalls => ({
  adapter,
  context: (signal) => ({ ...context(signal), client: ALLOWED }),
});

/** For roots that ask a person: the user of the client has decided. */
export const ALLOWED: ClientApproval = { isLocal: true, hasAllowed: true };

/** Runs an operation. @throws FileAdapterError */
export const invoke = async <Name extends keyof FileOutputs>(
  adapter: AcpAdapter,
  operation: Name,
  input: object,
  context: SurfaceContext,
): Promise<FileOutputs[Name]> => (await adapter.invoke(operation, input, context)) as FileOutputs[Name];

/** Hash of a file; `undefined` if nothing is there. @throws FileAdapterError, also if it is not a file */
export async function hashAt(
  { adapter, context }: FileCalls,
  { root, path }: FilePlace,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { exists, hash } = await invoke(adapter, "file:stat", { root, path, hash: true }, context(signal));
  if (!exists) return undefined;
  return hash ?? (await invoke(adapter, "file:hash", { root, path }, context(signal))).hash;
}

/**
 * Type of the entry at a path; `missing` if there is none, `unseen` if the caller may not know.
 * @throws FileAdapterError, also if a symlink leads out
 */
export async function typeAt(
  { adapter, context }: FileCalls,
  { root, path }: FilePlace,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { exists, type = "other" } = await invoke(adapter, "file:stat", { root, path }, context(signal));
    return exists ? type : "missing";
  } catch (error) {
    if (codeOf(error) === "CAPABILITY_DENIED" && !isByPath(error)) return "unseen";
    throw error;
  }
}

/** The path in its root with symlinks resolved, or the path itself if that is not known. Never rejects. */
export async function realPathAt(
  { adapter, context }: FileCalls,
  { root, path }: FilePlace,
  signal?: AbortSignal,
): Promise<string> {
  let real = path;
  const leadsTo = (segments: readonly string[]): void => {
    real = segments.join("/");
  };
  try {
    await adapter.invoke("file:stat", { root, path }, { ...context(signal), terms: { leadsTo } });
  } catch {
    // The operation that needs this path gets the same error.
  }
  return real;
}

/** Content of a file before it is changed. @throws FileAdapterError */
export async function contentAt(
  { adapter, context }: FileCalls,
  { root, path }: FilePlace,
  signal?: AbortSignal,
): Promise<Content> {
  try {
    const input: ReadInput = { root, path, mode: "auto", encoding: "utf-8" };
    return contentOf(await invoke(adapter, "file:read", input, context(signal)));
  } catch (error) {
    switch (codeOf(error)) {
      case "NOT_FOUND":
        return { kind: "missing" };
      case "TOO_LARGE": {
        const { hash, size } = await invoke(adapter, "file:hash", { root, path }, context(signal));
        return { kind: "large", hash, size };
      }
      case "CAPABILITY_DENIED":
        if (!isByPath(error)) return { kind: "unseen" };
    }
    throw error;
  }
}

function contentOf({ content = "", encoding }: ReadOutput): Content {
  if (encoding !== "base64") {
    const bytes = Buffer.from(content, "utf8");
    return { kind: "text", text: content, hash: hashOfBytes(bytes), size: bytes.length };
  }
  const bytes = Buffer.from(content, "base64");
  const known = { hash: hashOfBytes(bytes), size: bytes.length };
  return isUtf8(bytes) ? { kind: "text", text: bytes.toString("utf8"), ...known } : { kind: "bytes", bytes, ...known };
}

/** Whether access was denied because a symlink leads out of the session's directories. */
export function isByPath(error: unknown): boolean {
  if (!(error instanceof FileAdapterError) || error.code !== "CAPABILITY_DENIED") return false;
  const { denied_by: by } = error.data;
  return Array.isArray(by) && by.includes("path_policy");
}

/** Precondition under which a change overwrites nobody else's. */
function precondition(content: Expected): { readonly ifMatch?: string; readonly ifNoneMatch?: "*" } {
  if (content.kind === "unseen") return {};
  return content.kind === "missing" ? { ifNoneMatch: "*" } : { ifMatch: content.hash };
}

/** Changes of a call. */
export interface Done {
  readonly output: Readonly<Record<string, unknown>>;
  readonly changes: readonly ChangeRecord[];
  /** Directories made on the way, outermost first. */
  readonly directories: readonly string[];
  /** Entry of the journal that takes it back, of a group the group. Absent: no journal does. */
  readonly entry: string | undefined;
}

/** Runs a call that changes something. @throws FileAdapterError */
export async function changeBy(
  { adapter }: FileCalls,
  context: SurfaceContext,
  [operation, input]: readonly [string, object],
): Promise<Done> {
  const changes: ChangeRecord[] = [];
  const onChange = (change: ChangeRecord): void => void changes.push(change);
  const output = fieldsOf(await adapter.invoke(operation, input, { ...context, onChange }));
  const [first] = changes;
  return {
    ...{ output, changes },
    directories: (first?.made ?? []).map((one) => one.join("/")),
    entry: changes.some(({ isLost }) => isLost) ? undefined : (first?.group ?? first?.id),
  };
}

/** Writes content if the file is still as `expected`. @throws CONFLICT and other FileAdapterErrors */
export function putContent(
  calls: FileCalls,
  { root, path }: FilePlace,
  { content, expected, signal }: { content: string | Buffer; expected: Expected; signal?: AbortSignal | undefined },
): Promise<Done> {
  const body = typeof content === "string" ? { content } : { bytes: content.toString("base64") };
  const input: WriteInput = { root, path, ...body, parents: true, ...precondition(expected) };
  return changeBy(calls, { ...calls.context(signal), terms: { isUtf8: true } }, ["file:write", input]);
}

/** Removes the directories created for a file as long as they are empty. Never rejects. @param made outermost first */
export async function removeParents(
  { adapter, context }: FileCalls,
  root: string,
  made: readonly string[],
): Promise<void> {
  try {
    for (const path of made.toReversed()) await adapter.invoke("file:delete", { root, path }, context());
  } catch {
    // The directory is in use or may not be removed, so those above it are not empty either.
  }
}

export async function rootsOf(adapter: AcpAdapter, context: SurfaceContext): Promise<RootsOutput["roots"]> {
  return (await invoke(adapter, "file:roots", {}, context)).roots;
}
