import { describe } from "@jest/globals";
import { deepTreeSuite } from "../jail/walk/deep-tree-suite.js";

describe("a tree of 5,000 levels", () => deepTreeSuite(5000));
