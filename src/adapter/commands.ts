import { aborted, readOnlyRoot } from "../core/errors/texts.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { ExecMount, ExecRequest, SandboxFiles, SandboxProcess } from "../core/ports/sandbox.js";
import type { Dispatcher } from "../dispatch/dispatch.js";

/** What a command may do by operations in a directory that it may not change. */
const LOOKS: ReadonlySet<string> = new Set(["read", "stat", "list"]);

/** The commands of one adapter, each of them a call of its operation `exec`. */
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
  run(request: ExecRequest, context: SurfaceContext): Promise<SandboxProcess> {
    return new Promise((resolve, reject) => {
      const started = (process: SandboxProcess) => resolve(this.#follow(process, call));
      const mounts = request.mounts.map(({ root, prefix }) => ({ root, ...(prefix === undefined ? {} : { prefix }) }));
      const filesOf = (mount: ExecMount) => this.#filesOf(mount, context);
      const transfer = { command: { request, started, filesOf } };
      const call = this.#dispatcher.invoke(`${this.#adapterName}:exec`, { mounts }, { ...context, transfer });
      // Once it runs, what fails after it has been recorded, and the caller has its outcome.
      call.catch(reject);
    });
  }

  /** Ends all that run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running].map((process) => process.kill()));
  }

  /** For its caller a command is over when its changes are seen, and it is on record. */
  #follow(process: SandboxProcess, call: Promise<unknown>): SandboxProcess {
    const exited = call.then(
      () => process.exited,
      () => process.exited,
    );
    const followed: SandboxProcess = {
      started: process.started,
      exited,
      output: () => process.output(),
      async kill() {
        await process.kill();
        await exited;
      },
    };
    this.#running.add(followed);
    void exited.then(() => this.#running.delete(followed));
    // It was starting while the adapter was closed.
    if (this.#isClosed) void followed.kill();
    return followed;
  }

  #filesOf({ root, prefix = "", readOnly = false }: ExecMount, context: SurfaceContext): SandboxFiles {
    const below = (path: unknown): string => [prefix, String(path ?? "")].filter((part) => part !== "").join("/");
    // A link in the directory leads nowhere else, as it does where the directory alone is mounted.
    const segments = prefix.split("/").filter((segment) => segment !== "" && segment !== ".");
    const within = [[root, ...segments]];
    // Where several directories are shown, each has a floor of its own.
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
