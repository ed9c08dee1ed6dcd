/** @jest-environment ./test/platforms/macos/environment.mjs */
// What needs no Linux: operations that change entries and contents, and what is kept of changes.
import "./as-macos.js";
import "../../ops/append.test.js";
import "../../ops/copy.test.js";
import "../../ops/delete.test.js";
import "../../ops/edit.test.js";
import "../../ops/history.test.js";
import "../../ops/mkdir.test.js";
import "../../ops/move.test.js";
import "../../ops/patch.test.js";
import "../../ops/patching/sequence.test.js";
import "../../ops/restore.test.js";
import "../../ops/trash.test.js";
import "../../ops/undo.test.js";
import "../../ops/write.test.js";
