// ucan:verify: reports what a token grants in this venue.

import { parseGrant } from "../../../authz/grant.js";
import { inspectToken } from "../../../authz/inspect-token.js";
import type { TokenQuestion, TokenReport } from "../../../authz/token-report.js";
import { invalidInput } from "../../../core/errors/texts.js";
import { LOOKS } from "../../../core/ports/operation.js";
import type { OperationParts, VenueOperation } from "../operation.js";

/**
 * Reports what a token is worth here, to any caller: its holder knows its content and issuer already. For a root in
 * which the token grants nothing, the answer is the same as for a root that does not exist.
 */
export const ucanVerify: VenueOperation<TokenQuestion> = {
  name: "ucan:verify",
  annotations: LOOKS,
  hidden: ["token"],
  run(question, { venue, trail }): TokenReport {
    checkQuestion(question);
    const { verifier, canonicalDid } = venue.access;
    const owners = venue.files.roots.flatMap(({ owner }) => owner ?? []);
    const report = inspectToken(question, { verifier, canonicalDid, owners, ownerOf: (root) => ownerOf(root, venue) });
    const [top] = report.chain;
    if (top?.id !== undefined) trail.resource = `ucan:${top.id}`;
    return report;
  },
};

function ownerOf(root: string | undefined, { access, files }: OperationParts): string | undefined {
  if (root === undefined) return access.operator;
  const found = files.roots.find(({ name }) => name === root);
  // A drive belongs to its caller and cannot be delegated.
  return found === undefined || found.drive !== undefined ? undefined : (found.owner ?? access.operator);
}

function checkQuestion({ with: resource, can, aud }: TokenQuestion): void {
  if (aud !== undefined && !aud.startsWith("did:")) throw invalidInput("'aud' must be a DID", "/aud", "DID");
  if (resource === undefined && can === undefined) return;
  if (resource === undefined || can === undefined) {
    const missing = resource === undefined ? "with" : "can";
    throw invalidInput(`'${missing}' is required: 'with' and 'can' are asked together`, `/${missing}`, "a value");
  }
  if (parseGrant({ with: resource, can }) !== undefined) return;
  throw invalidInput("'with' and 'can' must be a resource (file://, dlfs/) and an ability", "/with", "a resource");
}
