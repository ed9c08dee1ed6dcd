// Formats the report of a token.

import type { DenialReason } from "../../authz/denial.js";
import type { LinkReport, TokenReport } from "../../authz/token-report.js";
import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { otherDidKey } from "../../ucan/token/key-types.js";
import { printDuration, printTime } from "../arguments/duration.js";
import { shortDid } from "./did.js";
import { table } from "./table.js";

/** Rights a token gives in one root. */
export interface RootRights {
  readonly root: string;
  readonly verbs: readonly string[];
  /** Resources it covers. */
  readonly on: readonly string[];
}

/** A token and the result of its inspection. */
export interface TokenFacts {
  readonly report: TokenReport;
  /** Seconds since the epoch. */
  readonly nowSeconds: number;
  /** The requested capability. */
  readonly wanted?: Capability | undefined;
  /** Rights in each root of the configuration. Absent without a configuration, since owners are then unknown. */
  readonly allowed?: readonly RootRights[] | undefined;
  /** Capabilities in its list that grant nothing in any root. */
  readonly idle: readonly Capability[];
  /** Issuers at the root of the chain: the token grants something only where they own the root. */
  readonly signers: readonly string[];
  /** Its audience is the venue: a sender of the token acts as its issuer. */
  readonly isInvocation: boolean;
}

const REASONS: Readonly<Record<DenialReason, string>> = {
  too_large: "it, or the number of its capabilities, is over the limit",
  malformed: "it is not well formed, or not whole",
  bad_header: "its header is not that of a token signed with EdDSA",
  bad_did: "its issuer is not the did:key of an Ed25519 key",
  kid_mismatch: "it names another key than that of its issuer",
  bad_signature: "its signature is wrong",
  bad_exp: "its end is not a time in seconds, or too far away",
  no_exp: "nothing in its chain has an end",
  bad_nbf: "its beginning is not a time in seconds",
  expired: "it has expired",
  not_yet_valid: "it is not valid yet",
  wrong_audience: "it is for somebody else",
  bad_version: "it does not state a version of UCAN that is taken here",
  broken_chain: "a token was passed on by somebody else than it was given to",
  too_deep: "its chain is longer than 5 tokens",
  too_many_proofs: "it has more than 4 proofs, or more than 16 tokens in its chain",
  proof_not_found: "a token that is named only by its hash is missing",
  revoked: "it has been revoked",
  widened_or_unrooted: "some of it is more than its proofs give",
  issuer_not_owner: "whoever signed first does not own the root",
  not_covered: "it does not cover that",
  missing_scope: "it lacks a scope",
  ambiguous_caller: "several tokens name different callers",
};

/** Describes a token in words: issuer, audience, capabilities, lifetime, each link of the chain, and the verdict. */
export function describeToken(facts: TokenFacts): string {
  const { report, nowSeconds } = facts;
  const [top] = report.chain;
  // An unreadable token has nothing to describe.
  if (top?.issuer === undefined) return `${verdict(facts)}\n`;
  const parts = [headline(top, nowSeconds)];
  if (facts.isInvocation) parts.push(`It is for the venue itself: whoever sends it acts as ${name(top.issuer)}.`);
  parts.push("", "Chain", ...report.chain.map((link) => linkText(link, nowSeconds)));
  parts.push("", ...worth(facts), "", verdict(facts));
  return `${parts.join("\n")}\n`;
}

function headline(top: LinkReport, nowSeconds: number): string {
  const whom = top.audience === undefined ? "nobody in particular" : name(top.audience);
  return [`${name(top.issuer)} gives ${whom}`, ...grantLines(top.grants, "  "), lifetime(top, nowSeconds)].join("\n");
}

const grantLines = (grants: readonly Capability[], indent: string): readonly string[] =>
  grants.length === 0
    ? [`${indent}nothing`]
    : grants.map(({ with: resource, can }) => `${indent}${escapeText(can)} on ${escapeText(resource)}`);

function lifetime({ expires, notBefore }: LinkReport, nowSeconds: number): string {
  const from = notBefore !== undefined && notBefore > nowSeconds ? `from ${printTime(notBefore)} ` : "";
  if (expires === undefined) return `${from}with no end that could be read`;
  if (expires === null) return `${from}without end`;
  const left = expires - nowSeconds;
  const rest = left > 0 ? `${printDuration(left)} left` : `${printDuration(-left)} ago`;
  return `${from}until ${printTime(expires)} (${rest})`;
}

function reasonText(reason: DenialReason, { issuer = "" }: LinkReport): string {
  const other = reason === "bad_did" ? otherDidKey(issuer) : undefined;
  return other === undefined ? REASONS[reason] : `its issuer is ${other}`;
}

/** One token of the chain with its faults; proofs are listed indented below the token they support. */
function linkText(link: LinkReport, nowSeconds: number): string {
  const indent = "  ".repeat(link.depth + 1);
  const what = link.depth === 0 ? "the token" : "a proof";
  const faults = link.reasons.map((reason) => `${indent}  ! ${reasonText(reason, link)} (${reason})`);
  if (link.id === undefined || link.issuer === undefined) {
    return [`${indent}${what} that cannot be used`, ...faults].join("\n");
  }
  return [
    `${indent}${what} ${link.id}`,
    `${indent}  ${name(link.issuer)} to ${name(link.audience ?? "nobody")}, ${lifetime(link, nowSeconds)}`,
    // The headline already shows the token's own list.
    ...(link.depth === 0 ? [] : grantLines(link.grants, `${indent}  `)),
    ...(faults.length === 0 ? [`${indent}  ok`] : faults),
  ].join("\n");
}

/** A DID from a token, untrusted. */
const name = (did = "somebody"): string => escapeText(shortDid(did));

function worth({ allowed, idle, report, signers }: TokenFacts): readonly string[] {
  if (allowed !== undefined) {
    const rows = allowed.map(({ root, verbs, on }) => [
      root,
      verbs.length === 0 ? "nothing" : verbs.join(", "),
      on.map(escapeText).join(", "),
    ]);
    const isSome = allowed.some(({ verbs }) => verbs.length > 0);
    const rest = isSome && idle.length > 0 ? ["It also says, and that gives nothing", ...grantLines(idle, "  ")] : [];
    return ["With this configuration it allows", table(rows), ...rest];
  }
  const owners = signers.map((did) => name(did)).join(" or ");
  const given = report.grants.length === 0 ? [] : [`Where ${owners} owns the root, it allows`];
  return [
    ...given,
    ...(given.length === 0 ? [] : grantLines(report.grants, "  ")),
    "Who owns what was not checked. For that, name the configuration of the venue: --config FILE",
  ];
}

function verdict({ report, wanted }: TokenFacts): string {
  const allowance = wanted === undefined ? "" : ` It allows ${escapeText(wanted.can)} on ${escapeText(wanted.with)}.`;
  const why = report.reasons.map((reason) => `${REASONS[reason]} (${reason})`);
  if (report.valid && why.length === 0) return `Valid.${allowance}`;
  if (report.valid) return `Valid in part: ${why.join("; ")}.${allowance}`;
  return `Not valid: ${why.length === 0 ? "it gives nothing" : why.join("; ")}.`;
}

/**
 * Describes an identity token.
 *
 * @param venueIsKnown whether its audience was checked against a venue
 */
export function describeIdentity(
  { chain: [link], reasons }: TokenReport,
  { nowSeconds, venueIsKnown }: { readonly nowSeconds: number; readonly venueIsKnown: boolean },
): string {
  if (link === undefined) return "";
  const where = link.audience === undefined ? "any venue that takes it" : name(link.audience);
  const unchecked = venueIsKnown ? [] : ["For which venue it is was not checked. For that: --config FILE"];
  const why = reasons.map((reason) => `${REASONS[reason]} (${reason})`).join("; ");
  return [
    `Whoever holds this token is ${name(link.issuer)} to ${where}`,
    lifetime(link, nowSeconds),
    `id ${link.id ?? ""}`,
    "It says who somebody is and gives nothing.",
    ...unchecked,
    "",
    reasons.length === 0 ? "Valid." : `Not valid: ${why}.`,
    "",
  ].join("\n");
}
