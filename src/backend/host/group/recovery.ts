// Opens the directories of recorded paths through the jail.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Io } from "../../../core/io.js";
import type { Jail } from "../../../jail/jail.js";
import { relPath } from "../../../path/grammar.js";
import type { RealPath } from "./intent.js";
import type { Opened } from "./roll-back.js";

/** Time (ms) for undoing a group, which no caller waits for. */
const PATIENCE_MS = 600_000;
/** Errors of a walk that say that a path no longer leads where it did. */
const LED_ASTRAY: ReadonlySet<string> = new Set(["SYMLINK_ESCAPE", "INVALID_PATH", "OTHER_DEVICE"]);

/**
 * Walks to the directories of real paths, through no link.
 * @param isRefused what the operator denies or protects
 */
export function directoriesIn(
  jail: Jail,
  isRefused: (path: RealPath) => boolean = () => false,
): (path: RealPath) => Io<Opened | undefined> {
  const scope = new CallScope({ clock: systemClock, timeoutMs: PATIENCE_MS });
  return function* (path) {
    if (path.length === 0 || isRefused(path)) return undefined;
    const place = { root: "", path: path.join("/") };
    const walk = jail.walk(relPath(path.slice(0, -1)), { place, scope, followLast: false, links: "refuse" });
    let isFound = false;
    try {
      const found = yield* walk.run();
      if (found.state !== "found" || !found.object.stat.isDirectory()) return undefined;
      isFound = true;
      return { directory: found.object, close: () => walk.close() };
    } catch (error) {
      if (error instanceof FileAdapterError && LED_ASTRAY.has(error.code)) return undefined;
      throw error;
    } finally {
      if (!isFound) walk.close();
    }
  };
}
