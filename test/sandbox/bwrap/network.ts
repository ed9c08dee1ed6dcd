import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRoot, OWNER } from "../ground.js";

// A machine inside this one: a network namespace whose only link leads to nowhere, so that no test sends anything out.

/** In it this machine has two addresses that are not loopback. User-mode networking takes the first for itself. */
export const ADDRESS = "203.0.113.10";
const SET_UP = [
  "ip link set lo up",
  "ip link add net0 type veth peer name net1",
  "ip link set net1 up",
  "ip link set net0 up",
  "ip addr add 203.0.113.9/24 dev net0",
  `ip addr add ${ADDRESS}/24 dev net0`,
  "ip route add default via 203.0.113.1",
  // On some machines only root may have one.
  "mount -t tmpfs none /mnt",
  "mknod -m 666 /mnt/tun c 10 200",
  "mkdir -p /dev/net",
  "touch /dev/net/tun",
  "mount --bind /mnt/tun /dev/net/tun",
].join(" && ");
const CHILD = fileURLToPath(new URL("./network-child.mjs", import.meta.url));

export interface WebFile {
  readonly type: string;
  readonly content: string | Uint8Array;
}

export interface Answers {
  readonly own: Readonly<Record<"venue" | "abstract", boolean>>;
  readonly ran: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Service {
  /** Programs that are not installed there. */
  readonly without?: readonly string[];
  readonly files?: Readonly<Record<string, WebFile>>;
  /** Run by `sh` in the root, with `$VENUE` (port on loopback) and `$WEB` (`address:port` beyond it) set. */
  readonly commands: Readonly<Record<string, string>>;
  /** Goes on with a command until it is killed. */
  readonly stays?: true;
}

const inMachine = (without: readonly string[]): string =>
  [SET_UP, ...without.map((path) => `{ [ ! -e ${path} ] || mount --bind /dev/null ${path}; }`)].join(" && ");

/** Why such a machine cannot be made here. */
export function noMachine(): string | undefined {
  if (!isRoot) return "only root can make network namespaces with addresses of their own";
  const { status, stderr } = spawnSync("unshare", ["--mount", "--net", "sh", "-c", inMachine([])], {
    encoding: "utf8",
  });
  return status === 0 ? undefined : `a network namespace cannot be made: ${stderr}`;
}

/** Runs a program there, to its end. */
export function runInMachine(argv: readonly string[], without: readonly string[] = []) {
  return spawnSync("unshare", ["--mount", "--net", "sh", "-c", `${inMachine(without)} && exec "$@"`, "sh", ...argv], {
    encoding: "utf8",
  });
}

/** Runs commands of a service there. */
export async function serveInMachine(
  { without = [], files = {}, commands, stays }: Service,
  whenAnswered: (child: ChildProcess) => Promise<void> | void = () => {},
): Promise<Answers> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-network-")));
  try {
    chownSync(home, OWNER, OWNER);
    const served = Object.entries(files).map(([path, { type, content }]) => [
      path,
      { type, base64: Buffer.from(content).toString("base64") },
    ]);
    const input = { root: home, address: ADDRESS, commands, files: Object.fromEntries(served) };
    const argv = [process.execPath, CHILD, JSON.stringify(input), ...(stays === true ? ["stay"] : [])];
    const script = `${inMachine(without)} && exec "$@"`;
    const child = spawn("unshare", ["--mount", "--net", "sh", "-c", script, "sh", ...argv], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], XDG_STATE_HOME: join(home, ".state"), TMPDIR: tmpdir() },
    });
    let [stdout, stderr] = ["", ""];
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString("utf8");
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const line = new Promise<string>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        stdout += chunk.toString("utf8");
        const found = /^\{"own".*$/m.exec(stdout.slice(0, stdout.lastIndexOf("\n") + 1));
        if (found !== null) resolve(found[0]);
      });
    });
    const answered = await Promise.race([line, ended.then(() => undefined)]);
    if (answered === undefined) throw new Error(`The service has ended: ${stderr}${stdout}`);
    await whenAnswered(child);
    await ended;
    return JSON.parse(answered) as Answers;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
