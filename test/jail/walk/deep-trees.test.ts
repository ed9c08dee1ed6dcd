import { describe, jest } from "@jest/globals";
import { deepTreeSuite } from "./deep-tree-suite.js";

/** Making and removing so many takes a while on a busy disk. */
jest.setTimeout(240_000);

// More levels than a process may open files, and a path longer than a system call takes. test/long has one of 5,000.
describe("a tree of 2,100 levels", () => deepTreeSuite(2100));
