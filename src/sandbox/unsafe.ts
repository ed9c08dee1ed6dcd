// The unconfined driver, for development.

import { AS_ROOT } from "../core/errors/sandbox-texts.js";
import type { Sandbox, SandboxJob, SandboxProbe, SandboxProcess, ShellConfig } from "../core/ports/sandbox.js";
import { identityFor } from "./bwrap/identity.js";
import { type ChildHost, startChild, unavailable } from "./child.js";

/**
 * Plain child processes, for development on machines without a sandbox. Mounts are not visible at their mount points:
 * `cwd` and the environment are translated to host paths, arguments are not.
 */
export class UnsafeSandbox implements Sandbox {
  readonly name = "unsafe";
  readonly shows = "host";
  readonly uid?: number;
  readonly gid?: number;
  readonly #host: ChildHost;

  constructor({ uid, gid }: ShellConfig, host: ChildHost) {
    this.#host = host;
    if (uid !== undefined) this.uid = uid;
    if (gid !== undefined) this.gid = gid;
  }

  async probe(): Promise<SandboxProbe> {
    return { available: true, network: true, realBinaries: true };
  }

  /** @throws NOT_SUPPORTED if something would have to be hidden from the command */
  run(job: SandboxJob): SandboxProcess {
    const [program = "", ...args] = job.argv;
    if (job.mounts.some(({ writable }) => !writable))
      throw unavailable(this.#host, "without a sandbox nothing is read-only");
    const isHidden = job.mounts.some(({ host }) => host?.masks.some(({ path }) => !isStage(path)) === true);
    if (isHidden)
      throw unavailable(this.#host, "without a sandbox nothing that is denied or protected can be kept from commands");
    const identity = identityFor(this, job.mounts);
    if (identity === "root") throw unavailable(this.#host, AS_ROOT);
    const env = Object.fromEntries(Object.entries(job.env).map(([name, value]) => [name, onHost(job, value)]));
    const options = { cwd: onHost(job, job.cwd), env, stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] };
    return startChild(
      {
        file: program,
        args,
        options: { ...options, ...(identity === undefined ? {} : { uid: identity.uid, gid: identity.gid }) },
        feeds: new Map(),
        ...{ signalCodes: false, endsGroup: true },
      },
      job,
      this.#host,
    );
  }
}

const isStage = (path: Uint8Array): boolean => Buffer.from(path).toString() === ".venue-files";

/** Translates a path inside a mount to its host path; returns other texts unchanged. */
function onHost({ mounts }: SandboxJob, text: string): string {
  for (const { at, host } of [...mounts].sort((a, b) => b.at.length - a.at.length)) {
    if (host !== undefined && (text === at || text.startsWith(`${at}/`))) return `${host.path}${text.slice(at.length)}`;
  }
  return text;
}
