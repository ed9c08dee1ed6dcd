import { notSupportedHere } from "../core/errors/texts.js";
import type { DriverName, Sandbox, SandboxProbe } from "../core/ports/sandbox.js";

/** Runs nothing. */
export function createNone(reason: string, name: DriverName = "none"): Sandbox {
  const probe: SandboxProbe = { available: false, reason, network: false, realBinaries: false };
  return {
    name,
    shows: "files",
    probe: async () => probe,
    run() {
      throw notSupportedHere("no sandbox available");
    },
  };
}
