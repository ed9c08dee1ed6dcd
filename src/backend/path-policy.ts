// Decides whether entries may be changed or copied under the deny and protect patterns of a root.

import type { FileAdapterError } from "../core/errors/errors.js";
import { deniedByPolicy, protectedByPolicy } from "../core/errors/texts.js";
import type { Access } from "../core/ports/backend.js";

/** The part of an {@link Access} that says what is denied or protected below its place. */
export type Guarded = Pick<Access, "policy" | "protection" | "place" | "verb">;

/**
 * Why an entry below the place must not be changed, given that its directory may be; `undefined`: it may. The error is
 * `DENIED_BY_POLICY` on the place, so that the entry is not named.
 */
export function refusalOf(access: Guarded, below: readonly string[], name: string): FileAdapterError | undefined {
  if (access.policy?.denies(below, name) === true) return deniedByPolicy(access.place, access.verb);
  if (access.protection?.denies(below, name) === true) return protectedByPolicy(access.place, access.verb);
  return undefined;
}

/** Whether nothing is denied or protected below the place. */
export const isUnguarded = ({ policy, protection }: Guarded): boolean =>
  policy === undefined && protection === undefined;

/** Why a copy leaves out an entry, as a refusal of its source; `there` is the target of the copy. */
export function omissionOf(
  access: Guarded,
  there: Pick<Access, "policy" | "protection"> | undefined,
  entry: { readonly below: readonly string[]; readonly name: string },
): FileAdapterError | undefined {
  const { below, name } = entry;
  const own = refusalOf(access, below, name);
  if (own !== undefined || there === undefined) return own;
  const { place, verb } = access;
  return refusalOf({ policy: there.policy, protection: there.protection, place, verb }, below, name);
}
