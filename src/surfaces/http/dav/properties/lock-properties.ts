// DAV:lockdiscovery and DAV:supportedlock.

import type { DavCall } from "../call.js";
import type { Lock } from "../locks/locks.js";
import { element, Markup, textOf } from "../xml/write.js";

const WRITE = element("D:locktype", element("D:write"));

const scopeOf = (isExclusive: boolean): Markup =>
  element("D:lockscope", element(isExclusive ? "D:exclusive" : "D:shared"));

/** Content of `DAV:supportedlock`. */
export const SUPPORTED_LOCKS: Markup = Markup.trusted(
  textOf([true, false].map((isExclusive) => element("D:lockentry", [scopeOf(isExclusive), WRITE]))),
);

/** Content of `DAV:lockdiscovery`. Tokens are shown to those alone who took the locks. */
export function lockDiscovery(active: readonly Lock[], call: DavCall): Markup[] {
  const { caller, locks } = call;
  return active.map((lock) =>
    element("D:activelock", [
      WRITE,
      scopeOf(lock.isExclusive),
      element("D:depth", lock.isDeep ? "infinity" : "0"),
      ...(lock.owner.text === "" ? [] : [element("D:owner", lock.owner)]),
      element("D:timeout", `Second-${locks.secondsLeft(lock)}`),
      ...(lock.caller === caller.did ? [element("D:locktoken", element("D:href", lock.token))] : []),
      element("D:lockroot", element("D:href", call.hrefOf(lock.place, lock.isCollection))),
    ]),
  );
}
