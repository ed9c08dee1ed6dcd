import { existsSync, lstatSync } from "node:fs";
import type { SandboxMount, ShellConfig } from "../../core/ports/sandbox.js";
import { resolverFile } from "./resolver.js";

/** Where a program of the host is; never looked for by `PATH`, which others may set. */
export const BWRAP = "/usr/bin/bwrap";
export const PRLIMIT = "/usr/bin/prlimit";

/** Directories below `/` that are links into `/usr` nearly everywhere. */
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
/** Who a command is inside, as user and as group: nobody. */
const USER = "65534";
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];
/** Where the outer of two sandboxes has the mounted directories, and what masks are made of. */
const STAGED = "/.roots";
/** An empty directory of its own for each takes as long as a second bubblewrap where there are more. */
const FEW_MASKS = 16;
const NOTHING = "/.nothing";

/** Who says that the command runs, right before it does. */
export const READY = { descriptor: 9, text: "+" } as const;
/** Descriptors for what bubblewrap is told, and from which on the directories that it shows are. */
export const ARGS = { outer: 3, inner: 4 } as const;
export const EMPTY_FILE = 5;
/** On this it tells of the first process of the namespace. */
export const INFO = 6;
/** A run with a network says its process id on one of these, and begins when it reads a line from the other. */
export const NETWORK = { waiting: 7, go: 8 } as const;
/** The system call filter. */
export const FILTER = 10;
/** Files that are made for the run, and the first of their descriptors. */
const FIRST_FILE = 11;
export const FIRST_DIRECTORY = 20;

type Arg = string | Uint8Array;

/** Arguments of one bubblewrap, or of one that sets up another. */
export interface View {
  /** Absent: one is enough. */
  readonly outer?: Uint8Array;
  readonly inner: Uint8Array;
  /** What is written to descriptors beside the arguments. */
  readonly files: ReadonlyMap<number, Uint8Array>;
  /** Handles of directories, in the order of their descriptors. */
  readonly directories: readonly number[];
}

export interface ViewJob {
  readonly mounts: readonly SandboxMount[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What a command sees: parts of the system, devices, a temp directory, and what is mounted.
 *
 * Bubblewrap makes its mounts by paths. Where one of them would lie in a tree that others may be changing, they could
 * lead it out of that tree; then an outer bubblewrap first puts together a view in which there is nothing to be led to.
 */
export function createView(job: ViewJob, config: ShellConfig): View {
  // What lies in another one comes after it.
  const mounts = [...job.mounts].sort((a, b) => a.at.length - b.at.length);
  const directories = mounts.flatMap(({ host }) => (host?.descriptor === undefined ? [] : [host.descriptor]));
  const files = filesOf(job, config);
  const descriptors = new Map([...files.keys()].map((path, index) => [path, FIRST_FILE + index]));
  // A network is connected to namespaces that are there before those of the command.
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

/** What a mounted directory is taken from: a path, or a descriptor. */
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

/** Files of `/etc` that are not those of the host, by their paths. */
function filesOf({ env: { HOME: home = "/" } }: ViewJob, { network }: ShellConfig): ReadonlyMap<string, Uint8Array> {
  // What would be another field or line of the file is no home.
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
  // Whoever connects the network joins this very user namespace, and is root there (a `--dev` would put another one in it);
  // to map that root to somebody else, the inner bubblewrap has to hold CAP_SETFCAP. The command has neither.
  if (config.network) yield* ["--unshare-net", "--uid", "0", "--gid", "0", "--cap-add", "CAP_SETFCAP"];
  yield* system({ ...config, extraMounts: config.extraMounts.map(({ path }) => ({ path })) });
  // Without these bubblewrap cannot begin.
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
  // These name keys of the host.
  for (const path of ["/proc/keys", "/proc/key-users"]) if (existsSync(path)) yield* ["--dev-bind", "/dev/null", path];
  yield* [...size, "--perms", "1777", "--tmpfs", "/tmp"];
}

/** Programs and libraries of the host, and what they need to find each other. */
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

/** One mounted directory, with what must not be seen of it. */
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

/** As `--args` reads them. */
const encode = (args: Iterable<Arg>): Uint8Array =>
  Buffer.concat([...args].flatMap((arg) => [Buffer.from(arg as Uint8Array), Buffer.of(0)]));
