// Recognises look-ups of pages like this one, which would crowd out what agents do.

import type { AuditRecord } from "../api/operations.js";

/** Operations that change nothing and give nobody anything. */
const LOOKS = new Set([
  ...["roots", "list", "tree", "read", "readMany", "stat", "hash", "glob", "grep", "du"].map((name) => `file:${name}`),
  ...["history", "trash", "watch", "download"].map((name) => `file:${name}`),
  ...["auth:whoami", "auth:list", "approval:list", "approval:get", "audit:query", "lock:list"],
]);

export interface Viewer {
  readonly did: string;
  /** Id of the session or access token that the page has. */
  readonly via?: string | undefined;
}

/** Ids of access tokens and sessions; others stand for processes and connections. */
export const IS_TOKEN = /^[0-9a-f]{32}$/;

/**
 * Whether a call is a look-up of a page: by a session, which people sign in with, or with the token that was pasted here.
 * A failure is always shown, except that an address turned out to be that of a folder, which the page then opens.
 */
export function isLookOfPage(
  { operation, outcome, caller, via = "" }: Pick<AuditRecord, "operation" | "outcome" | "caller" | "via">,
  me: Viewer | undefined,
  isSession: (via: string) => boolean,
): boolean {
  if (!["OK", "IS_A_DIRECTORY"].includes(outcome) || !LOOKS.has(operation)) return false;
  if (isSession(via) || (me?.via !== undefined && via === me.via)) return true;
  return me !== undefined && me.via === undefined && caller === me.did && !IS_TOKEN.test(via);
}
