// Opens the sandbox of a profile, and reports it as unavailable where that fails.

import type { Sandbox, SandboxProbe } from "../core/ports/sandbox.js";
import type { ProfileShell } from "./profile.js";

/** Creates a sandbox and probes it; if creation or probing fails, the probe reports it as unavailable. */
export function openShell(create: () => Promise<Sandbox>): ProfileShell {
  let probe: SandboxProbe | undefined;
  const sandbox = create();
  const ready = sandbox
    .then((made) => made.probe())
    .catch(() => ({ available: false, network: false, realBinaries: false }))
    .then((found) => {
      probe = found;
    });
  return {
    sandbox,
    ready,
    get probe() {
      return probe;
    },
  };
}
