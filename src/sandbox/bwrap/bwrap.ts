// The bubblewrap driver.

import { closeSync, constants, existsSync, openSync } from "node:fs";
import { AS_ROOT } from "../../core/errors/sandbox-texts.js";
import { invalidInput } from "../../core/errors/texts.js";
import type { Sandbox, SandboxJob, SandboxProbe, SandboxProcess, ShellConfig } from "../../core/ports/sandbox.js";
import { isLinux } from "../../core/system.js";
import { type ChildHost, type ChildPlan, startChild, unavailable } from "../child.js";
import { type Identity, identityFor } from "./identity.js";
import {
  ARGS,
  createView,
  EMPTY_FILE,
  FILTER,
  FIRST_DIRECTORY,
  INFO,
  NETWORK,
  PRLIMIT,
  READY,
  type View,
} from "./options.js";
import { MKFIFO, type OutputPipe, PipeStock } from "./pipes.js";
import { groupLimits, openRunGroups, type RunGroup, type RunGroups } from "./run-groups.js";
import { syscallFilter } from "./seccomp.js";
import { withRemedy } from "./user-namespaces.js";
import { connectNetwork, type NetworkTool, NO_NETWORK_TOOL, networkTools } from "./user-network.js";

const PLACES = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
/** A venue that finds a busy machine once would run no command until it ends. */
const PROBE_MS = 20_000;
const NO_DIRECTORY = /^bwrap: Can't chdir to /;
/**
 * Reports that the command runs, closes the descriptor of the report, and executes the command. Removes variables that
 * bubblewrap adds.
 */
const ANNOUNCE = `unset PWD OLDPWD SHLVL; printf ${READY.text} >&${READY.descriptor}; exec ${READY.descriptor}>&-; exec "$@"`;

/** Waits in the outer namespaces until their network is connected. */
const GATE = `echo $$ >&${NETWORK.waiting} && read -r _ <&${NETWORK.go} && exec "$@" ${NETWORK.waiting}>&- ${NETWORK.go}<&-`;

/** Waits until the process is in its control group. Removes variables that the shell adds. */
const ADMISSION = 'unset PWD OLDPWD SHLVL; read -r _ && exec "$@" </dev/null';

export interface BwrapHost extends ChildHost {
  /** Whether this process may be moved to another control group, so that each run can have its own. */
  readonly controlGroups?: boolean;
}

/** Bubblewrap: new user, mount, pid and network namespaces for each command. */
export class BwrapSandbox implements Sandbox {
  readonly name = "bwrap";
  readonly shows = "host";
  readonly uid?: number;
  readonly gid?: number;
  readonly #config: ShellConfig;
  readonly #host: BwrapHost;
  readonly #architecture: string;
  #probe: Promise<SandboxProbe> | undefined;
  readonly #pipes = new PipeStock();
  #program = "";
  #filter: Uint8Array = new Uint8Array();
  /** Connects the network of runs; absent if they have none. */
  #network: NetworkTool | undefined;
  /** Creates control groups for runs; absent if none is delegated. */
  #groups: RunGroups | undefined;

  /** @param architecture as in `process.arch` */
  constructor(config: ShellConfig, host: BwrapHost, architecture: string = process.arch) {
    this.#config = config;
    this.#host = host;
    this.#architecture = architecture;
    if (config.uid !== undefined) this.uid = config.uid;
    if (config.gid !== undefined) this.gid = config.gid;
  }

  probe(): Promise<SandboxProbe> {
    this.#probe ??= this.#look();
    return this.#probe;
  }

  /** @throws NOT_SUPPORTED if there is no user to run it as */
  run(job: SandboxJob): SandboxProcess {
    const identity = identityFor(this.#config, job.mounts);
    if (identity === "root") throw unavailable(this.#host, AS_ROOT);
    return this.#start(job, identity, this.#host);
  }

  async #look(): Promise<SandboxProbe> {
    const { network } = this.#config;
    const found = { network, realBinaries: true };
    if (!isLinux()) return { ...found, available: false, reason: "bubblewrap is for Linux" };
    const filter = syscallFilter(this.#architecture);
    if (filter === undefined) {
      return { ...found, available: false, reason: `there is no system call filter for ${this.#architecture}` };
    }
    this.#filter = filter;
    this.#program = PLACES.find((path) => existsSync(path)) ?? "";
    const needed: Record<string, string> = { [PRLIMIT]: "util-linux (prlimit)", [MKFIFO]: "coreutils (mkfifo)" };
    const missing =
      this.#program === "" ? "bubblewrap" : needed[Object.keys(needed).find((path) => !existsSync(path)) ?? ""];
    if (missing !== undefined) return { ...found, available: false, reason: `${missing} is not installed` };
    const groups = this.#host.controlGroups === true ? await openRunGroups() : "they are not wanted";
    if (typeof groups !== "string") this.#groups = groups;
    const tools = network ? networkTools() : [undefined];
    const reasons: string[] = [];
    for (this.#network of tools) {
      const reason = await this.#try();
      if (reason === undefined) return { ...found, ...networkPart(this.#network), available: true };
      reasons.push(reason);
    }
    return { ...found, available: false, reason: reasons.join("; ") || NO_NETWORK_TOOL };
  }

  /**
   * Sets up everything a run needs, with a command that does nothing.
   * @returns why that is not possible
   */
  async #try(): Promise<string | undefined> {
    const reasons: string[] = [];
    // Fails with versions that cannot mount by descriptor.
    const descriptor = openSync("/usr", constants.O_RDONLY | constants.O_DIRECTORY);
    const host = { descriptor, path: "/usr", uid: 0, gid: 0, masks: [] };
    const files = { invoke: () => Promise.reject(new Error("There are none")) };
    const job: SandboxJob = {
      ...{ mounts: [{ root: "", at: "/workspace", writable: false, host, files }], argv: ["true"], cwd: "/workspace" },
      ...{ env: {}, timeoutMs: PROBE_MS, outputBytes: 1024, keep: "head" },
    };
    try {
      const identity = identityFor({ uid: 65534, gid: 65534, ...this.#config }, []);
      if (identity === "root") return AS_ROOT;
      const process = this.#start(job, identity, {
        clock: this.#host.clock,
        onFailure: (reason) => reasons.push(reason),
      });
      await process.started;
      const { exitCode } = await process.exited;
      return exitCode === 0 ? undefined : "a sandbox can be made, but nothing runs in it";
    } catch {
      return withRemedy(reasons.join("; ") || "a sandbox cannot be made");
    } finally {
      closeSync(descriptor);
    }
  }

  #start(job: SandboxJob, identity: Identity | undefined, host: ChildHost): SandboxProcess {
    const view = createView(job, this.#config);
    const nothing = openSync("/dev/null", "r");
    const pipes: OutputPipe[] = [];
    let group: RunGroup | undefined;
    try {
      group = this.#group(host);
      const [stdout, stderr] = [this.#pipe(pipes, identity, host), this.#pipe(pipes, identity, host)];
      return startChild(this.#plan(job, { view, identity, nothing, stdout, stderr, group }), job, host);
    } catch (error) {
      void group?.end();
      for (const { reader } of pipes) reader.destroy();
      throw error;
    } finally {
      for (const descriptor of [nothing, ...pipes.map(({ writer }) => writer)]) closeSync(descriptor);
    }
  }

  /** @throws NOT_SUPPORTED */
  #group(host: ChildHost): RunGroup | undefined {
    try {
      return this.#groups?.make(groupLimits(this.#config));
    } catch (error) {
      throw unavailable(host, error instanceof Error ? error.message : "there is no control group");
    }
  }

  /** @throws NOT_SUPPORTED */
  #pipe(pipes: OutputPipe[], identity: Identity | undefined, host: ChildHost): OutputPipe {
    try {
      const pipe = this.#pipes.take(identity);
      pipes.push(pipe);
      return pipe;
    } catch (error) {
      throw unavailable(host, error instanceof Error ? error.message : "there is no pipe");
    }
  }

  #plan({ argv }: SandboxJob, parts: Parts): ChildPlan {
    const { view, identity, stdout, stderr, group } = parts;
    const { nproc, fsize, data, nofile, core } = this.#config.limits;
    const tool = this.#network;
    const layers = view.outer === undefined ? [ARGS.inner] : [ARGS.outer, ARGS.inner];
    const layer = (descriptor: number, at: number) => [
      ...(at > 0 && tool !== undefined ? ["/bin/sh", "-c", GATE, "sh"] : []),
      ...[this.#program, ...(at === 0 ? ["--info-fd", String(INFO)] : []), "--args", String(descriptor), "--"],
    ];
    const started = group === undefined ? [PRLIMIT] : ["/bin/sh", "-c", ADMISSION, "sh", PRLIMIT];
    return {
      file: started[0] ?? PRLIMIT,
      args: [
        ...started.slice(1),
        ...[`--fsize=${fsize}`, `--data=${data}`, `--nofile=${nofile}`, `--core=${core}`],
        ...layers.flatMap(layer),
        // Set inside the user namespace of the run, it counts the processes of the run rather than of the user (Linux
        // 5.14).
        ...[PRLIMIT, `--nproc=${nproc}`, "/bin/sh", "-c", ANNOUNCE, "sh", ...argv],
      ],
      options: {
        ...{ cwd: "/", env: {}, stdio: this.#descriptors(parts) },
        ...(identity === undefined ? {} : { uid: identity.uid, gid: identity.gid }),
      },
      ...(group === undefined ? {} : { group }),
      output: { stdout: stdout.reader, stderr: stderr.reader },
      feeds: new Map([
        ...(view.outer === undefined ? [] : ([[ARGS.outer, view.outer]] as const)),
        [ARGS.inner, view.inner],
        [FILTER, this.#filter],
        ...view.files,
      ]),
      readyAt: READY.descriptor,
      ...(tool === undefined ? {} : { network: { ...NETWORK, connect: this.#connector(tool, identity) } }),
      leaderAt: INFO,
      refusal: (said) =>
        NO_DIRECTORY.test(said) ? invalidInput("'cwd' is no directory", "/cwd", "a directory") : undefined,
      signalCodes: true,
    };
  }

  #connector(tool: NetworkTool, identity: Identity | undefined) {
    return (pid: number) => connectNetwork({ tool, pid, identity });
  }

  #descriptors({ view, nothing, stdout, stderr, group }: Parts): ("ignore" | "pipe" | number)[] {
    const used = new Map<number, "pipe" | number>([
      [1, stdout.writer],
      [2, stderr.writer],
      [ARGS.inner, "pipe"],
      [INFO, "pipe"],
      [FILTER, "pipe"],
      [READY.descriptor, "pipe"],
    ]);
    if (group !== undefined) used.set(0, "pipe");
    for (const descriptor of view.files.keys()) used.set(descriptor, "pipe");
    if (this.#network !== undefined) used.set(NETWORK.waiting, "pipe").set(NETWORK.go, "pipe");
    if (view.outer !== undefined) used.set(ARGS.outer, "pipe").set(EMPTY_FILE, nothing);
    for (const [index, directory] of view.directories.entries()) used.set(FIRST_DIRECTORY + index, directory);
    return Array.from({ length: Math.max(...used.keys()) + 1 }, (_, index) => used.get(index) ?? "ignore");
  }
}

const networkPart = (tool: NetworkTool | undefined) => (tool === undefined ? {} : { networkBy: tool.name });

/** Parts of one run. */
interface Parts {
  readonly view: View;
  readonly identity: Identity | undefined;
  /** Descriptor of `/dev/null`. */
  readonly nothing: number;
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  readonly group: RunGroup | undefined;
}
