import type { Sandbox, SandboxProbe } from "../core/sandbox.js";
import type { ProfileShell } from "./profile.js";

/** Has a sandbox made, and knows when that is done. @param create never rejects */
export function openShell(create: () => Promise<Sandbox>): ProfileShell {
  let probe: SandboxProbe | undefined;
  const sandbox = create();
  const ready = sandbox.then(async (made) => {
    probe = await made.probe();
  });
  return {
    sandbox,
    ready,
    get probe() {
      return probe;
    },
  };
}
