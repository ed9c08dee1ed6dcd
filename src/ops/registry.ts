import type { AnyOperation } from "../core/operation.js";
import { append } from "./append.js";
import { deleteEntry } from "./delete.js";
import { list } from "./list.js";
import { mkdir } from "./mkdir.js";
import { read } from "./read.js";
import { roots } from "./roots.js";
import { stat } from "./stat.js";
import { tree } from "./tree.js";
import { write } from "./write.js";

/** Every operation of the adapter, in the order in which they are listed. */
export const OPERATIONS: readonly AnyOperation[] = [roots, list, tree, read, stat, write, append, mkdir, deleteEntry];
