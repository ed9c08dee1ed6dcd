// Choice of the system calls that serve a root: see {@link EngineName}.

import { isWindows } from "../core/system.js";
import { type EngineName, type Handles, ProcHandles } from "./handles.js";
import { hasProcHandles } from "./mounts.js";
import { NativeSource } from "./native/calls.js";
import { PlacedSys, placeOf } from "./native/placed-sys.js";
import { findWhere } from "./native/where.js";
import { SharingSys } from "./sharing.js";
import { Sys } from "./sys.js";
import { BeneathHandles, WALKS_BEFORE_LOADING } from "./walk/beneath.js";
import { PathHandles } from "./walk/path-handles.js";

/**
 * @param engine absent: the best that is available
 * @param realPath of the root
 */
export function sysFor(engine: EngineName | undefined, usePool: boolean, realPath: string): Sys {
  const where = goesByPath(engine) ? findWhere() : undefined;
  const place = where && placeOf(realPath, where);
  if (isWindows()) return new SharingSys(usePool, nativeFor(engine), place);
  return place === undefined ? new Sys(usePool, nativeFor(engine)) : new PlacedSys(usePool, undefined, place);
}

const goesByPath = (engine: EngineName | undefined): boolean =>
  engine === "real-path check" || (engine === undefined && !hasProcHandles());

/** @param engine absent: the best that is available */
export function handlesFor(engine: EngineName | undefined, sys: Sys): Handles {
  if (goesByPath(engine)) return new PathHandles(sys);
  if (engine === "handle walk" || sys.pooled) return new ProcHandles(sys);
  return new BeneathHandles(sys, { after: engine === undefined ? WALKS_BEFORE_LOADING : 0 });
}

/** Native calls on directory handles; `undefined`: only the calls of Node. */
function nativeFor(engine: EngineName | undefined): NativeSource | undefined {
  if (engine === undefined) return NativeSource.shared;
  return engine === "openat2" ? new NativeSource(0) : undefined;
}
