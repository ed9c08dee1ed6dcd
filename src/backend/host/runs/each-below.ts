// Visits every entry below a directory, also those with names that no path can have.

import { type Io, yieldToLoop } from "../../../core/io.js";
import { examine, forEachPiece, rawName } from "../../../jail/directory.js";
import { type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, isExhaustion, quietly } from "../../../jail/sys.js";
import { Descent } from "../../../jail/walk/descent.js";
import { joinPath } from "./scan.js";

const BREATH_STEPS = 256;
const OWN_ALL = 0o700;

/** Handles one entry; `undefined`: nothing to do. */
export type Work = (directory: Pinned, name: string | Buffer, stat: Stat) => Io<unknown> | undefined;

/** Selects entries to visit: `all` with everything below, `some` with the selected entries below. @param path from the top */
export type Meant = (path: string) => "all" | "some" | "none";

const EVERYTHING: Meant = () => "all";

interface Frame {
  /** `undefined`: everything in it is visited. */
  readonly path: string | undefined;
  readonly names: (string | Buffer)[];
}

/**
 * Visits every selected entry below a directory, whatever its name; unreachable ones are left out.
 * @returns whether nothing was missed that another pass may reach, such as a tree moved meanwhile or a lack of
 * descriptors
 */
export function* forEachBelow(jail: Jail, top: Pinned, work: Work, meant = EVERYTHING): Io<boolean> {
  const descent = new Descent(jail.handles, top);
  const frames: Frame[] = [{ path: meant === EVERYTHING ? undefined : "", names: yield* namesIn(jail, top) }];
  let steps = 0;
  let isWhole = true;
  try {
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      if (++steps % BREATH_STEPS === 0) yield yieldToLoop();
      const name = frame.names.pop();
      if (name === undefined) {
        const left = yield* descent.leave();
        if (left > 1) isWhole = false;
        frames.length -= Math.max(1, left);
        continue;
      }
      const path = frame.path === undefined ? undefined : joinPath(frame.path, String(name));
      const part = path === undefined ? "all" : meant(path);
      if (part === "none") continue;
      const { directory } = descent;
      // No generator where nothing has to be waited for: that would take longer than the rest.
      const now = jail.sys.native?.calls?.stat(directory.fd, name);
      const stat = now ?? (yield* examine(jail.sys, directory, { name: "", raw: name, type: undefined }));
      if (stat === undefined) continue;
      const doing = work(directory, name, stat);
      if (doing !== undefined) yield* doing;
      const child = stat.isDirectory() ? yield* enter(jail, directory, name) : undefined;
      if (child === "exhausted") isWhole = false;
      if (child === undefined || typeof child === "string") continue;
      if (child.stat.device !== top.stat.device) release(child);
      else {
        descent.push(child, name);
        frames.push({ path: part === "all" ? undefined : path, names: yield* namesIn(jail, child) });
      }
    }
    return isWhole;
  } finally {
    descent.close();
  }
}

/** `undefined`: this process has no access. */
function* enter(jail: Jail, parent: Pinned, name: string | Buffer): Io<Pinned | string | undefined> {
  try {
    return yield* jail.handles.enter(parent, name);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return isExhaustion(error) ? "exhausted" : undefined;
  }
}

/** The owner of a directory can revoke access for a while, but not from this process. */
function* namesIn(jail: Jail, directory: Pinned): Io<(string | Buffer)[]> {
  const read = () => quietly(collect(jail, directory));
  const names = yield* read();
  if (names !== undefined) return names;
  const { mode } = directory.stat;
  yield* quietly(jail.sys.chmod(directory.path, (mode & 0o7777) | OWN_ALL));
  const again = (yield* read()) ?? [];
  yield* quietly(jail.sys.chmod(directory.path, mode & 0o7777));
  return again;
}

function* collect(jail: Jail, directory: Pinned): Io<(string | Buffer)[]> {
  const names: (string | Buffer)[] = [];
  yield* forEachPiece(jail.sys, directory, function* (entries) {
    if (names.length > 0) yield yieldToLoop();
    for (const entry of entries) names.push(rawName(entry));
  });
  return names;
}
