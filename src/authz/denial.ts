import type { Ability } from "../core/capability.js";
import { adapterError, type FileAdapterError } from "../core/errors.js";
import { escapeText } from "../core/texts.js";
import { type Grant, printGrant, printResource } from "./grant.js";

export interface Denial {
  readonly operation: string;
  readonly required: { readonly segments: readonly string[]; readonly ability: Ability };
  readonly deniedBy: readonly ("agent_caps" | "authority" | "path_policy")[];
  /** What the caller holds: caps ∩ authority. */
  readonly have: readonly Grant[];
  /** More is held than `have` shows. */
  readonly truncated: boolean;
  readonly reasons: readonly ("not_covered" | "malformed" | "too_large")[];
}

const SHOWN_IN_TEXT = 3;
const SHOWN_PATH_BYTES = 40;

/** The one error of a missing right. It never tells whether the target exists. */
export function denied(denial: Denial): FileAdapterError {
  const required = { with: printResource(denial.required.segments), can: denial.required.ability };
  const have = denial.have.map(printGrant);
  const text =
    `Capability denied: ${denial.operation} requires ${required.can} on ${shorten(required.with)}. ` +
    `Your capabilities are: ${list(have, denial.truncated)}. ` +
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

function list(have: readonly { with: string; can: string }[], truncated: boolean): string {
  if (have.length === 0) return "(none)";
  const shown = have.slice(0, SHOWN_IN_TEXT).map(({ with: resource, can }) => `${can} on ${shorten(resource)}`);
  const more = have.length - shown.length;
  if (more > 0) shown.push(`and ${more}${truncated ? " or more" : ""} more`);
  return shown.join(", ");
}

/** Keeps both ends of a long resource, which say most: the root and the name. */
function shorten(resource: string): string {
  const text = escapeText(resource);
  if (Buffer.byteLength(text) <= SHOWN_PATH_BYTES) return text;
  const characters = [...text];
  const half = Math.floor(SHOWN_PATH_BYTES / 2);
  let head = "";
  let tail = "";
  while (Buffer.byteLength(head) + Buffer.byteLength(characters[0] ?? "") <= half && characters.length > 0)
    head += characters.shift();
  while (Buffer.byteLength(tail) + Buffer.byteLength(characters.at(-1) ?? "") < half && characters.length > 0)
    tail = `${characters.pop()}${tail}`;
  return `${head}…${tail}`;
}
