// Roots as one caller sees them.

import type { Authoriser } from "../authz/authorise.js";
import { isPersonal, type PersonalRoot, type Root, type RootView } from "../core/ports/operation.js";
import type { CallState } from "./call/state.js";

/** The rights of a caller in a root. Protected paths can be read, and are refused where a change is made. */
const rootView = (root: Root, authoriser: Authoriser): RootView => ({
  root,
  isVisible: authoriser.seesRoot(root.name),
  allows: (segments, ability) =>
    root.policy?.denies(segments) !== true && authoriser.allows([root.name, ...segments], ability),
});

/** All roots as the caller sees them; those of its drives only if it has an owner. */
export function viewsOf({ authoriser, context, parts }: CallState): readonly RootView[] {
  const owner = parts.driveOwner?.(context);
  return [...parts.roots().values()].flatMap((root) => {
    if (!isPersonal(root)) return [rootView(root, authoriser)];
    return owner === undefined ? [] : [rootView(openForOwner(root, owner), authoriser)];
  });
}

/** The last owner's root of each drive root: a patch asks for it once per file. */
const lastOpened = new WeakMap<PersonalRoot, Root>();

/** A drive root of one owner. @param owner DID */
export function openForOwner(root: PersonalRoot, owner: string): Root {
  const last = lastOpened.get(root);
  if (last?.owner === owner) return last;
  const journal = root.journalFor === undefined ? {} : { journal: root.journalFor(owner) };
  const opened: Root = { ...root, owner, backend: root.backendFor(owner), ...journal };
  lastOpened.set(root, opened);
  return opened;
}
