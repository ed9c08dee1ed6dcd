import type { Body } from "../core/backend.js";
import { type Io, wait } from "../core/io.js";
import { hardLinked, ioError, noSpace } from "../core/texts.js";
import { APPEND, below, CREATE_APPEND, identity, type Pinned, READ, release } from "../jail/handles.js";
import { closeNow, errnoOf, quietly } from "../jail/sys.js";
import { collect, type Written } from "./host-content.js";
import { inheritGroup, install, staged, withCurrent } from "./host-stage.js";
import {
  type Change,
  checkFile,
  createParents,
  flushDirectory,
  locate,
  lockTarget,
  type Reached,
} from "./host-target.js";

/** How often an append starts again because another process has replaced, removed or made the file meanwhile. */
const RACES = 20;

/** Adds to the end of a file in one write; makes it when it is missing. */
export function* appendFile(change: Change, found: Reached, options: { body: Body; parents: boolean }): Io<Written> {
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  const data = yield* collect(change, yield* wait(options.body.load()));
  change.access.scope.checkpoint();
  yield* createParents(change, target.parents);
  const turn = yield* lockTarget(change, target.name);
  try {
    for (let attempt = 1; attempt <= RACES; attempt++) {
      const stale = turn.stale || attempt > 1;
      const created = yield* withCurrent(change, { target, stale }, (old) =>
        appendTo(change, { name: target.name, checked: target.old, old, data }),
      );
      if (created !== "raced") return { bytes: data.length, created };
    }
    throw ioError(change.access.place, "EAGAIN");
  } finally {
    turn.release();
  }
}

function* appendTo(
  change: Change,
  target: { name: string; checked: Pinned | undefined; old: Pinned | undefined; data: Buffer },
): Io<boolean | "raced"> {
  const { old, name, data } = target;
  if (old === undefined) return yield* createWith(change, target);
  if (old !== target.checked) yield* checkFile(change, old);
  const done = yield* appendInPlace(change, old, data);
  if (done !== "linked") return done;
  return yield* appendCopy(change, { name, old, data });
}

/** Makes the file with its first content; whatever got the name first is left alone. */
function* createWith(change: Change, target: { name: string; data: Buffer }): Io<true | "raced"> {
  const { jail, walk } = change;
  const path = below(walk.directory, target.name);
  change.access.scope.commit();
  let fd: number;
  try {
    // In append mode from the start: another process may add to the file as soon as it is there.
    fd = yield* jail.sys.open(path, CREATE_APPEND);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return "raced";
    throw error;
  }
  try {
    yield* inheritGroup(change, fd);
    yield* writeOnce(change, { fd, size: 0, data: target.data });
  } catch (error) {
    yield* quietly(takeBack(change, fd, target.name));
    throw error;
  } finally {
    closeNow(fd);
  }
  yield* flushDirectory(change, walk.directory);
  return true;
}

/** Removes the file that could not be filled, unless somebody else uses it, or its name, by now. */
function* takeBack(change: Change, fd: number, name: string): Io<void> {
  const { jail, walk } = change;
  const made = yield* jail.sys.fstat(fd);
  const now = yield* jail.handles.pin(walk.directory, name);
  if (now === undefined) return;
  try {
    const same = now.stat.ino === made.ino && now.stat.dev === made.dev;
    if (same && made.size === 0) yield* jail.sys.unlink(below(walk.directory, name));
  } finally {
    release(now);
  }
}

/** `raced`: the file has lost its last name since it was found. `linked`: it has others, which must keep the old bytes. */
function* appendInPlace(change: Change, old: Pinned, data: Buffer): Io<false | "raced" | "linked"> {
  const { sys } = change.jail;
  const fd = yield* openAgain(change, old);
  if (fd === undefined) return "raced";
  try {
    const { size, nlink } = yield* sys.fstat(fd);
    if (nlink === 0) return "raced";
    if (nlink > 1 && !change.rules.hardLinks) return "linked";
    change.access.scope.commit();
    yield* writeOnce(change, { fd, size, data });
    return false;
  } finally {
    closeNow(fd);
  }
}

/** `undefined` when something else has the name by now, on platforms where only the name can be opened. */
function* openAgain(change: Change, old: Pinned): Io<number | undefined> {
  try {
    return yield* change.jail.handles.reopen(old, APPEND);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ESTALE") return undefined;
    throw error;
  }
}

/** One write, and its flush. What got through of a failed one is taken back, unless others have added to it. */
function* writeOnce(change: Change, target: { fd: number; size: number; data: Buffer }): Io<void> {
  const { sys } = change.jail;
  const { fd, size, data } = target;
  let written = 0;
  try {
    written = yield* sys.write(fd, data, 0);
    if (written < data.length) throw noSpace(change.access.place);
    if (change.rules.durable) yield* sys.fsync(fd);
  } catch (error) {
    const now = yield* quietly(sys.fstat(fd));
    if (now?.size === size + written) yield* quietly(sys.ftruncate(fd, size));
    throw error;
  }
}

/** The other names of a hard-linked file may lie outside the root: they keep the old bytes, this name gets a new file. */
function* appendCopy(change: Change, target: { name: string; old: Pinned; data: Buffer }): Io<false | "raced"> {
  const { old, name, data } = target;
  const before = yield* contentOf(change, old);
  return yield* staged(change, old, function* (file) {
    yield* change.jail.sys.writeAll(file.fd, before);
    yield* change.jail.sys.writeAll(file.fd, data);
    if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
    // Another process may have put something else in place, with content that is not in the copy.
    if (!(yield* isStill(change, name, old))) return "raced";
    yield* install(change, file, { name, old });
    return false;
  });
}

function* isStill(change: Change, name: string, old: Pinned): Io<boolean> {
  const now = yield* change.jail.handles.pin(change.walk.directory, name);
  if (now === undefined) return false;
  try {
    return identity(now) === identity(old);
  } finally {
    release(now);
  }
}

/** The whole content of a file that is to be copied. @throws HARD_LINKED if that is more than may be */
function* contentOf(change: Change, file: Pinned): Io<Buffer> {
  const { handles, sys } = change.jail;
  const limit = change.rules.maxCopyBytes;
  const fd = yield* handles.reopen(file, READ);
  try {
    const parts: Buffer[] = [];
    let length = 0;
    // One byte more than expected shows the end in the same call.
    let { size: expected } = yield* sys.fstat(fd);
    for (;;) {
      if (length + expected > limit) throw hardLinked(change.access.place);
      const buffer = Buffer.allocUnsafe(expected + 1);
      const count = yield* sys.read(fd, buffer, 0, length);
      parts.push(buffer.subarray(0, count));
      length += count;
      if (length > limit) throw hardLinked(change.access.place);
      if (count < buffer.length) return Buffer.concat(parts, length);
      expected = Math.min(65_536, limit - length);
    }
  } finally {
    closeNow(fd);
  }
}
