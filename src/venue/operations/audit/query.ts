// audit:query: what was done in this venue, newest first.

import type { AuditCursor, FoundRecord } from "../../../audit/log.js";
import { printResource } from "../../../authz/grant.js";
import { invalidInput, notSupportedHere } from "../../../core/errors/texts.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import { LOOKS } from "../../../core/ports/operation.js";
import { parsePath } from "../../../path/grammar.js";
import { type Binding, seal, unseal } from "../../../search/cursor.js";
import { accessDid } from "../../identity/access-entry.js";
import { actsInFull, callerOf, isAnonymous, isOperator } from "../caller.js";
import type { OperationParts, VenueOperation } from "../operation.js";
import { refusedOperation } from "../refusal.js";
import { didOfMaker } from "../tokens/issue-rights.js";

interface QueryInput {
  readonly actor?: string;
  readonly operation?: string;
  readonly root?: string;
  /** Name of a drive, in place of `root`. */
  readonly drive?: string;
  readonly path?: string;
  readonly outcome?: string;
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly cursor?: string;
  readonly limit?: number;
}

interface QueryOutput {
  readonly records: readonly FoundRecord[];
  readonly complete: boolean;
  readonly reason?: "limit" | "timeout";
  readonly nextCursor?: string;
}

const NAME = "audit:query";
const DEFAULT_LIMIT = 100;
const CURSOR = /^([0-9a-f]{32}) (\d{1,15})$/;

/** Lists records of calls. The operator sees all; others their own, and those of access tokens that they made. */
export const auditQuery: VenueOperation<QueryInput> = {
  name: NAME,
  annotations: LOOKS,
  async run(input, { context, venue, signal }): Promise<QueryOutput> {
    const { actor, operation, outcome, since, until, cursor, limit = DEFAULT_LIMIT } = input;
    if (venue.audit === undefined) throw notSupportedHere("reading the audit. Set 'audit.file' to a regular file");
    const callers = callersSeenBy(context, venue);
    const under = resourcesOf(input, venue);
    const binding = bindingOf(input, callerOf(context, venue));
    const after = cursor === undefined ? undefined : parseCursor(binding, cursor);
    const query = { actor, operation, outcome, since, until, under, callers, limit, cursor: after };
    const { records, next, reason, lapsed } = await venue.audit.query(query, signal);
    if (lapsed === true)
      throw invalidCursor("The records after 'cursor' are not kept any more. Begin again without it");
    if (next === undefined) return { records, complete: true };
    const nextCursor = seal(binding, Buffer.from(`${next.file} ${next.offset}`));
    return { records, complete: false, ...(reason === undefined ? {} : { reason }), nextCursor };
  },
};

/** @returns `undefined`: all @throws CAPABILITY_DENIED */
function callersSeenBy(context: SurfaceContext, venue: OperationParts): ReadonlySet<string> | undefined {
  const refuse = (requires: string) => refusedOperation({ operation: NAME, requires });
  if (isAnonymous(context)) throw refuse("an authenticated caller");
  const caller = callerOf(context, venue);
  if (actsInFull(context, venue)) {
    if (isOperator(context, venue)) return undefined;
    const entries = venue.access.accessTokens?.list() ?? [];
    const made = entries.filter(({ entry }) => entry.caps !== undefined && didOfMaker(entry.maker, venue) === caller);
    return new Set([caller, ...made.map(({ entry }) => accessDid(venue.access, entry.id))]);
  }
  // An access token has a DID of its own. Others who are narrowed would see what their DID does elsewhere.
  if (context.authentication === "access-token") return new Set([caller]);
  throw refuse("a caller without narrower capabilities");
}

/**
 * The resources to look for, under each of their names: a drive has its own, and those of its roots.
 *
 * @throws INVALID_INPUT, INVALID_PATH, …
 */
function resourcesOf({ root, drive, path }: QueryInput, { files }: OperationParts): readonly string[] | undefined {
  const name = root ?? drive;
  if (name === undefined) {
    if (path !== undefined) throw invalidInput("'path' needs 'root', in which it lies", "/root", "name of a root");
    return undefined;
  }
  if (root !== undefined && drive !== undefined) {
    throw invalidInput("'root' and 'drive' cannot be given together", "/drive", "one of them");
  }
  const segments = path === undefined ? [] : parsePath(name, path).segments;
  const onDrive = drive ?? files.roots.find((one) => one.name === root)?.drive;
  const roots = root === undefined ? files.roots.flatMap((one) => (one.drive === drive ? [one.name] : [])) : [root];
  return [
    ...roots.map((one) => printResource([one, ...segments])),
    ...(onDrive === undefined ? [] : [printResource([onDrive, ...segments], "dlfs")]),
  ].map((one) => one.replace(/\/$/, ""));
}

/** A cursor belongs to one caller and one query; pages may differ in size. */
function bindingOf(input: QueryInput, caller: string): Binding {
  const { actor, operation, root, drive, path, outcome, since, until } = input;
  return [NAME, caller, actor, operation, root, drive, path, outcome, since, until];
}

/** @throws INVALID_INPUT */
function parseCursor(binding: Binding, text: string): AuditCursor {
  const [, file, offset] = CURSOR.exec(unseal(binding, text)?.toString() ?? "") ?? [];
  if (file === undefined)
    throw invalidCursor("'cursor' must be the nextCursor of the same query by the same caller. Begin again without it");
  return { file, offset: Number(offset) };
}

const invalidCursor = (text: string) => invalidInput(text, "/cursor", "the nextCursor of an earlier answer");
