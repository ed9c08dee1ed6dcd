// Windows neither opens, renames nor removes what another program has open. Scanners, indexers and editors have it for a moment.

import fs from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Io } from "../core/io.js";
import { PlacedSys } from "./native/placed-sys.js";
import { errnoOf } from "./sys.js";

/** Between eight tries within 1.3 s. */
const PAUSES_MS = [10, 20, 40, 80, 150, 300, 600];
/** Tries of a file that is only read, while another one stays in use: a search meets many. */
const FEW_PAUSES_MS = PAUSES_MS.slice(0, 3);
const FEW_FOR_MS = 5000;
const { O_RDWR, O_WRONLY, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
const WRITABLE = 0o200;

type Name = string | Buffer;

/** The system calls of a root on Windows. A file that stays in use fails with EBUSY. */
export class SharingSys extends PlacedSys {
  #fewUntilMs = 0;

  override *open(path: Name, flags: number, mode?: number): Io<number> {
    const isRead = (flags & (O_RDWR | O_WRONLY | O_CREAT)) === 0;
    const pauses = isRead && performance.now() < this.#fewUntilMs ? FEW_PAUSES_MS : PAUSES_MS;
    try {
      return yield* retryShared(() => super.open(path, flags, mode), isBusy, pauses);
    } catch (error) {
      if (isRead && isBusy(error)) this.#fewUntilMs = performance.now() + FEW_FOR_MS;
      throw error;
    }
  }

  override unlink(path: Name): Io<void> {
    return retryShared(() => super.unlink(path), isOpenElsewhere([path], false));
  }

  override unlinkLarge(path: string): Io<void> {
    return retryShared(() => super.unlinkLarge(path), isOpenElsewhere([path], false));
  }

  override rmdir(path: Name): Io<void> {
    return retryShared(() => super.rmdir(path), isOpenElsewhere([path], true));
  }

  override rmdirLarge(path: string): Io<void> {
    return retryShared(() => super.rmdirLarge(path), isOpenElsewhere([path], true));
  }

  /** A file that could not lose its old name would keep both. */
  override *link(from: Name, to: string): Io<void> {
    if (typeof from === "string") yield* this.rename(from, from);
    yield* super.link(from, to);
  }

  override rename(from: Name, to: string): Io<void> {
    const [isSource, isTarget] = [isOpenElsewhere([from], true), isOpenElsewhere([to], false)];
    return retryShared(
      () => super.rename(from, to),
      (error) => isSource(error) && isTarget(error),
    );
  }
}

function* retryShared<T>(call: () => Io<T>, isShared: (error: unknown) => boolean, pausesMs = PAUSES_MS): Io<T> {
  for (const pauseMs of [...pausesMs, undefined]) {
    try {
      return yield* call();
    } catch (error) {
      if (!isShared(error)) throw error;
      if (pauseMs === undefined) throw Object.assign(new Error("in use"), { code: "EBUSY", syscall: "open" });
      yield delay(pauseMs);
    }
  }
  throw new TypeError("The last try ends the loop");
}

const isBusy = (error: unknown): boolean => errnoOf(error) === "EBUSY";

/** EPERM and EACCES also say that something may not be changed, or is a directory: the entries tell. */
const isOpenElsewhere =
  (paths: readonly Name[], mayBeDirectory: boolean) =>
  (error: unknown): boolean =>
    isBusy(error) ||
    (/^(EPERM|EACCES)$/.test(errnoOf(error) ?? "") && paths.every((path) => mayBeInUse(path, mayBeDirectory)));

function mayBeInUse(path: Name, mayBeDirectory: boolean): boolean {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return mayBeDirectory;
  if (stat?.isFile() !== true) return true;
  if ((stat.mode & WRITABLE) === 0) return false;
  try {
    fs.closeSync(fs.openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
    return true;
  } catch (error) {
    // Otherwise this process may not change it.
    return isBusy(error);
  }
}
