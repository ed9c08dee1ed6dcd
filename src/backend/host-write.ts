import type { Body } from "../core/backend.js";
import { type Io, runIo, wait } from "../core/io.js";
import { hardLinked, ioError, noSpace } from "../core/texts.js";
import { APPEND, below, CREATE, type Pinned, READ, release } from "../jail/handles.js";
import type { StagedFile } from "../jail/staging.js";
import { closeNow, errnoOf, quietly } from "../jail/sys.js";
import {
  type Change,
  checkFile,
  createParents,
  flushDirectory,
  locate,
  lockTarget,
  type Reached,
  type Target,
} from "./host-target.js";

interface Written {
  readonly bytes: number;
  readonly created: boolean;
}

type Content = Buffer | AsyncIterable<Uint8Array>;

const PERMISSION_BITS = 0o777;
const SET_GID = 0o2000;
const RACES = 3;

/** Puts new content in place of whatever file has the name, in one rename. */
export function* replaceFile(change: Change, found: Reached, options: { body: Body; parents: boolean }): Io<Written> {
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  const content = yield* wait(options.body.load());
  return yield* staged(change, function* (file) {
    const bytes = yield* fill(change, file.fd, content);
    if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
    change.access.scope.checkpoint();
    yield* createParents(change, target.parents);
    const lock = yield* lockTarget(change, target.name);
    try {
      const created = yield* withCurrent(change, { target, stale: lock.waited }, function* (old) {
        if (old !== target.old) yield* checkFile(change, old);
        yield* install(change, file, { name: target.name, old });
        return old === undefined;
      });
      return { bytes, created };
    } finally {
      lock.release();
    }
  });
}

/** Adds to the end of a file in one write; makes it when it is missing. */
export function* appendFile(change: Change, found: Reached, options: { body: Body; parents: boolean }): Io<Written> {
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  const data = yield* collect(change, yield* wait(options.body.load()));
  change.access.scope.checkpoint();
  yield* createParents(change, target.parents);
  const lock = yield* lockTarget(change, target.name);
  try {
    for (let attempt = 1; attempt <= RACES; attempt++) {
      const stale = lock.waited || attempt > 1;
      const created = yield* withCurrent(change, { target, stale }, (old) =>
        appendTo(change, { name: target.name, checked: target.old, old, data }),
      );
      if (created !== "raced") return { bytes: data.length, created };
    }
    throw ioError(change.access.place, "EAGAIN");
  } finally {
    lock.release();
  }
}

function* appendTo(
  change: Change,
  target: { name: string; checked: Pinned | undefined; old: Pinned | undefined; data: Buffer },
): Io<boolean | "raced"> {
  const { old, data } = target;
  if (old === undefined) return yield* createWith(change, target);
  if (old !== target.checked) yield* checkFile(change, old);
  if (old.stat.nlink > 1 && !change.rules.hardLinks) yield* appendCopy(change, { ...target, old });
  else yield* appendInPlace(change, old, data);
  return false;
}

/** Makes the file with its first content; whatever got the name first is left alone. */
function* createWith(change: Change, target: { name: string; data: Buffer }): Io<true | "raced"> {
  const { jail, walk, rules } = change;
  const path = below(walk.directory, target.name);
  change.access.scope.commit();
  let fd: number;
  try {
    fd = yield* jail.sys.open(path, CREATE);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return "raced";
    throw error;
  }
  try {
    yield* inheritGroup(change, fd);
    yield* writeOnce(change, { fd, size: 0, data: target.data });
    if (rules.durable) yield* jail.sys.fsync(fd);
  } catch (error) {
    yield* quietly(jail.sys.unlink(path));
    throw error;
  } finally {
    closeNow(fd);
  }
  yield* flushDirectory(change, walk.directory);
  return true;
}

function* appendInPlace(change: Change, old: Pinned, data: Buffer): Io<void> {
  const { handles, sys } = change.jail;
  const fd = yield* handles.reopen(old, APPEND);
  try {
    const { size } = yield* sys.fstat(fd);
    change.access.scope.commit();
    yield* writeOnce(change, { fd, size, data });
    if (change.rules.durable) yield* sys.fsync(fd);
  } finally {
    closeNow(fd);
  }
}

/** One write; what a full disk let through of it is taken back. */
function* writeOnce(change: Change, target: { fd: number; size: number; data: Buffer }): Io<void> {
  const { sys } = change.jail;
  try {
    if ((yield* sys.write(target.fd, target.data, 0)) < target.data.length) throw noSpace(change.access.place);
  } catch (error) {
    yield* quietly(sys.ftruncate(target.fd, target.size));
    throw error;
  }
}

/** The other names of a hard-linked file may lie outside the root: they keep the old bytes, this name gets a new file. */
function* appendCopy(change: Change, target: { name: string; old: Pinned; data: Buffer }): Io<void> {
  const { old, name, data } = target;
  const { sys, handles } = change.jail;
  if (old.stat.size > change.rules.maxCopyBytes) throw hardLinked(change.access.place);
  const before = Buffer.allocUnsafe(old.stat.size);
  const source = yield* handles.reopen(old, READ);
  let length = 0;
  try {
    for (let count = -1; count !== 0 && length < before.length; length += count) {
      count = yield* sys.read(source, before, length, length);
    }
  } finally {
    closeNow(source);
  }
  yield* staged(change, function* (file) {
    yield* sys.writeAll(file.fd, before.subarray(0, length));
    yield* sys.writeAll(file.fd, data);
    if (change.rules.durable) yield* sys.fsync(file.fd);
    yield* install(change, file, { name, old });
  });
}

/** Runs `work` with a new staged file, which is gone afterwards unless it has been installed. */
function* staged<T>(change: Change, work: (file: StagedFile) => Io<T>): Io<T> {
  const { jail, walk } = change;
  const file = yield* jail.staging.create(walk.directory);
  try {
    return yield* work(file);
  } catch (error) {
    yield* quietly(jail.sys.unlink(file.path));
    jail.inBackground(runIo(jail.staging.sweep()));
    throw error;
  } finally {
    if (file.fd >= 0) closeNow(file.fd);
    file.stage.release();
  }
}

/** Gives the staged file the rights of the one it replaces, and its name. The commit of every write. */
function* install(change: Change, file: StagedFile, target: { name: string; old: Pinned | undefined }): Io<void> {
  const { sys } = change.jail;
  const { directory } = change.walk;
  if (target.old === undefined) yield* inheritGroup(change, file.fd);
  else {
    const { uid, gid, mode } = target.old.stat;
    yield* quietly(sys.fchown(file.fd, process.geteuid?.() === 0 ? uid : -1, gid));
    yield* sys.fchmod(file.fd, mode & PERMISSION_BITS);
  }
  // Network file systems report a full disk no earlier than here.
  const { fd } = file;
  file.fd = -1;
  yield* sys.close(fd);
  change.access.scope.commit();
  yield* sys.rename(file.path, below(directory, target.name));
  yield* flushDirectory(change, directory);
}

/** A set-group-id directory hands its group on; a file that was made elsewhere has to be told. */
function* inheritGroup(change: Change, fd: number): Io<void> {
  const { stat } = change.walk.directory;
  if ((stat.mode & SET_GID) !== 0) yield* quietly(change.jail.sys.fchown(fd, -1, stat.gid));
}

/** Looks at the name again if it may have changed since the walk. */
function* withCurrent<T>(
  change: Change,
  at: { target: Target; stale: boolean },
  work: (old: Pinned | undefined) => Io<T>,
): Io<T> {
  if (!at.stale && at.target.parents.length === 0) return yield* work(at.target.old);
  const now = yield* change.jail.handles.pin(change.walk.directory, at.target.name);
  try {
    return yield* work(now);
  } finally {
    if (now !== undefined) release(now);
  }
}

function* fill(change: Change, fd: number, content: Content): Io<number> {
  const { sys } = change.jail;
  if (Buffer.isBuffer(content)) {
    yield* sys.writeAll(fd, content);
    return content.length;
  }
  let bytes = 0;
  yield* eachChunk(change, content, function* (chunk) {
    yield* sys.writeAll(fd, chunk);
    bytes += chunk.length;
  });
  return bytes;
}

function* collect(change: Change, content: Content): Io<Buffer> {
  if (Buffer.isBuffer(content)) return content;
  const chunks: Uint8Array[] = [];
  yield* eachChunk(change, content, function* (chunk) {
    // A stream may use its buffer again for the next chunk.
    chunks.push(Buffer.from(chunk));
  });
  return Buffer.concat(chunks);
}

function* eachChunk(
  change: Change,
  content: AsyncIterable<Uint8Array>,
  work: (chunk: Uint8Array) => Io<void>,
): Io<void> {
  const chunks = content[Symbol.asyncIterator]();
  let finished = false;
  try {
    for (;;) {
      const step = (yield chunks.next()) as IteratorResult<Uint8Array>;
      if (step.done === true) break;
      change.access.scope.checkpoint();
      yield* work(step.value);
    }
    finished = true;
  } finally {
    if (!finished && chunks.return !== undefined) yield chunks.return().catch(() => undefined);
  }
}
