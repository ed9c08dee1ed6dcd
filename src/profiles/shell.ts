import type { Sandbox, SandboxProbe } from "../core/ports/sandbox.js";
import type { ProfileShell } from "./profile.js";

/** Has a sandbox made, and knows when that is done; where it cannot be made, there is none. */
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
