import type { Visit } from "../core/backend.js";
import type { Io } from "../core/io.js";
import type { CallScope } from "../core/scope.js";
import { examine, type Name, readNames, typeOf } from "../jail/directory.js";
import { type Pinned, release } from "../jail/handles.js";
import type { Jail } from "../jail/jail.js";
import { quietly } from "../jail/sys.js";

interface Frame {
  readonly directory: Pinned;
  names: readonly Name[];
  next: number;
}

/** Visits the entries below a directory, depth first and in order; each directory is entered by its parent's handle. */
export function* walkEntries(
  jail: Jail,
  start: Pinned,
  options: { visit: Visit; sizes: boolean; scope: CallScope },
): Io<void> {
  const { sys, foldsCase } = jail;
  const { scope } = options;
  const frames: Frame[] = [
    { directory: start, names: yield* readNames(sys, start, { top: start === jail.top, foldsCase, scope }), next: 0 },
  ];
  try {
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const name = frame.names[frame.next++];
      if (name === undefined) {
        leave(frames, start);
        continue;
      }
      yield* scope.breathe();
      const step = yield* visitName(jail, frame, {
        name,
        depth: frames.length,
        visit: options.visit,
        sizes: options.sizes,
      });
      if (step === "stop") return;
      const child = step === "enter" ? yield* enterDirectory(jail, frame.directory, name) : undefined;
      if (child === undefined) continue;
      // Pushed before its names are read, so that it is released whatever happens.
      const entered: Frame = { directory: child, names: [], next: 0 };
      frames.push(entered);
      entered.names = (yield* quietly(readNames(sys, child, { top: false, foldsCase, scope }))) ?? [];
    }
  } finally {
    while (frames.length > 0) leave(frames, start);
  }
}

function* visitName(
  jail: Jail,
  frame: Frame,
  options: { name: Name; depth: number; visit: Visit; sizes: boolean },
): Io<"enter" | "skip" | "stop"> {
  const { name, depth, visit, sizes } = options;
  const stat =
    name.type === undefined || (sizes && name.type === "file")
      ? yield* examine(jail.sys, frame.directory, name)
      : undefined;
  const type = stat === undefined ? name.type : typeOf(stat);
  // Vanished, or of a kind that nobody knows: left out.
  if (type === undefined || (sizes && type === "file" && stat === undefined)) return "skip";
  const step = visit({ name: name.name, type, size: sizes ? (type === "file" ? stat?.size : 0) : undefined, depth });
  return step === "enter" && type !== "directory" ? "skip" : step;
}

/** `undefined` when it is gone, no directory any more, on another device, or closed to the process. */
function* enterDirectory(jail: Jail, parent: Pinned, name: Name): Io<Pinned | undefined> {
  const child = yield* quietly(jail.handles.enter(parent, name.raw));
  if (child === undefined || typeof child === "string") return undefined;
  if (jail.crossDevice || child.stat.dev === jail.top.stat.dev) return child;
  release(child);
  return undefined;
}

function leave(frames: Frame[], start: Pinned): void {
  const left = frames.pop();
  if (left !== undefined && left.directory !== start) release(left.directory);
}
