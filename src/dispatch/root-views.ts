// Roots as one caller sees them.

import type { Authoriser } from "../authz/authorise.js";
import type { PersonalRoot, Root, RootView } from "../core/ports/operation.js";

/** The rights of a caller in a root. Protected paths can be read, and are refused where a change is made. */
export const rootView = (root: Root, authoriser: Authoriser): RootView => ({
  root,
  isVisible: authoriser.seesRoot(root.name),
  allows: (segments, ability) =>
    root.policy?.denies(segments) !== true && authoriser.allows([root.name, ...segments], ability),
});

/** A drive root of one owner. @param owner DID */
export const openForOwner = (root: PersonalRoot, owner: string): Root => ({
  ...root,
  owner,
  backend: root.backendFor(owner),
  ...(root.journalFor === undefined ? {} : { journal: root.journalFor(owner) }),
});
