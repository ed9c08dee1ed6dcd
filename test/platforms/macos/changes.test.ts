/** @jest-environment ./test/platforms/macos/environment.mjs */
// What needs no Linux: operations that change one entry.
import "./as-macos.js";
import "../../ops/append.test.js";
import "../../ops/copy.test.js";
import "../../ops/delete.test.js";
import "../../ops/mkdir.test.js";
import "../../ops/move.test.js";
import "../../ops/write.test.js";
