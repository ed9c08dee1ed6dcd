/** @jest-environment ./test/platforms/macos/environment.mjs */
// What needs no Linux: what is kept of changes.
import "./as-macos.js";
import "../../ops/trash.test.js";
import "../../ops/undo.test.js";
import "../../ops/history.test.js";
import "../../ops/restore.test.js";
