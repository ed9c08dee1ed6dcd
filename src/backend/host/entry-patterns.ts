// Applies deny and protect patterns to the entries of a directory, also where the directory folds case.

import type { Io } from "../../core/io.js";
import type { Access, PlacePolicy } from "../../core/ports/backend.js";
import type { Name } from "../../jail/directory.js";
import type { Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";

/** An entry of a directory below the place of a call. */
interface FoundEntry {
  readonly directory: Pinned;
  /** From the place to the directory. */
  readonly below: readonly string[];
  readonly name: Name;
}

/** Finds out whether the directory of an entry folds case, where one of the policies would then match. */
export function* detectEntryFolding(
  jail: Jail,
  { directory, below, name }: FoundEntry,
  policies: readonly (PlacePolicy | undefined)[],
): Io<void> {
  if (typeof name.raw !== "string") return;
  if (policies.some((policy) => policy?.isDoubtful?.(below, name.name) === true))
    yield* jail.detectFolding(directory, { name: name.raw, mayMake: false });
}

/** Whether an entry is denied, given that its directory is not; in a directory that folds of itself, under any spelling. */
export function* isEntryDenied(jail: Jail, entry: FoundEntry, policy: PlacePolicy | undefined): Io<boolean> {
  if (policy === undefined) return false;
  yield* detectEntryFolding(jail, entry, [policy]);
  return policy.denies(entry.below, entry.name.name);
}

/** {@link isEntryDenied} where that takes no look at the directory; `undefined`: it does. */
export function isDeniedNow(
  below: readonly string[],
  { name, raw }: Name,
  policy: PlacePolicy | undefined,
): boolean | undefined {
  if (policy === undefined) return false;
  if (typeof raw === "string" && policy.isDoubtful?.(below, name) === true) return undefined;
  return policy.denies(below, name);
}

export function* allowedOf(
  jail: Jail,
  directory: Pinned,
  { names, access: { policy, scope } }: { names: readonly Name[]; access: Pick<Access, "policy" | "scope"> },
): Io<readonly Name[]> {
  if (policy === undefined) return names;
  const allowed: Name[] = [];
  for (const [index, name] of names.entries()) {
    if (index % 64 === 0) yield* scope.breathe();
    const isDenied =
      isDeniedNow([], name, policy) ?? (yield* isEntryDenied(jail, { directory, below: [], name }, policy));
    if (!isDenied) allowed.push(name);
  }
  return allowed;
}
