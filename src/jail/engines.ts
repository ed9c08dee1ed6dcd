// Which system calls serve a root: see {@link EngineName}.

import { type EngineName, type Handles, PathHandles, ProcHandles } from "./handles.js";
import { hasProcHandles } from "./mounts.js";
import { NativeSource } from "./native/calls.js";
import type { Sys } from "./sys.js";
import { BeneathHandles, WALKS_BEFORE_LOADING } from "./walk/beneath.js";

/** @param engine absent: the best that is available */
export function handlesFor(engine: EngineName | undefined, sys: Sys): Handles {
  if (engine === "real-path check" || (engine === undefined && !hasProcHandles())) return new PathHandles(sys);
  if (engine === "handle walk" || sys.pooled) return new ProcHandles(sys);
  return new BeneathHandles(sys, { after: engine === undefined ? WALKS_BEFORE_LOADING : 0 });
}

/** Native calls on directory handles; `undefined`: only the calls of Node. */
export function nativeFor(engine: EngineName | undefined): NativeSource | undefined {
  if (engine === undefined) return NativeSource.shared;
  return engine === "openat2" ? new NativeSource(0) : undefined;
}
