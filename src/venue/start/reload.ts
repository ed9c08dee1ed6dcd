// The part of a changed configuration that a running venue takes.

import { isDeepStrictEqual } from "node:util";
import type { VenueConfig } from "../../config/types.js";
import { fieldsOf, isObject } from "../../core/unknown.js";

/** The configuration in force after a reload: `current`, with what can change at run time taken from `next`. */
export function applyReload(current: VenueConfig, next: VenueConfig): VenueConfig {
  const { enabled } = current.auth.public;
  const { caps } = next.auth.public;
  return {
    ...current,
    auth: {
      ...current.auth,
      tokens: next.auth.tokens,
      grants: next.auth.grants,
      issuers: next.auth.issuers,
      ucan: next.auth.ucan,
      public: { ...(enabled === undefined ? {} : { enabled }), ...(caps === undefined ? {} : { caps }) },
    },
    file: { ...current.file, roots: next.file.roots },
  };
}

/** Keys, up to two levels deep, in which the configuration in force differs from the wanted one. */
export function unappliedKeys(inForce: VenueConfig, wanted: VenueConfig): readonly string[] {
  return changedKeys(inForce, wanted).flatMap((key) => {
    const [one, other] = [fieldsOf(inForce)[key], fieldsOf(wanted)[key]];
    if (!isObject(one) || !isObject(other)) return [key];
    return changedKeys(one, other).map((inner) => `${key}.${inner}`);
  });
}

function changedKeys(one: object, other: object): string[] {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  keys.delete("warnings");
  return [...keys].filter((key) => !isDeepStrictEqual(fieldsOf(one)[key], fieldsOf(other)[key]));
}
