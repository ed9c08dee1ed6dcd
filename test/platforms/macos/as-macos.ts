// Whoever imports this first runs as on macOS. Not by `process.platform`: packages of others would look for their binaries by it.
import { simulateSystem } from "../../../src/core/system.js";

simulateSystem("darwin");
