/** @jest-environment ./test/platforms/macos/environment.mjs */
// What needs no Linux: attempts to get out.
import "./as-macos.js";
import "../../jail/attacks/escapes.test.js";
