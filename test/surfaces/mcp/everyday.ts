import { OPERATIONS } from "../../../src/ops/registry.js";

/** The tools of the default set, in their order, as far as there are such operations. */
export const EVERYDAY: readonly string[] = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep"],
  ...["write", "edit", "append", "mkdir", "move", "copy", "delete"],
]
  .filter((name) => OPERATIONS.some((operation) => operation.name === name))
  .map((name) => `file_${name}`);
