import type { CallScope } from "../../core/call/scope.js";
import type { Place } from "../../core/errors/texts.js";
import type { Handles, PinnedRoot } from "../handles.js";
import type { Sys } from "../sys.js";

/** What a walk needs to know of its root. */
export interface WalkRoot {
  readonly handles: Handles;
  readonly sys: Sys;
  readonly top: PinnedRoot;
  /** Canonical host path, to recognise absolute links that stay inside. Never shown to a caller. */
  readonly realPath: string;
  readonly crossDevice: boolean;
  readonly foldsCase: boolean;
}

export interface WalkOptions {
  readonly place: Place;
  /** The call that walks: a long chain of links lets others run now and then. */
  readonly scope: Pick<CallScope, "breathe">;
  /** Resolve a link in the last component, as everything but delete does. */
  readonly followLast: boolean;
  /** Nobody will ask for the directories on the way, so the target may be reached without them. */
  readonly onlyTarget: boolean;
  /** Any link on the way or at the end is SYMLINK_ESCAPE. */
  readonly refuseLinks: boolean;
  /** So many names of the path no link leads out of, and none of them is one. */
  readonly floor: number;
  /** Turn of the root's {@link Locks} when the walk began: whatever has been released since may have changed what it found. */
  readonly since: number;
  readonly onClose: () => void;
}
