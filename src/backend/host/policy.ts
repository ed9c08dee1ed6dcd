import { deniedByPolicy } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Pinned } from "../../jail/handles.js";
import type { Change } from "./target.js";
import { walkEntries } from "./walk.js";

/**
 * Refuses to do anything to a whole directory that holds what the policy denies, or in which that cannot be seen.
 * @throws DENIED_BY_POLICY, PERMISSION_DENIED
 */
export function* requireAllAllowed({ jail, access }: Change, object: Pinned): Io<void> {
  if (access.policy === undefined || !object.stat.isDirectory()) return;
  const refuse = (): never => {
    throw deniedByPolicy(access.place, access.verb);
  };
  yield* walkEntries(jail, object, { visit: () => "enter", visitDenied: refuse, sizes: false, strict: true, access });
}
