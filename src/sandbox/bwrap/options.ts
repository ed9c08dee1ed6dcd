// Builds the arguments of bubblewrap: what a command sees.

import { existsSync, lstatSync } from "node:fs";
import type { SandboxMount, ShellConfig } from "../../core/ports/sandbox.js";
import { resolverFile } from "./resolver.js";

export const PRLIMIT = "/usr/bin/prlimit";

/** Top-level directories that usually are links into `/usr`. */
const MERGED = ["bin", "sbin", "lib", "lib64", "lib32"];
const ETC = [
  ...["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"],
  ...[
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
  ],
];
const ETC_OF_NETWORK = ["/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols"];
/** User and group id of commands inside: nobody. */
const USER = "65534";
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];
/** Where the outer of two sandboxes has the mounted directories and the mask sources. */
const STAGED = "/.roots";
/** Up to this many masks each get an empty directory; beyond, one more bubblewrap is cheaper. */
const FEW_MASKS = 16;
const NOTHING = "/.nothing";

/** Descriptor and text by which a run reports that the command is about to start. */
export const READY = { descriptor: 9, text: "+" } as const;
/** Descriptors for the arguments of bubblewrap; mounted directories follow from `outer` on. */
export const ARGS = { outer: 3, inner: 4 } as const;
export const EMPTY_FILE = 5;
/** Descriptor on which bubblewrap reports the first process of the namespace. */
export const INFO = 6;
/**
 * Descriptors of a run with a network: it writes its process id to `waiting` and starts when it reads a line from `go`.
 */
export const NETWORK = { waiting: 7, go: 8 } as const;
/** Descriptor of the system call filter. */
export const FILTER = 10;
/** First descriptor for files generated for the run. */
const FIRST_FILE = 11;
export const FIRST_DIRECTORY = 20;

type Arg = string | Uint8Array;

/** Arguments of one bubblewrap, or of two nested ones. */
export interface View {
  /** Absent: a single bubblewrap suffices. */
  readonly outer?: Uint8Array;
  readonly inner: Uint8Array;
  /** Contents to write to descriptors, beside the arguments. */
  readonly files: ReadonlyMap<number, Uint8Array>;
  /** Handles of the mounted directories, in descriptor order. */
  readonly directories: readonly number[];
}

export interface ViewJob {
  readonly mounts: readonly SandboxMount[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The file system view of a command: parts of the system, devices, a temp directory, and the mounts.
 *
 * Bubblewrap mounts by path. If a mount point lies in a tree that others may change, they could redirect the mount
 * outside of it. An outer bubblewrap then first builds a view that contains nothing to be redirected to.
 */
export function createView(job: ViewJob, config: ShellConfig): View {
  // Nested mounts come after their parents.
  const mounts = [...job.mounts].sort((a, b) => a.at.length - b.at.length);
  const directories = mounts.flatMap(({ host }) => (host?.descriptor === undefined ? [] : [host.descriptor]));
  const files = filesOf(job, config);
  const descriptors = new Map([...files.keys()].map((path, index) => [path, FIRST_FILE + index]));
  // The network is connected to namespaces that exist before those of the command.
  const isStaged = config.network || needsOuter(mounts);
  let next = 0;
  const sourceOf = (): Source => {
    const index = next++;
    return isStaged
      ? { option: "", from: `${STAGED}/${index}` }
      : { option: "-fd", from: String(FIRST_DIRECTORY + index) };
  };
  const shown = mounts.flatMap((mount) => [...show(mount, sourceOf)]);
  const inner = encode([...guard(config, descriptors), ...shown, ...finish(job)]);
  const fed = new Map([...files].map(([path, bytes]) => [descriptors.get(path) ?? 0, bytes]));
  return { directories, inner, files: fed, ...(isStaged ? { outer: encode(stage(directories.length, config)) } : {}) };
}

/** Source of a mount: a path or a descriptor. */
interface Source {
  readonly option: "" | "-fd";
  readonly from: string;
}

const needsOuter = (mounts: readonly SandboxMount[]): boolean =>
  mounts.some(
    ({ at, host }, index) =>
      host?.masks.some(({ kind, path }) => kind !== "directory" || path.includes(0x2f)) === true ||
      (host?.masks.length ?? 0) > FEW_MASKS ||
      mounts.slice(0, index).some((above) => at.startsWith(`${above.at}/`)),
  );

/** Files in `/etc` that replace those of the host, by path. */
function filesOf({ env: { HOME: home = "/" } }: ViewJob, { network }: ShellConfig): ReadonlyMap<string, Uint8Array> {
  // A directory with a colon or newline would break the passwd file.
  const directory = /[:\n]/.test(home) ? "/" : home;
  const texts = {
    "/etc/passwd": `root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:${USER}:${USER}:nobody:${directory}:/bin/sh\n`,
    "/etc/group": `root:x:0:\nnogroup:x:${USER}:\n`,
    ...(network ? { "/etc/resolv.conf": resolverFile() } : {}),
  };
  return new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
}

function* stage(count: number, config: ShellConfig): Generator<Arg> {
  yield* ["--unshare-user", "--die-with-parent"];
  // The helper that connects the network joins this very user namespace as root (`--dev` would create another); the
  // inner bubblewrap needs CAP_SETFCAP to map that root to another user. The command has neither.
  if (config.network) yield* ["--unshare-net", "--uid", "0", "--gid", "0", "--cap-add", "CAP_SETFCAP"];
  yield* system({ ...config, extraMounts: config.extraMounts.map(({ path }) => ({ path })) });
  // Required by bubblewrap itself.
  yield* ["--proc", "/proc", "--dir", "/tmp"];
  for (const name of DEVICES) yield* ["--dev-bind", `/dev/${name}`, `/dev/${name}`];
  yield* ["--dir", `${NOTHING}/directory`, "--perms", "0444", "--file", String(EMPTY_FILE), `${NOTHING}/file`];
  for (let index = 0; index < count; index++) {
    yield* ["--bind-fd", String(FIRST_DIRECTORY + index), `${STAGED}/${index}`];
  }
}

function* guard(config: ShellConfig, files: ReadonlyMap<string, number>): Generator<Arg> {
  const size = ["--size", String(config.scratchBytes)];
  yield* ["--unshare-all", "--unshare-user", "--disable-userns", "--seccomp", String(FILTER)];
  if (config.network) yield "--share-net";
  yield* ["--uid", USER, "--gid", USER, "--cap-drop", "ALL", "--die-with-parent", "--new-session"];
  for (const [path, file] of files) yield* ["--perms", "0444", "--file", String(file), path];
  yield* system(config);
  yield* ["--proc", "/proc", "--dev", "/dev", ...size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"];
  // Key names belong to the host.
  for (const path of ["/proc/keys", "/proc/key-users"]) if (existsSync(path)) yield* ["--dev-bind", "/dev/null", path];
  yield* [...size, "--perms", "1777", "--tmpfs", "/tmp"];
}

/** Programs and libraries of the host, with the links between them. */
function* system({ network, extraMounts }: ShellConfig): Generator<Arg> {
  yield* ["--ro-bind", "/usr", "/usr"];
  for (const name of MERGED) {
    const entry = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink() === true) yield* ["--symlink", `usr/${name}`, `/${name}`];
    else if (entry !== undefined) yield* ["--ro-bind", `/${name}`, `/${name}`];
  }
  for (const path of [...ETC, ...(network ? ETC_OF_NETWORK : [])]) yield* ["--ro-bind-try", path, path];
  for (const { path, at = path } of extraMounts) yield* ["--ro-bind", path, at];
}

/** One mounted directory with its masks. */
function* show(mount: SandboxMount, sourceOf: () => Source): Generator<Arg> {
  const { at, writable, host } = mount;
  if (host?.descriptor === undefined) {
    yield* ["--perms", "0555", "--tmpfs", at, "--remount-ro", at];
    return;
  }
  const bind = writable ? "--bind" : "--ro-bind";
  const { option, from } = sourceOf();
  yield* [`${bind}${option}`, from, at];
  for (const { kind, path } of host.masks) {
    const target = join(at, path);
    if (kind === "pin") yield* [bind, join(from, path), target];
    else if (kind === "readonly") yield* ["--ro-bind", join(from, path), target];
    else if (kind === "file") yield* ["--ro-bind", `${NOTHING}/file`, target];
    else if (option === "") yield* ["--ro-bind", `${NOTHING}/directory`, target];
    else yield* ["--perms", "0555", "--tmpfs", target, "--remount-ro", target];
  }
}

function* finish({ cwd, env }: ViewJob): Generator<Arg> {
  yield* ["--remount-ro", "/", "--chdir", cwd, "--clearenv"];
  for (const [name, value] of Object.entries(env)) yield* ["--setenv", name, value];
}

const join = (directory: string, path: Uint8Array): Buffer => Buffer.concat([Buffer.from(`${directory}/`), path]);

/** In the format of `--args`. */
const encode = (args: Iterable<Arg>): Uint8Array =>
  Buffer.concat([...args].flatMap((arg) => [Buffer.from(arg as Uint8Array), Buffer.of(0)]));
