// auth:issue: makes an access token, a session, or a link to either.

import { ABILITY_NAMES, isOf, isOfUse, parseGrant } from "../../../authz/grant.js";
import { isLoopbackHost } from "../../../config/loopback.js";
import { APPROVE, type Capability } from "../../../core/call/capability.js";
import { escapeText, invalidInput, notSupportedHere } from "../../../core/errors/texts.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import { mayActAsApprover } from "../../../dispatch/approvals/asking-root.js";
import { accessDid, type TokenMaker } from "../../identity/access-entry.js";
import { SESSION_MS } from "../../identity/access-tokens.js";
import type { OperationParts, VenueOperation } from "../operation.js";
import { refusedOperation } from "../refusal.js";
import { didOfMaker, KEY_ENDS, makingBy } from "../tokens/issue-rights.js";
import { publishToken } from "./list.js";

interface IssueInput {
  readonly label: string;
  readonly caps?: readonly unknown[];
  readonly lifetimeSeconds?: number;
  readonly link?: boolean;
}

const NAME = "auth:issue";
const HOUR_SECONDS = 3600;
const MAX_SECONDS = 366 * 24 * HOUR_SECONDS;

/**
 * Issues an access token with capabilities, or without them a session of the caller. The rights of the bearer are
 * decided at each use, by the rights that the maker holds then. The secret is in this answer and nowhere else.
 */
export const authIssue: VenueOperation<IssueInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  hiddenOutput: ["token", "url"],
  async run(input, { context, venue, trail }) {
    const making = makingBy(NAME, context, venue);
    const caps = input.caps === undefined ? undefined : parseCaps(input.caps);
    if (!mayActAsApprover(context) && (caps === undefined || caps.some(({ can }) => can.startsWith(APPROVE)))) {
      // Over another surface it would decide what a model is asked about.
      const requires = "over MCP, ACP and profiles 'caps' that do not name 'approve'";
      throw refusedOperation({ operation: NAME, requires });
    }
    const { accessTokens } = venue.access;
    if (accessTokens === undefined) {
      throw notSupportedHere(
        "access tokens, since there is no 'stateDir' or no key. Set 'stateDir' and 'seedFile', or ask the venue that serves",
      );
    }
    const own = venue.url();
    if (input.link === true && own === undefined) throw notSupportedHere("links, since it does not serve HTTP");
    const request = { label: input.label, caps, lifetimeMs: lifetimeMs(input), ...making };
    const made = await (input.link === true ? accessTokens.link(request) : accessTokens.issue(request));
    if (made === undefined) throw tooMany();
    const { entry, secret } = made;
    trail.resource = `access:${entry.id}`;
    publishToken("issued", { entry, isLink: input.link === true, state: "live" }, venue);
    const note = noteOf(caps ?? [], making.maker, venue);
    const did = caps === undefined ? didOfMaker(making.maker, venue) : accessDid(venue.access, entry.id);
    return {
      ...{ id: entry.id, did, expires: entry.expires },
      ...(input.link === true ? { url: `${addressFor(context, own)}/workspace/#login=${secret}` } : { token: secret }),
      ...(note === "" ? {} : { note }),
    };
  },
};

/** A link is for somebody elsewhere: an address that leads to this machine alone is none, where there is another. */
function addressFor({ entrance }: Pick<SurfaceContext, "entrance">, own: string | undefined): string | undefined {
  return entrance === undefined || isLoopbackHost(new URL(entrance).hostname) ? own : entrance;
}

/** @throws INVALID_INPUT naming the first entry that grants nothing */
function parseCaps(caps: readonly unknown[]): readonly Capability[] {
  return caps.map((entry, index) => {
    const grant = parseGrant(entry);
    if (grant !== undefined && isOfUse(grant)) return grant.written;
    if (grant !== undefined) {
      const text = `'caps[${index}].can' must be an ability: ${ABILITY_NAMES}, not '${grant.written.can}'`;
      throw invalidInput(text, `/caps/${index}/can`, ABILITY_NAMES);
    }
    const expected = "{ with: 'file://<root>/<path>', can: 'crud/read' } and nothing else";
    throw invalidInput(`'caps[${index}]' grants nothing here: expected ${expected}`, `/caps/${index}`, expected);
  });
}

/** A warning for the operator; no other caller may learn which roots exist. */
function noteOf(caps: readonly Capability[], { kind }: TokenMaker, { keyLasts, files }: OperationParts): string {
  const missing = caps.find((capability) => {
    const grant = parseGrant(capability);
    const [root] = grant?.segments ?? [];
    return (
      grant !== undefined && isOf("file", grant) && root !== undefined && !files.roots.some(({ name }) => name === root)
    );
  });
  return [
    ...(missing === undefined || kind !== "operator"
      ? []
      : [`There is no root for ${escapeText(missing.with)}, which leads nowhere`]),
    ...(keyLasts ? [] : [KEY_ENDS]),
  ].join(". ");
}

/** Without a wish, an hour for a token, and as long as sessions last for a session. */
function lifetimeMs({ caps, lifetimeSeconds }: IssueInput): number {
  const mostSeconds = caps === undefined ? SESSION_MS / 1000 : MAX_SECONDS;
  const seconds = lifetimeSeconds ?? (caps === undefined ? mostSeconds : HOUR_SECONDS);
  if (seconds <= mostSeconds) return seconds * 1000;
  const expected = `1..${mostSeconds}`;
  throw invalidInput(
    `'lifetimeSeconds' must be between 1 and ${mostSeconds}${caps === undefined ? " without 'caps': that is a session" : ""}`,
    "/lifetimeSeconds",
    expected,
  );
}

const tooMany = () =>
  refusedOperation({
    operation: NAME,
    requires: "fewer tokens in force. Revoke some with auth:revoke",
    reasons: ["too_large"],
  });
