// Which events a caller may see: what the lists of the same things would show it.

import type { Caller } from "../../core/call/caller.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { VenueEvent, VenueTopic } from "../../core/ports/changes/events.js";
import type { Access } from "../identity/access.js";
import { actsInFull } from "../operations/caller.js";

/** As `audit:query`, `auth:list`, `approval:list` and the list of jobs judge, at the time of the delivery. */
export const visibilityIn =
  (access: Pick<Access, "verifier">) =>
  (topic: VenueTopic, { did, isOperator }: Caller, context: SurfaceContext): ((event: VenueEvent) => boolean) => {
    const isOwn = ({ audience }: VenueEvent): boolean => audience.includes(did);
    if (topic === "approval") return (event) => event.maySee?.(context) ?? isOwn(event);
    const isNarrowed = (topic === "audit" || topic === "auth") && !actsInFull(context, { access });
    // An access token has a DID of its own. Others who are narrowed would see what their DID does elsewhere.
    if (isNarrowed) return context.authentication === "access-token" ? isOwn : () => false;
    return isOperator ? () => true : isOwn;
  };
