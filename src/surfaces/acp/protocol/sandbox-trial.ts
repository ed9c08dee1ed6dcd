// Tries the sandbox once before terminals are offered to an agent.

import { SHELL_PATH } from "../../../core/ports/sandbox.js";
import type { Mount } from "../files/mounts.js";
import type { AcpTerminals } from "../options.js";
import type { Host } from "./session.js";

const TRIAL_MS = 5000;

/**
 * Whether commands can run in the mounts in which the caller may run any. A working sandbox can still fail for some
 * roots, for example because of their owner, so a trial command decides whether terminals are offered to agents.
 */
export async function canRun(
  { adapter, base, log }: Host,
  { sandbox }: AcpTerminals,
  mounts: readonly Mount[],
): Promise<boolean> {
  const rights = adapter.rights?.("file:exec", base);
  const own = mounts.filter(({ root }) => rights?.allows([root], "exec/run") ?? true);
  if (adapter.exec === undefined || own.length === 0 || !(await sandbox.probe()).available) return false;
  const shown = own.map(({ root, prefix }) => ({ root, at: `/${prefix.join("/")}` }));
  const trial = {
    ...{ sandbox, mounts: shown, argv: ["true"], cwd: shown[0]?.at ?? "/", env: { PATH: SHELL_PATH } },
    ...{ timeoutMs: TRIAL_MS, outputBytes: 1024, keep: "tail" as const },
  };
  try {
    const run = await adapter.exec(trial, base);
    return (await run.exited).exitCode === 0;
  } catch (err) {
    log.debug({ err }, "no command can be run in the roots");
    return false;
  }
}
