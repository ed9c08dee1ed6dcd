import { describe } from "@jest/globals";
import { deepTreeSuite } from "../jail/deep-tree-suite.js";

describe("a tree of 5,000 levels", () => deepTreeSuite(5000));
