import type { Access, Visit, WalkOptions } from "../core/backend.js";
import type { Io } from "../core/io.js";
import { examine, type Name, readNames, typeOf } from "../jail/directory.js";
import { type Pinned, release } from "../jail/handles.js";
import type { Jail } from "../jail/jail.js";
import { quietly } from "../jail/sys.js";

interface Frame {
  readonly directory: Pinned;
  /** From the start of the walk to the directory. */
  readonly below: readonly string[];
  /** The policy denies the directory itself. */
  readonly isDenied: boolean;
  names: readonly Name[];
  next: number;
}

export interface HostWalkOptions extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** Fails where a directory cannot be looked into, rather than passing it by. */
  readonly strict?: boolean;
}

/** Visits the entries below a directory, depth first and in order; each directory is entered by its parent's handle. */
export function* walkEntries(jail: Jail, start: Pinned, options: HostWalkOptions): Io<void> {
  const { sys, foldsCase } = jail;
  const { scope } = options.access;
  const top = start === jail.top;
  const frames: Frame[] = [
    {
      ...{ directory: start, below: [], isDenied: false, next: 0 },
      names: yield* readNames(sys, start, { top, foldsCase, scope }),
    },
  ];
  try {
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const name = frame.names[frame.next++];
      if (name === undefined) {
        leave(frames, start);
        continue;
      }
      yield* scope.breathe();
      const isDenied = frame.isDenied || options.access.policy?.denies(frame.below, name.name) === true;
      const visit = isDenied ? options.visitDenied : options.visit;
      if (visit === undefined) continue;
      const step = yield* visitName(jail, frame, { name, visit, sizes: options.sizes });
      if (step === "stop") return;
      const entering = step === "enter" ? enterDirectory(jail, frame.directory, name) : undefined;
      const child = entering && (yield* options.strict === true ? entering : quietly(entering));
      if (child === undefined) continue;
      // Pushed before its names are read, so that it is released whatever happens.
      const entered: Frame = { directory: child, below: [...frame.below, name.name], isDenied, names: [], next: 0 };
      frames.push(entered);
      const reading = readNames(sys, child, { top: false, foldsCase, scope });
      entered.names = (yield* options.strict === true ? reading : quietly(reading)) ?? [];
    }
  } finally {
    while (frames.length > 0) leave(frames, start);
  }
}

function* visitName(
  jail: Jail,
  frame: Frame,
  options: { name: Name; visit: Visit; sizes: boolean },
): Io<"enter" | "skip" | "stop"> {
  const { name, visit, sizes } = options;
  const depth = frame.below.length + 1;
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

/** `undefined` when it is gone, no directory any more, or on another device. */
function* enterDirectory(jail: Jail, parent: Pinned, name: Name): Io<Pinned | undefined> {
  const child = yield* jail.handles.enter(parent, name.raw);
  if (typeof child === "string") return undefined;
  if (jail.crossDevice || child.stat.dev === jail.top.stat.dev) return child;
  release(child);
  return undefined;
}

function leave(frames: Frame[], start: Pinned): void {
  const left = frames.pop();
  if (left !== undefined && left.directory !== start) release(left.directory);
}
