// LMDB, in the form of its library that is one file: its dozen modules take half as long again to load.

import { createRequire } from "node:module";
import type * as Library from "lmdb";

const library: typeof Library = createRequire(import.meta.url)("lmdb");

export const { ABORT, open } = library;
