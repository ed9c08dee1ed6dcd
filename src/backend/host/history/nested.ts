// Refuses to remove a tree that holds another root with something in its trash, or with unfinished changes.

import { holdsOtherRoot } from "../../../core/errors/undo-texts.js";
import type { Io } from "../../../core/io.js";
import { examine, type Name, nameOf } from "../../../jail/directory.js";
import { type Pinned, release, withPinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { TRASH } from "../../../jail/staging/folder.js";
import { INTENT_KIND } from "../../../jail/staging/staging.js";
import { quietly } from "../../../jail/sys.js";
import { Descent } from "../../../jail/walk/descent.js";
import { RESERVED_NAME } from "../../../path/grammar.js";
import type { Change } from "../target.js";

const BREATH_STEPS = 256;

/** @throws DENIED_BY_POLICY */
export function* requireNoOtherRoot({ jail, access }: Pick<Change, "jail" | "access">, object: Pinned): Io<void> {
  if (!object.stat.isDirectory()) return;
  const descent = new Descent(jail.handles, object);
  const frames = [{ name: "", names: yield* directoriesIn(jail, object) }];
  try {
    let steps = 0;
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      if (++steps % BREATH_STEPS === 0) yield* access.scope.breathe();
      const name = frame.names.pop();
      if (name === undefined) {
        frames.length -= Math.max(1, yield* descent.leave());
        continue;
      }
      const child = yield* quietly(jail.handles.enter(descent.directory, name.raw));
      if (child === undefined || typeof child === "string") continue;
      if (isStage(name)) {
        const isUsed = yield* hasUnfinishedWork(jail, child);
        release(child);
        const inside = frames.slice(1).map((one) => one.name);
        if (isUsed) throw holdsOtherRoot(access.place, access.verb, inside.join("/"));
        continue;
      }
      descent.push(child, name.raw);
      frames.push({ name: name.name, names: yield* directoriesIn(jail, child) });
    }
  } finally {
    descent.close();
  }
}

const isStage = ({ name }: Name): boolean => name.toLowerCase() === RESERVED_NAME;

/** An unreadable directory counts as empty: it cannot be a root of this user. */
function* directoriesIn(jail: Jail, directory: Pinned): Io<Name[]> {
  const entries = (yield* quietly(jail.sys.names(directory))) ?? [];
  const names: Name[] = [];
  for (const name of entries.map(nameOf)) {
    const type = name.type ?? (yield* examine(jail.sys, directory, name))?.type;
    if (type === "directory") names.push(name);
  }
  return names;
}

function* hasUnfinishedWork(jail: Jail, stage: Pinned): Io<boolean> {
  for (const name of yield* directoriesIn(jail, stage)) {
    if (name.name !== TRASH && !name.name.startsWith(`${INTENT_KIND}-`)) continue;
    const held = yield* withPinned(quietly(jail.handles.enter(stage, name.raw)), (folder) =>
      quietly(jail.sys.names(folder)),
    );
    if (held !== undefined && held.length > 0) return true;
  }
  return false;
}
