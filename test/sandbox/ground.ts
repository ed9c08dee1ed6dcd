import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import type { AuditRecord } from "../../src/audit/record.js";
import type { CapabilityRules } from "../../src/authz/capability-rules.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { FileConfigInput } from "../../src/config/types.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { silentLog } from "../../src/core/ports/log.js";
import {
  DEFAULT_SHELL,
  type ExecRequest,
  type Sandbox,
  type SandboxExit,
  type SandboxProcess,
  SHELL_PATH,
  type ShellConfig,
} from "../../src/core/ports/sandbox.js";
import { createSandbox } from "../../src/sandbox/create.js";

/** Owner of the roots where the tests run as root, since no command does. */
export const OWNER = 12_345;
export const isRoot = process.geteuid?.() === 0;

export interface Ran extends SandboxExit {
  readonly stdout: string;
  readonly stderr: string;
}

export type RunPatch = Partial<ExecRequest> & { readonly context?: SurfaceContext };

export interface ShellGround {
  readonly home: string;
  /** Host directory of the root `r`, canonical. */
  readonly dir: string;
  readonly outside: string;
  readonly adapter: HostedFileAdapter;
  readonly sandbox: Sandbox;
  readonly audit: AuditRecord[];
  readonly internal: unknown[];
  /** What the operator was told. */
  readonly warnings: string[];
  /** Makes a file of the owner of the root, without the adapter. */
  put(path: string, content?: string): void;
  request(command: string, patch?: RunPatch): ExecRequest;
  /** Runs a shell command in the root `r`, mounted at `/workspace`, to its end. */
  sh(command: string, patch?: RunPatch): Promise<Ran>;
  /** The same for one whose time is over once it has written something, however long that takes. */
  overtime(command: string, meanwhile?: () => Promise<void>): Promise<Ran>;
}

export interface ShellGroundOptions {
  readonly root?: object;
  readonly roots?: FileConfigInput["roots"];
  readonly shell?: Partial<ShellConfig>;
  readonly capabilities?: CapabilityRules;
  readonly limits?: FileConfigInput["limits"];
  /** Changes are recorded, in a state directory of its own. */
  readonly journal?: boolean;
}

/** Whether bubblewrap works on this machine, and if not, why. */
export async function bwrapHere(): Promise<{ possible: boolean; reason: string }> {
  const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" });
  const { available, reason = "" } = await sandbox.probe();
  return { possible: available, reason: `no bubblewrap: ${reason}` };
}

export const ENV = { PATH: SHELL_PATH, HOME: "/workspace", LANG: "C.UTF-8" };

/** Declares an adapter with one host root `r`, emptied after each test, and what runs commands in it. */
export function useShell(options: ShellGroundOptions = {}): ShellGround {
  let home = "";
  let opened: { adapter: HostedFileAdapter; sandbox: Sandbox } | undefined;
  const [audit, internal, warnings]: [AuditRecord[], unknown[], string[]] = [[], [], []];
  const here = () => {
    if (opened === undefined) throw new Error("The ground is there only while tests run");
    return opened;
  };
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-shell-")));
    chmodSync(home, 0o755);
    for (const name of ["root", "outside"]) own(join(home, name), (path) => mkdirSync(path));
    mkdirSync(join(home, "state"));
    const roots = { r: { path: join(home, "root"), ...options.root }, ...options.roots };
    const limits = options.limits === undefined ? {} : { limits: options.limits };
    const config = parseFileConfig({ roots, ...limits }, { baseDir: home });
    const adapter = await assembleAdapter(config, {
      discloseHostPaths: false,
      audit: { write: (record) => void audit.push(record), close: async () => {} },
      onInternalError: (error) => void internal.push(error),
      ...(options.journal === true
        ? {
            journals: {
              openState: () => join(home, "state"),
              lookAtState: () => join(home, "state"),
              byDefault: true,
              log: silentLog,
            },
          }
        : {}),
      ...(options.capabilities === undefined ? {} : { capabilities: options.capabilities }),
    });
    opened = { adapter, sandbox: await createSandbox(shell, { onWarning: (text) => void warnings.push(text) }) };
  });
  afterEach(() => {
    for (const name of ["root", "outside"]) empty(join(home, name));
    for (const list of [audit, internal, warnings]) list.length = 0;
  });
  afterAll(async () => {
    await opened?.adapter.close();
    rmSync(home, { recursive: true, force: true });
  });
  const shell: ShellConfig = { ...DEFAULT_SHELL, driver: "bwrap", ...options.shell };
  const endOf = async (process: SandboxProcess): Promise<Ran> => {
    const exit = await process.exited;
    const { stdout, stderr } = process.output();
    return { ...exit, stdout: Buffer.from(stdout).toString("utf8"), stderr: Buffer.from(stderr).toString("utf8") };
  };
  const ground: ShellGround = {
    get home() {
      return home;
    },
    get dir() {
      return join(home, "root");
    },
    get outside() {
      return join(home, "outside");
    },
    get adapter() {
      return here().adapter;
    },
    get sandbox() {
      return here().sandbox;
    },
    ...{ audit, internal, warnings },
    put(path, content = "") {
      const parts = path.split("/");
      for (let depth = 1; depth < parts.length; depth++) {
        const above = join(ground.dir, ...parts.slice(0, depth));
        if (!existsSync(above)) own(above, (one) => mkdirSync(one));
      }
      own(join(ground.dir, path), (one) => writeFileSync(one, content));
    },
    request: (command, { context: _, ...patch } = {}) => ({
      ...{
        sandbox: here().sandbox,
        mounts: [{ root: "r", at: "/workspace" }],
        argv: ["/bin/sh", "-c", command],
        command,
      },
      ...{ cwd: "/workspace", env: ENV, timeoutMs: 200_000, outputBytes: 1_048_576, keep: "head", ...patch },
    }),
    async sh(command, patch = {}) {
      return endOf(await here().adapter.exec(ground.request(command, patch), patch.context));
    },
    async overtime(command, meanwhile) {
      let now = 0;
      const clock = { nowMs: () => now, monotonicMs: () => now };
      const timeoutMs = 3_600_000;
      const sandbox = await createSandbox(shell, { clock });
      const process = await here().adapter.exec(ground.request(command, { sandbox, timeoutMs }));
      while (process.output().stdout.length === 0) await sleep(5);
      await meanwhile?.();
      now = timeoutMs + 1;
      return endOf(process);
    },
  };
  return ground;
}

function own(path: string, make: (path: string) => void): void {
  make(path);
  if (isRoot) chownSync(path, OWNER, OWNER);
}

function empty(path: string): void {
  for (const name of readdirSync(path)) {
    if (name !== ".venue-files") rmSync(join(path, name), { recursive: true, force: true });
  }
}

/** Processes of this machine with a text among their arguments. */
export function processesWith(text: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}
