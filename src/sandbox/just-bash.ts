import type { Sandbox, SandboxProbe, SandboxProcess } from "../core/sandbox.js";
import { type ChildHost, unavailable } from "./child.js";

/** A shell in JavaScript. */
export class JustBashSandbox implements Sandbox {
  readonly name = "just-bash";
  readonly shows = "files";
  readonly #host: ChildHost;

  constructor(host: ChildHost) {
    this.#host = host;
  }

  async probe(): Promise<SandboxProbe> {
    return { available: false, reason: "the driver just-bash is not there yet", network: false, realBinaries: false };
  }

  run(): SandboxProcess {
    throw unavailable(this.#host, "the driver just-bash is not there yet");
  }
}
