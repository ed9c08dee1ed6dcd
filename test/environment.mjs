// Jest's environment for Node, without two leaks that keep the modules of every suite in memory (seen with Jest 30 on Node 20):
// - jest-circus makes an AsyncLocalStorage for each suite and never disables it, and Node passes the store of each on to every
//   promise from then on, so that a worker also slows down with each suite.
// - Modules of a vm context keep what they import alive for as long as the context can reach them, as it does by the state that
//   jest-circus keeps under symbols of the global object.
import { AsyncLocalStorage } from "node:async_hooks";
import { cpSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { TestEnvironment } from "jest-environment-node";
import { shareCompiledCode } from "./compile-cache.mjs";

const require = createRequire(import.meta.url);

shareCompiledCode();

// Node loads what removes and copies trees at its first use, and that keeps the calls of node:fs as it finds them: were it while a
// suite stands in for some of them, the suites after it in this worker would go on with those.
const NOWHERE = fileURLToPath(new URL("nowhere", import.meta.url));
for (const use of [
  () => rm(NOWHERE, { force: true }),
  () => cp(NOWHERE, NOWHERE),
  async () => cpSync(NOWHERE, NOWHERE),
])
  await use().catch(() => {});

const used = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...given) {
  used.add(this);
  return run.apply(this, given);
};

export default class extends TestEnvironment {
  async setup() {
    await super.setup();
    // For the modules in test/native/.
    this.global[Symbol.for("venue-files.import")] = (name) => require(fileURLToPath(import.meta.resolve(name)));
  }

  async teardown() {
    for (const storage of used) storage.disable();
    used.clear();
    const { global } = this;
    await super.teardown();
    // Names stay: timers that outlive a suite use them.
    for (const key of Object.getOwnPropertySymbols(global)) Reflect.deleteProperty(global, key);
  }
}
