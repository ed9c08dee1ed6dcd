import type { Ability, Capability } from "../core/capability.js";
import { adapterError, type FileAdapterError } from "../core/errors.js";
import { escapeText } from "../core/texts.js";
import type { TokenFault } from "../ucan/fault.js";
import { type Grant, printResource, SCHEME } from "./grant.js";

/** Why a request was denied; a closed set. */
export type DenialReason = TokenFault | "not_covered" | "ambiguous_caller";

export interface Denial {
  readonly operation: string;
  readonly required: { readonly segments: readonly string[]; readonly ability: Ability };
  readonly deniedBy: readonly ("agent_caps" | "authority" | "path_policy")[];
  /** What the caller holds: caps ∩ authority. */
  readonly have: readonly Grant[];
  /** More is held than `have` shows. */
  readonly truncated: boolean;
  readonly reasons: readonly DenialReason[];
}

const SHOWN_IN_TEXT = 3;
const SHOWN_PATH_BYTES = 40;
/** As long as the name of a root can be; a caller may send anything. */
const SHOWN_ROOT_BYTES = 63;

/** The one error of a missing right. It never tells whether the target exists. */
export function denied(denial: Denial): FileAdapterError {
  const required = { with: printResource(denial.required.segments), can: denial.required.ability };
  const have = denial.have.map(({ written }) => written);
  const text =
    `Capability denied: ${denial.operation} requires ${required.can} on ${shown(required.with)}. ` +
    `Your capabilities are: ${list(have)}. ` +
    "Retrying the same call will not succeed - the denial is structural.";
  return adapterError("CAPABILITY_DENIED", text, {
    structural: true,
    retryable: false,
    operation: denial.operation,
    required,
    denied_by: denial.deniedBy,
    have,
    have_truncated: denial.truncated,
    reasons: denial.reasons,
  });
}

function list(have: readonly Capability[]): string {
  if (have.length === 0) return "(none)";
  const first = have.slice(0, SHOWN_IN_TEXT).map((grant) => `${grant.can} on ${shown(grant.with)}`);
  const more = have.length - first.length;
  if (more > 0) first.push(`and ${more} more`);
  return first.join(", ");
}

/** A resource for the text: the root's name and the path, each cut in its middle where it is long. */
function shown(resource: string): string {
  const [root = "", ...path] = resource.slice(SCHEME.length).split("/");
  const name = `${SCHEME}${shorten(escapeText(root), SHOWN_ROOT_BYTES)}`;
  return path.length === 0 ? name : `${name}/${shorten(escapeText(path.join("/")), SHOWN_PATH_BYTES)}`;
}

/** Keeps both ends of a long text, which say most, within `max` bytes. */
function shorten(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text;
  const half = Math.floor((max - Buffer.byteLength("…")) / 2);
  const head = fitting([...text.slice(0, max)], half);
  const tail = fitting([...text.slice(-max)].reverse(), half).reverse();
  return `${head.join("")}…${tail.join("")}`;
}

/** The first characters that take at most `max` bytes. */
function fitting(characters: readonly string[], max: number): string[] {
  let bytes = 0;
  let count = 0;
  for (const character of characters) {
    bytes += Buffer.byteLength(character);
    if (bytes > max) break;
    count++;
  }
  return characters.slice(0, count);
}
