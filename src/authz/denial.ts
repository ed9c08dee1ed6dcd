// The CAPABILITY_DENIED error. Its text is short, and never tells whether the target exists.

import type { Capability } from "../core/call/capability.js";
import { adapterError, type FileAdapterError } from "../core/errors/errors.js";
import { escapeText } from "../core/errors/texts.js";
import type { TokenFault } from "../ucan/token/fault.js";
import { type Grant, SCHEME } from "./grant.js";

/** Reasons for a denial; a closed set. */
export type DenialReason = TokenFault | "not_covered" | "ambiguous_caller" | "missing_scope";

export interface Denial {
  readonly operation: string;
  /** The resource as it is printed. */
  readonly required: { readonly resource: string; readonly ability: string };
  readonly deniedBy: readonly ("agent_caps" | "proofs" | "authority" | "path_policy")[];
  /** The grants that the caller holds: caps ∩ authority. */
  readonly have: readonly Grant[];
  /** The caller holds more grants than `have` lists. */
  readonly truncated: boolean;
  readonly reasons: readonly DenialReason[];
  /** Id of the token to renew, if expiry (or not being valid yet) is the only reason. */
  readonly renew?: string | undefined;
  /** Advice on how to get the right. */
  readonly remedy?: string;
  /** Replaces the last sentence of the text. */
  readonly ending?: string;
}

const SHOWN_IN_TEXT = 3;
const SHOWN_PATH_BYTES = 40;
/** Bytes for the requested path and the held grants together: models read denials, and each token costs. */
const TEXT_ROOM_BYTES = 84;
const MIN_PATH_BYTES = 8;
/** Bytes reserved for ", and N more". */
const COUNTING_BYTES = 20;
/** The longest valid root name; a caller may send a longer one. */
const SHOWN_ROOT_BYTES = 63;

/** The CAPABILITY_DENIED error for a missing right. The text never tells whether the target exists. */
export function capabilityDenied(denial: Denial): FileAdapterError {
  const required = { with: denial.required.resource, can: denial.required.ability };
  const have = denial.have.map(({ written }) => written);
  const text =
    `Capability denied: ${denial.operation} requires ${required.can} on ${shortenResource(required.with)}. ` +
    `Your capabilities are: ${list(have, TEXT_ROOM_BYTES - costOfPath(required.with))}. ` +
    endingOf(denial);
  return adapterError("CAPABILITY_DENIED", text, {
    structural: denial.renew === undefined,
    retryable: denial.renew !== undefined,
    operation: denial.operation,
    required,
    denied_by: denial.deniedBy,
    have,
    have_truncated: denial.truncated,
    reasons: denial.reasons,
    ...(denial.remedy === undefined ? {} : { remedy: denial.remedy }),
  });
}

function endingOf({ renew, ending }: Denial): string {
  if (renew !== undefined) return `Renew the token ${renew} and retry.`;
  return ending ?? "Retrying the same call will not succeed - the denial is structural.";
}

/** The held grants in about `room` bytes: always the first, the others while they fit. */
function list(have: readonly Capability[], room: number): string {
  const [first, ...others] = have;
  if (first === undefined) return "(none)";
  const counting = others.length === 0 ? 0 : COUNTING_BYTES;
  const pathRoom = Math.max(MIN_PATH_BYTES, room - first.can.length - counting);
  const said = [`${first.can} on ${shortenResource(first.with, Math.min(SHOWN_PATH_BYTES, pathRoom))}`];
  let left = room - Buffer.byteLength(said[0] ?? "");
  for (const grant of others.slice(0, SHOWN_IN_TEXT - 1)) {
    const text = `${grant.can} on ${shortenResource(grant.with)}`;
    left -= Buffer.byteLength(text);
    if (left < 0) break;
    said.push(text);
  }
  const more = have.length - said.length;
  if (more > 0) said.push(`and ${more} more`);
  return said.join(", ");
}

/** Cost of a resource's path in the text, in bytes; digits count twice, as they take about twice as many tokens. */
function costOfPath(resource: string): number {
  const path = resource.slice(SCHEME.length).replace(/^[^/]*\/?/, "");
  return (
    Math.min(SHOWN_PATH_BYTES, Buffer.byteLength(path)) + (path.slice(0, SHOWN_PATH_BYTES).match(/\d/g)?.length ?? 0)
  );
}

/** A resource for the text: root name and path, each shortened in the middle if long. */
function shortenResource(resource: string, pathBytes = SHOWN_PATH_BYTES): string {
  // `file://` and `dlfs://` have the same length.
  const [root = "", ...path] = resource.slice(SCHEME.length).split("/");
  const name = `${resource.slice(0, SCHEME.length)}${shorten(escapeText(root), SHOWN_ROOT_BYTES)}`;
  return path.length === 0 ? name : `${name}/${fitPath(escapeText(path.join("/")), pathBytes)}`;
}

/** With little room left, keeps the first names of a path: they say most in the fewest tokens. */
function fitPath(path: string, max: number): string {
  if (max >= SHOWN_PATH_BYTES || Buffer.byteLength(path) <= max) return shorten(path, max);
  const names = path.split("/");
  while (names.length > 1 && Buffer.byteLength(`${names.join("/")}/…`) > max) names.pop();
  const start = `${names.join("/")}/…`;
  return Buffer.byteLength(start) > max ? "…" : start;
}

/** Shortens a text to `max` bytes by cutting its middle: both ends say most. */
function shorten(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text;
  const half = Math.floor((max - Buffer.byteLength("…")) / 2);
  const head = truncate([...text.slice(0, max)], half);
  const tail = truncate([...text.slice(-max)].reverse(), half).reverse();
  return `${head.join("")}…${tail.join("")}`;
}

/** The longest prefix of at most `max` UTF-8 bytes. */
function truncate(characters: readonly string[], max: number): string[] {
  let bytes = 0;
  let count = 0;
  for (const character of characters) {
    bytes += Buffer.byteLength(character);
    if (bytes > max) break;
    count++;
  }
  return characters.slice(0, count);
}
