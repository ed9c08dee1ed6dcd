// Inputs and results of a walk.

import type { PathRules } from "../../core/call/path.js";
import type { CallScope } from "../../core/call/scope.js";
import type { Place } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { SpellingRules } from "../../core/ports/backend.js";
import type { Handles, Pinned, PinnedRoot } from "../handles.js";
import type { Sys } from "../sys.js";

/** Properties of the root that a walk needs. */
export interface WalkRoot {
  readonly handles: Handles;
  readonly sys: Sys;
  readonly top: PinnedRoot;
  /** Canonical host path, to recognise absolute links that stay inside. Never shown to callers. */
  readonly realPath: string;
  readonly crossDevice: boolean;
  readonly foldsCase: boolean;
  /** Finds out whether a directory below the root folds of itself; `foldsCase` is true from then on. */
  detectFolding(directory: Pinned, asked: { readonly name: string; readonly mayMake: boolean }): Io<void>;
}

export interface WalkOptions {
  readonly place: Place;
  /** The calling scope: a long chain of links yields to other calls now and then. */
  readonly scope: Pick<CallScope, "breathe">;
  /** Resolve a link in the last component; every operation but delete does. */
  readonly followLast: boolean;
  /** The directories on the way are not needed, so the target may be reached in one step. Absent: they are. */
  readonly onlyTarget?: boolean | undefined;
  /** Any link, in the middle or at the end, is SYMLINK_ESCAPE. Absent: links that stay inside the root are followed. */
  readonly links?: "refuse" | undefined;
  /** Additional path rules of a facade. */
  readonly rules?: PathRules | undefined;
  /** How deny patterns judge names that may have another spelling; asked before each name is looked up. */
  readonly spellings?: SpellingRules | undefined;
}

/** The place of a walk in the life of its root. */
export interface WalkTurn {
  /** Turn of the root's {@link Locks} when the walk began: locks released since may have changed its findings. */
  readonly since: number;
  readonly onClose: () => void;
}

/** Result of a walk. `real` is the real path of the request, as far as it could be resolved. */
export type Found = { readonly real: readonly string[] } & (
  | {
      /** The target exists and is pinned; a final link has been resolved if requested. */
      readonly state: "found";
      readonly object: Pinned;
    }
  | {
      /** `missing[0]` does not exist in the deepest directory of the walk; the remaining names were not looked up. */
      readonly state: "missing";
      readonly missing: readonly string[];
    }
  | {
      /** A file is in the place of a directory; `prefix` is the number of requested segments that lead to it. */
      readonly state: "blocked";
      readonly prefix: number;
    }
  | {
      /** A link leads to nothing inside the root. */
      readonly state: "dangling";
    }
);
