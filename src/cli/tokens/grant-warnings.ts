// Warns of a new token that will not work at the configured venue.

import { parseGrant } from "../../authz/grant.js";
import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { printDuration } from "../arguments/duration.js";
import { shortDid } from "../output/did.js";
import type { VenueView } from "./venue-view.js";

/** A newly minted token. */
interface NewGrant {
  readonly signer: string;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  readonly lifetimeSeconds: number;
  readonly token: string;
}

/**
 * Warnings about a new token, one sentence each. Not errors: another venue, or this one later, may judge differently.
 *
 * @param view absent: owners are unknown
 */
export function* grantWarnings(made: NewGrant, view: VenueView | undefined): Generator<string> {
  const { signer, audience } = made;
  const canonical = (did: string) => view?.canonicalDid(did) ?? did;
  if (canonical(audience) === canonical(signer)) yield "the token is for its own signer";
  if (view === undefined) return;
  const most = view.config.auth.maxIdentityLifetime;
  if (view.did !== undefined && canonical(audience) === view.did && made.lifetimeSeconds > most) {
    yield `as a bearer this venue takes tokens that live at most ${printDuration(most)}; beside another one this is fine`;
  }
  for (const capability of made.capabilities) {
    const warning = warningOf(capability, made, view);
    if (warning !== undefined) yield warning;
  }
}

function warningOf(capability: Capability, { signer, token }: NewGrant, view: VenueView): string | undefined {
  const grant = parseGrant(capability);
  if (grant === undefined) return undefined;
  const resource = escapeText(capability.with);
  const [root] = grant.segments;
  if (root !== undefined && !Object.hasOwn(view.config.file.roots, root)) {
    return `there is no root '${root}' in this configuration, so ${resource} leads nowhere`;
  }
  const owner = view.ownerOf(root);
  if (owner === undefined) {
    return `nobody can say yet who owns ${resource}: the key of this venue is not there yet, or another at each start`;
  }
  const [read] = view.verifier.read([token]);
  const gives = read?.verdict(owner).grants.some(({ grant: { written } }) => isSame(written, capability)) ?? false;
  if (gives) return undefined;
  const whose = root === undefined ? "what has no owner of its own belongs" : `root '${root}' belongs`;
  return (
    `the token gives nothing on ${resource}: ${whose} to ${shortDid(owner)}, ` +
    `not to ${shortDid(signer)}, and no proof goes back to that owner`
  );
}

const isSame = (a: Capability, b: Capability): boolean => a.with === b.with && a.can === b.can;
