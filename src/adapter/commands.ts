// Starts sandboxed commands as calls of `exec`, and lets them call file operations below the directories they mount.

import { countText } from "../core/call/progress.js";
import { aborted, readOnlyRoot } from "../core/errors/texts.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { ExecMount, ExecRequest, SandboxFiles, SandboxOutput, SandboxProcess } from "../core/ports/sandbox.js";
import type { CommandTerms } from "../core/ports/streams.js";
import type { Dispatcher } from "../dispatch/dispatch.js";
import type { ExecOutput } from "../ops/exec.js";

const TOO_MANY = "their names are denied by policy, and too many of them keep commands from being run. Use other names";

/** Notice to the command about denied entries that it left, and about too many protected ones. */
function noticeOf({ removed, returned, tooManyProtected, hint }: ExecOutput): Uint8Array | undefined {
  const lines: string[] = [];
  const denied = (count: number): string => `venue-files: ${countText(count, "entry", "entries")}`;
  if (removed > 0) lines.push(`${denied(removed)} removed that this command made: ${TOO_MANY}`);
  if (returned > 0) {
    lines.push(`${denied(returned)} renamed back, or to free names, that this command had renamed: ${TOO_MANY}`);
  }
  if (tooManyProtected > 0) {
    const count = countText(tooManyProtected, "entry is", "entries are");
    lines.push(
      `venue-files: nothing could be changed: ${count} protected, too many to mount read-only one by one, so all was read-only. File operations can change what is not protected`,
    );
  }
  if (hint !== undefined) lines.push(hint);
  return lines.length === 0 ? undefined : Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

/** Adds a notice to the end of the error output. */
function withNotice(output: SandboxOutput, notice: Uint8Array | undefined): SandboxOutput {
  if (notice === undefined) return output;
  const { stderr, combined } = output;
  return { ...output, stderr: Buffer.concat([stderr, notice]), combined: Buffer.concat([combined, notice]) };
}

/** Operations that a command may call in a directory mounted read-only. */
const LOOKS: ReadonlySet<string> = new Set(["read", "stat", "list"]);

/** The commands of one adapter; each is a call of its operation `exec`. */
export class Commands {
  readonly #adapterName: string;
  readonly #dispatcher: Pick<Dispatcher, "invoke">;
  readonly #running = new Set<SandboxProcess>();
  #isClosed = false;

  constructor(adapterName: string, dispatcher: Pick<Dispatcher, "invoke">) {
    this.#adapterName = adapterName;
    this.#dispatcher = dispatcher;
  }

  /** @returns once it runs @throws FileAdapterError */
  run(request: ExecRequest, caller: SurfaceContext): Promise<SandboxProcess> {
    // Paths of a command are exact: none is read as one that names its root.
    const context = { ...caller, exactPaths: true as const };
    return new Promise((resolve, reject) => {
      const started = (process: SandboxProcess) => resolve(this.#follow(process, call));
      const mounts = request.mounts.map(({ root, prefix }) => ({ root, ...(prefix === undefined ? {} : { prefix }) }));
      const filesOf = (mount: ExecMount, { isAllowed, group }: CommandTerms) => {
        const allowed = isAllowed ? { allowedRoot: mount.root } : {};
        return this.#filesOf(mount, { ...context, ...allowed, changeGroup: group });
      };
      const transfer = { command: { request, started, filesOf } };
      const call = this.#dispatcher.invoke(`${this.#adapterName}:exec`, { mounts }, { ...context, transfer });
      // After the start this does nothing: the promise is resolved, and later failures are in the audit record.
      call.catch(reject);
    });
  }

  /** Kills all running commands; commands that are still starting are killed once they run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running].map((process) => process.kill()));
  }

  /** The command counts as exited only when its changes are visible and its audit record is written. */
  #follow(process: SandboxProcess, call: Promise<unknown>): SandboxProcess {
    let notice: Uint8Array | undefined;
    const exited = call.then(
      (answer) => {
        notice = noticeOf(answer as ExecOutput);
        return process.exited;
      },
      () => process.exited,
    );
    const followed: SandboxProcess = {
      started: process.started,
      exited,
      output: () => withNotice(process.output(), notice),
      async kill() {
        await process.kill();
        await exited;
      },
    };
    this.#running.add(followed);
    void exited.then(() => this.#running.delete(followed));
    // The adapter was closed while the command was starting.
    if (this.#isClosed) void followed.kill();
    return followed;
  }

  #filesOf({ root, prefix = "", readOnly = false }: ExecMount, context: SurfaceContext): SandboxFiles {
    const below = (path: unknown): string => [prefix, String(path ?? "")].filter((part) => part !== "").join("/");
    // Links may not lead out of the directory, as they cannot inside the sandbox, where only the directory is mounted.
    const segments = prefix.split("/").filter((segment) => segment !== "" && segment !== ".");
    const within = [[root, ...segments]];
    // With several mounts, each has its own floor.
    const { pathRules } = context;
    const rules = pathRules === undefined ? {} : { pathRules: { ...pathRules, floor: segments.length } };
    return {
      invoke: (operation, input) => {
        if (this.#isClosed) throw aborted();
        if (readOnly && !LOOKS.has(operation)) throw readOnlyRoot({ root, path: below(input["path"]) });
        const to = "to" in input ? { to: below(input["to"]) } : {};
        const name = `${this.#adapterName}:${operation}`;
        return this.#dispatcher.invoke(
          name,
          { ...input, root, path: below(input["path"]), ...to },
          { ...context, within, ...rules },
        );
      },
    };
  }
}
