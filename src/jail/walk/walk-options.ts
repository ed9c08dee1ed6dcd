// Inputs of a walk.

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
  /** The directories on the way are not needed, so the target may be reached in one step. */
  readonly onlyTarget: boolean;
  /** Any link, in the middle or at the end, is SYMLINK_ESCAPE. */
  readonly refuseLinks: boolean;
  /** Number of leading names that must not be links and that no link may leave. */
  readonly floor: number;
  /** Asked before each name is looked up. */
  readonly spellings: SpellingRules | undefined;
  /** Turn of the root's {@link Locks} when the walk began: locks released since may have changed its findings. */
  readonly since: number;
  readonly onClose: () => void;
}
