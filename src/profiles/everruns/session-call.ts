// One tool call in a session: its arguments, and the terms of its operations.

import type { CallTerms } from "../../core/call/terms.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { BoundRoot } from "../profile.js";
import type { ReadonlyFiles } from "./readonly-files.js";
import type { SessionPaths } from "./session-path.js";

/** Shared by the tools of one instance. */
export interface Session {
  readonly paths: SessionPaths;
  readonly files: ReadonlyFiles;
  monotonicMs(): number;
}

/** One tool call in a session. */
export interface SessionCall extends Session {
  readonly root: BoundRoot;
}

export const on = (root: BoundRoot, session: Session): SessionCall => ({ ...session, root });

/** Terms of an operation that changes nothing. */
export const LOOKING: { readonly terms: CallTerms } = { terms: { details: true, isUtf8: true } };
/** Terms of an operation that changes something. */
export const changeOptions = ({ files }: Session): { readonly terms: CallTerms } =>
  files.isEmpty ? LOOKING : { terms: { ...LOOKING.terms, ...files.terms } };

/** Content hash in a result; `undefined` if the caller may not know it. */
export const hashIn = (output: object): string | undefined => {
  const { hash }: { hash?: unknown } = output;
  return typeof hash === "string" ? hash : undefined;
};

export const textIn = (args: JsonObject, field: string): string => String(args[field] ?? "");

/** A number that the tool's schema has checked. */
export const numberIn = (args: JsonObject, field: string, otherwise: number): number =>
  Number(args[field] ?? otherwise);

/** Session path of a call; the session's root if the path is absent. */
export const pathIn = (args: JsonObject, { paths }: Session): string => paths.parse(textIn(args, "path"));

export const contentIn = (args: JsonObject): { readonly content: string } | { readonly bytes: string } =>
  args["encoding"] === "base64" ? { bytes: textIn(args, "content") } : { content: textIn(args, "content") };
