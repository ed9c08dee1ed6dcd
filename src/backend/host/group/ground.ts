// The ground of a group: its steps prepare and keep in the folder of the intent.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { conflict, notSupportedByRoot, type Place } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import {
  below,
  CREATE,
  identity,
  type NameIn,
  type Pinned,
  READ,
  withOpen,
  withPinned,
} from "../../../jail/handles.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { moveBelow, NO_LINKS, renameNoReplace, whileMovable } from "../../../jail/staging/rename.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import type { Filled } from "../changes/content.js";
import { removalOf } from "../changes/report.js";
import type { End, Ground, Taken } from "../changes/step.js";
import { keepsFile } from "../history/keep.js";
import {
  type Displaced,
  type Doomed,
  displace,
  type Hidden,
  requireDeletable,
  requireWritableTrash,
} from "../history/to-trash.js";
import { copyBytes } from "../open.js";
import { type Change, openedJournal, type WriteRules } from "../target.js";
import { requireAllAllowed, requireEmpty } from "../tree-policy.js";
import type { Intent } from "./intent.js";

export class GroupGround implements Ground {
  readonly isGroup = true;
  readonly #rules: WriteRules;
  #intent: Intent | undefined;
  #staged = 0;
  #kept = 0;

  constructor(rules: WriteRules) {
    this.#rules = rules;
  }

  get intent(): Intent {
    if (this.#intent === undefined) throw new TypeError("A group begins its intent before it stages anything");
    return this.#intent;
  }

  begin(intent: Intent): void {
    this.#intent = intent;
  }

  requireNear(change: Change): void {
    requireTopDevice(change);
  }

  siteOf({ at }: End): Filled {
    return { jail: this.intent.jail, access: at.access, journal: openedJournal(this.#rules) };
  }

  *create(): Io<StagedFile> {
    const { jail } = this.intent;
    const name = `after-${this.#staged++}`;
    const path = this.intent.pathOf(name);
    return { fd: yield* jail.sys.open(path, CREATE, 0o666), name, path, stage: this.#stage };
  }

  *complete(_: End, file: StagedFile): Io<void> {
    const { fd } = file;
    file.fd = -1;
    yield* this.intent.flushLater(fd);
  }

  /** The folder of the intent goes as a whole: what is left in it tells how far a group has come. */
  *discard(_: End, file: StagedFile): Io<void> {
    if (file.fd >= 0) closeNow(file.fd);
    file.fd = -1;
  }

  *placeFor(change: Change, { object, name }: Doomed): Io<Displaced> {
    yield* requireDeletable(change, object);
    return yield* displace(change, removalOf(change, name, object.stat), () => this.#spare());
  }

  *take(change: Change, doomed: Doomed, to: Displaced | undefined): Io<Taken> {
    const { stage, name } = to ?? (yield* this.#spare());
    yield* takeTo(change, doomed, { directory: stage.directory, name });
    return { keeping: to?.keeping };
  }

  *#spare(): Io<Hidden> {
    return { stage: this.#stage, name: this.#newBefore() };
  }

  /** The folder as a stage. */
  get #stage(): Stage {
    return { directory: this.intent.folder, prefix: "", release() {} };
  }

  /** Gives a file that is about to be replaced a second name in the intent, or copies it where that is not possible. */
  *keepBefore(change: Change, name: string, old: Pinned): Io<string> {
    const { jail, walk } = change;
    const kept = this.#newBefore();
    const to = this.intent.pathOf(kept);
    if (keepsFile(change, old)) yield* requireWritableTrash(change);
    try {
      yield* jail.sys.link(below(walk.directory, name), to);
    } catch (error) {
      const code = errnoOf(error) ?? "";
      if (code === "ENOENT") throw changedMeanwhile(change);
      if (!NO_LINKS.has(code)) throw error;
      yield* copyBefore(change, old, to);
      return kept;
    }
    if ((yield* jail.sys.lstat(to))?.identity === identity(old)) return kept;
    yield* quietly(jail.sys.unlink(to));
    throw changedMeanwhile(change);
  }

  *putElsewhere({ access }: Change): Io<never> {
    throw notOnThisMount(access.place);
  }

  #newBefore(): string {
    return `before-${this.#kept++}`;
  }
}

/** Only renames within one file system are atomic. @throws NOT_SUPPORTED */
export function requireTopDevice({ jail, walk, access }: Change): void {
  if (walk.directory.stat.device !== jail.top.stat.device) throw notOnThisMount(access.place);
}

const changedMeanwhile = ({ access }: Change): FileAdapterError =>
  conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });

function* takeTo(change: Change, { object, name, options }: Doomed, to: NameIn): Io<void> {
  const { jail, walk } = change;
  const from = { directory: walk.directory, name };
  yield* moveBelow(jail, from, to);
  // Entries that another process has put or added there since the check must not be removed.
  yield* withPinned(jail.handles.pin(to.directory, to.name), function* (now) {
    if (identity(now) !== identity(object)) {
      const ready = { path: below(to.directory, to.name), isDirectory: now.stat.isDirectory() };
      yield* whileMovable(jail.sys, now, renameNoReplace(jail.sys, ready, below(from.directory, from.name)));
      throw changedMeanwhile(change);
    }
    if (options.recursive) yield* requireAllAllowed(change, now);
    else yield* requireEmpty(change, now);
  });
}

const notOnThisMount = (place: Place): FileAdapterError =>
  notSupportedByRoot(
    place,
    "groups of changes on another mount. Change the files there one at a time, with file:write, edit, move or delete",
    { tool: "file:write" },
  );

/** A copy with the permissions and the time of its original. */
function* copyBefore({ jail, rules }: Change, old: Pinned, to: string): Io<void> {
  const { sys } = jail;
  yield* withOpen(jail.handles.reopen(old, READ), (from) =>
    withOpen(sys.open(to, CREATE, 0o600), function* (fd) {
      yield* copyBytes(sys, { from, to: fd });
      yield* sys.fchmod(fd, old.stat.mode & 0o777);
      yield* setTimeOfOpen(sys, fd, old.stat.modifiedMs);
      if (rules.durable) yield* sys.fsync(fd);
    }),
  );
}
