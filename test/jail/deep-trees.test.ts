import { describe, jest } from "@jest/globals";
import { deepTreeSuite } from "./deep-tree-suite.js";

/** Making and removing so many takes a while on a busy disk. */
jest.setTimeout(240_000);

// test/long has one of twice the depth.
describe("a tree of 2,500 levels", () => deepTreeSuite(2500));
