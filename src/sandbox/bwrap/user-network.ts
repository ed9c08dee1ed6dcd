// Network of runs with `network: true`: a namespace connected by a helper that relays traffic through ordinary sockets
// of the host. Nothing is mapped to the host's loopback, and abstract sockets are per namespace anyway.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt, works } from "../../core/io.js";
import type { ShellConfig } from "../../core/ports/sandbox.js";
import { isLinux } from "../../core/system.js";
import { spawnAlone } from "../../process/spawn-alone.js";
import type { Identity } from "./identity.js";

export interface NetworkTool {
  readonly name: "pasta" | "slirp4netns";
  readonly path: string;
}

/** The helper that connects a namespace while the run lasts. */
export interface NetworkHelper {
  /** Resolves when it has ended. Idempotent. */
  end(): Promise<void>;
}

const TOOLS: readonly NetworkTool[] = [
  { name: "pasta", path: "/usr/bin/pasta" },
  { name: "slirp4netns", path: "/usr/bin/slirp4netns" },
];
const INTERFACE = "net0";
/** Reserved for benchmarks (RFC 2544), so it hides no real network. */
const SUBNET = "198.18.0.0/24";
const LOOK_MS = 5;
const COMPLAINT_BYTES = 1000;
/** Kills the program when its standard input ends, which happens when the parent dies. */
const LEASH = 'exec 3<&0; (read -r _ <&3; kill -KILL $$) & exec "$@" </dev/null 3<&-';

export const NO_NETWORK_TOOL =
  "'shell.network' needs pasta (package passt) or slirp4netns, and neither is installed: install one, or set it to false";

/** The installed tools, best first. */
export const networkTools = (tools: readonly NetworkTool[] = TOOLS): readonly NetworkTool[] =>
  tools.filter(({ path }) => works(() => accessSync(path, constants.X_OK)));

/** Why commands cannot have the requested network on this machine; `undefined`: they can, or none is requested. */
export function networkRefusal(
  { driver, network, unsafe }: ShellConfig,
  tools: readonly NetworkTool[] = TOOLS,
): string | undefined {
  const isAsked = network && !unsafe && (driver === "auto" || driver === "bwrap") && isLinux();
  return isAsked && networkTools(tools).length === 0 ? NO_NETWORK_TOOL : undefined;
}

/** @param pid of a process in the namespaces */
export function networkArguments(name: NetworkTool["name"], pid: number): readonly string[] {
  if (name === "pasta") {
    return [
      ...["--foreground", "--stderr", "--quiet", "--config-net", "--ns-ifname", INTERFACE],
      // By default the gateway is the host, and loopback ports are forwarded in both directions.
      ...["--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none"],
      String(pid),
    ];
  }
  return [
    ...["--configure", "--mtu=65520", `--cidr=${SUBNET}`, "--enable-sandbox", "--enable-seccomp"],
    // Its DNS forwarder uses the host's name server, which may be on loopback.
    ...["--disable-host-loopback", "--disable-dns"],
    ...[`--userns-path=/proc/${pid}/ns/user`, String(pid), INTERFACE],
  ];
}

export interface Connection {
  readonly tool: NetworkTool;
  /** Id of a process waiting in the namespaces. */
  readonly pid: number;
  /** Absent: this process's user. */
  readonly identity: Identity | undefined;
}

/**
 * Connects a network namespace; resolves when it has its routes.
 * @throws Error with the helper's message
 */
export async function connectNetwork({ tool, pid, identity }: Connection): Promise<NetworkHelper> {
  const helper = spawnAlone("/bin/sh", ["-c", LEASH, "sh", tool.path, ...networkArguments(tool.name, pid)], {
    ...{ cwd: "/", env: {}, detached: true },
    stdio: ["pipe", "ignore", "pipe"],
    ...(identity === undefined ? {} : { uid: identity.uid, gid: identity.gid }),
  });
  const running = new Helper(helper);
  try {
    while (!isConnected(pid, tool)) {
      if (running.isOver) throw new Error("it has ended");
      await sleep(LOOK_MS);
    }
  } catch (error) {
    await running.end();
    const { said } = running;
    throw new Error(`${tool.name}: ${said || (error instanceof Error ? error.message : "no network")}`);
  }
  return running;
}

class Helper implements NetworkHelper {
  said = "";
  isOver = false;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(helper: ChildProcess) {
    this.#process = helper;
    const stderr: Readable | null = helper.stderr;
    stderr?.on("data", (chunk: Buffer) => {
      if (this.said.length < COMPLAINT_BYTES) this.said += chunk.toString("utf8");
    });
    const stdin: Writable | null = helper.stdin;
    stdin?.on("error", () => {});
    this.#ended = Promise.race([once(helper, "exit"), once(helper, "error")]).then(
      () => this.#over(),
      (error: Error) => {
        this.said ||= error.message;
        this.#over();
      },
    );
  }

  async end(): Promise<void> {
    this.#kill();
    await this.#ended;
  }

  /** The process group exists while the leash does, so its number cannot be reused. */
  #over(): void {
    if (this.isOver) return;
    this.#kill();
    this.isOver = true;
    for (const stream of this.#process.stdio) stream?.destroy();
  }

  #kill(): void {
    const { pid } = this.#process;
    if (this.isOver || pid === undefined) return;
    // The process may just have ended.
    attempt(() => process.kill(-pid, "SIGKILL"));
  }
}

/**
 * Whether a namespace has the default routes its tool sets up.
 * @throws Error if the process is gone
 */
function isConnected(pid: number, { name }: NetworkTool): boolean {
  const has = routesOf(String(pid));
  if (name === "slirp4netns") return has.v4;
  const host = routesOf("self");
  return (has.v4 || has.v6) && (has.v4 || !host.v4) && (has.v6 || !host.v6);
}

/** Default routes in the network namespace of a process. */
function routesOf(pid: string): { readonly v4: boolean; readonly v6: boolean } {
  const v4 = /^\S+\t0{8}\t/m.test(readFileSync(`/proc/${pid}/net/route`, "utf8"));
  return { v4, v6: /^0{32} 00 .* (?!lo$)\S+$/m.test(ipv6RoutesOf(pid)) };
}

/** Empty if the kernel has no IPv6. */
const ipv6RoutesOf = (pid: string): string => attempt(() => readFileSync(`/proc/${pid}/net/ipv6_route`, "utf8")) ?? "";
