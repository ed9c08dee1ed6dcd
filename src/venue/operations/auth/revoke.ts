// auth:revoke: ends an access token, a session, a link or a UCAN at once.

import { accessIdOf } from "../../../core/call/caller.js";
import { invalidInput, notSupportedHere } from "../../../core/errors/texts.js";
import { codeOf } from "../../../core/unknown.js";
import { accessDid } from "../../identity/access-entry.js";
import { isIssuerCaller } from "../../identity/issuers/rights.js";
import { actsInFull, callerOf, isAnonymous, isOperator } from "../caller.js";
import type { OperationCall, VenueOperation } from "../operation.js";
import { notKept, refusedOperation } from "../refusal.js";
import { didOfMaker } from "../tokens/issue-rights.js";
import { addRevocation, ucanRevoke } from "../ucan/revoke.js";
import { publishToken } from "./list.js";

interface RevokeInput {
  readonly id: string;
  readonly keep?: boolean;
  readonly wait?: boolean;
}

const NAME = "auth:revoke";
const ACCESS_ID = /^[0-9a-f]{32}$/;
const CONFIG_ID = /^auth\.(?:grants\[\d+\]|tokens\[\d+\]|public)$/;

/**
 * Ends a token, and unless `keep` all that was made through it, over all steps. For the operator, for whoever made the
 * token, and for the token itself. Unknown tokens and those of others give the same error.
 */
export const authRevoke: VenueOperation<RevokeInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const { id, keep = false, wait = false } = input;
    const { context, venue, trail } = call;
    trail.resource = `access:${id}`;
    if (CONFIG_ID.test(id)) throw notSupportedHere(`revoking what the configuration gives. Change '${id}' there`);
    if (isIssuerCaller(venue.access.did, id)) return revokeCaller(id, wait, call);
    if (!ACCESS_ID.test(id)) {
      if (id.length === UCAN_ID_CHARS) return ucanRevoke.run({ id, wait }, call);
      throw invalidInput("'id' must be the id of a token, from auth:list", "/id", "an id of auth:list");
    }
    const { accessTokens, revocations } = venue.access;
    const found = accessTokens?.find(id);
    if (accessTokens === undefined || isAnonymous(context)) throw notYours();
    if (!isOperator(context, venue) || !actsInFull(context, venue)) {
      if (found === undefined || !mayRevoke(didOfMaker(found.entry.maker, venue), id, { context, venue })) {
        throw notYours();
      }
    }
    if (found === undefined) throw notYours();
    const ended = async () => {
      publishToken("revoked", { ...found, state: "revoked", revoked: venue.clock.nowMs() }, venue);
      // UCANs that the venue signed for a session name it, so they end with it.
      const signs = found.entry.caps === undefined && !found.isLink;
      if (signs && !keep) await addRevocation(revocations, accessDid(venue.access, id));
    };
    try {
      await accessTokens.revoke(id, keep);
    } catch (error) {
      if (!isUndone(error)) await ended();
      throw notKept(error);
    }
    await ended();
    return { revoked: true, id, ...(await venue.effect?.(wait)) };
  },
};

const UCAN_ID_CHARS = 43;

/** Whether the state that instances share was not reached. Other failures leave a revocation in force, but not kept. */
const isUndone = (error: unknown): boolean => codeOf(error) === "SHARED_STATE_UNAVAILABLE";

/** Ends a caller of an outside issuer, whatever tokens it gets there from now on. For the operator. */
async function revokeCaller(did: string, waits: boolean, { context, venue }: OperationCall): Promise<object> {
  if (!isOperator(context, venue) || !actsInFull(context, venue)) throw notYours();
  const ended = () => {
    const data = { kind: "issuer", id: did, did, grants: [], change: "revoked" };
    if (venue.events?.wants("auth") === true) venue.events.publish("auth", { data, audience: [did] });
  };
  try {
    await addRevocation(venue.access.revocations, did);
  } catch (error) {
    if (!isUndone(error)) ended();
    throw error;
  }
  ended();
  return { revoked: true, id: did, ...(await venue.effect?.(waits)) };
}

function mayRevoke(maker: string, id: string, { context, venue }: Pick<OperationCall, "context" | "venue">): boolean {
  return accessIdOf(context) === id || (callerOf(context, venue) === maker && actsInFull(context, venue));
}

const notYours = () =>
  refusedOperation({
    operation: NAME,
    requires: "the operator, or whoever made the token, without narrower capabilities; or the token itself",
  });
