/** @jest-environment ./test/platforms/macos/environment.mjs */
// What needs no Linux: edits and patches.
import "./as-macos.js";
import "../../ops/edit.test.js";
import "../../ops/patch.test.js";
import "../../ops/patching/sequence.test.js";
