import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { knowsOpeners } from "../../src/jail/mounts.js";
import { loadCalls } from "../../src/jail/native/calls.js";

/** Whether a replaced file can take the next content of the same file here. */
export const takesSpares = loadCalls() !== undefined && knowsOpeners(realpathSync(tmpdir()));
/** Why not. */
export const WITHOUT_SPARES =
  "files that are replaced again and again: no native calls, or a file system that cannot tell who has a file open";
