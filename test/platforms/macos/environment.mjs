// Jest's environment for suites that run as on macOS: see apfs.mjs. A suite of it imports `./as-macos.js` first.
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import Environment from "../../environment.mjs";
import { emulateMacOs } from "./apfs.mjs";

export default class extends Environment {
  #restore = () => {};

  async setup() {
    await super.setup();
    this.#restore = emulateMacOs(realpathSync(tmpdir()));
  }

  async teardown() {
    this.#restore();
    await super.teardown();
  }
}
