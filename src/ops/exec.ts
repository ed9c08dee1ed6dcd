import { DRIVE_NEEDS_THREADS, noSandbox } from "../core/errors/sandbox-texts.js";
import { invalidInput, quotaExceeded } from "../core/errors/texts.js";
import { COMMAND_RAN } from "../core/errors/undo-texts.js";
import type { Operation, PathCall, PlacesCall } from "../core/ports/operation.js";
import type {
  ExecMount,
  ExecRequest,
  MountedDirectory,
  SandboxExit,
  SandboxMount,
  SandboxProcess,
} from "../core/ports/sandbox.js";
import type { CommandTransfer } from "../core/ports/streams.js";

/** Limits of the system (execve) in bytes: for one argument, and roughly for all arguments and variables together. */
const MAX_ARGUMENT_BYTES = 131_071;
const MAX_ARGUMENTS_BYTES = 1_048_576;
/** "nobody": owner of a mounted temp root if this process is root and the sandbox names no uid. */
const NOBODY = 65_534;

export interface ExecInput {
  readonly mounts: readonly { readonly root: string; readonly prefix?: string }[];
}

export interface ExecOutput {
  readonly exit: SandboxExit;
  /** Bytes of the command's output that were kept. */
  readonly sent: number;
  /** Entries that it had made under denied names, and that were removed because they were too many to hide. */
  readonly removed: number;
  /** Entries that it had given denied names, and that have visible ones again for the same reason. */
  readonly returned: number;
  /** Protected entries that were too many to mount read-only one by one, so that it could change nothing. */
  readonly tooManyProtected: number;
  /** Failure after the command had ended. */
  readonly hint?: string;
}

/** `exec`: runs a command in a sandbox that mounts whole roots or directories in them. Lasts until it exits. */
export const exec: Operation<ExecInput, ExecOutput> = {
  name: "exec",
  on: "places",
  ability: "exec/run",
  changes: true,
  streams: true,
  runs: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run(_input, call) {
    const { request, started } = commandOf(call);
    // Rights first: a caller that may not run commands must not learn whether there is a sandbox.
    const places = request.mounts.map((mount) => placeOf(mount, call));
    checkArguments(request);
    const { available, reason } = await request.sandbox.probe();
    if (!available) throw noSandbox(reason);
    // One group, so that the changes in all mounts are undone together.
    places[0]?.at.access.beginGroup?.();
    const shown: Shown[] = [];
    let mayHaveRun = false;
    const noted = { removed: 0, returned: 0, tooManyProtected: 0 };
    let ended: Omit<ExecOutput, keyof typeof noted>;
    try {
      const checked: (ExecPlace & { readonly isAllowed: boolean })[] = [];
      for (const place of places) checked.push({ ...place, isAllowed: await isAllowedIn(place) });
      for (const place of checked) shown.push(await show(place, call));
      mayHaveRun = true;
      const process = await start(shown, call);
      // Point of no return: from here on the outcome is that of the command.
      for (const { at } of places) at.access.scope.commit();
      started(process);
      const exit = await process.exited;
      ended = { exit, sent: process.output().combined.length };
    } finally {
      for (const { mount, directory } of shown) {
        const looking = mayHaveRun && mount.writable ? directory?.settle() : undefined;
        const settled = await looking?.catch(() => void places[0]?.at.access.behind?.(COMMAND_RAN));
        noted.removed += settled?.removed ?? 0;
        noted.returned += settled?.returned ?? 0;
        noted.tooManyProtected += directory?.tooManyProtected ?? 0;
        await directory?.close();
      }
    }
    return { ...ended, ...noted };
  },
  bytes: ({ sent }) => sent,
  exitOf: ({ exit }) => exit,
};

/** An authorised mount: `top` is its root, `at` the mounted directory. */
interface ExecPlace {
  readonly mount: ExecMount;
  readonly top: PathCall;
  readonly at: PathCall;
  readonly writable: boolean;
}

/** A mount that is open. */
interface Shown {
  readonly mount: SandboxMount;
  readonly directory?: MountedDirectory;
}

function commandOf({ transfer }: PlacesCall): CommandTransfer {
  if (transfer === undefined || !("command" in transfer)) throw new Error("Nobody says what is to be run");
  return transfer.command;
}

/** `exec/run` is required on the whole root, even if only a directory in it is mounted. */
function placeOf(mount: ExecMount, call: PlacesCall): ExecPlace {
  const { root, prefix = "" } = mount;
  const request = { root, abilities: ["exec/run"], changes: false } as const;
  // The mount handles protected entries below; the top of a root is never protected itself.
  const top = call.at({ ...request, path: "", guarded: true });
  const writable =
    mount.readOnly !== true && !top.root.readOnly && top.access.holds("crud/write") && top.access.holds("crud/delete");
  const at = prefix === "" ? top : call.at({ ...request, path: prefix, guarded: writable });
  return { mount, top, at, writable };
}

/** @throws INVALID_INPUT */
function checkArguments({ argv, env }: ExecRequest): void {
  const texts = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const sizes = texts.map((text) => Buffer.byteLength(text) + 1);
  const isTooLong =
    sizes.some((size) => size > MAX_ARGUMENT_BYTES) || sizes.reduce((a, b) => a + b, 0) > MAX_ARGUMENTS_BYTES;
  if (argv.length === 0 || isTooLong) throw invalidInput("the command is too long", "/command", "a shorter command");
  if (texts.some((text) => text.includes("\0")))
    throw invalidInput("the command holds a Nul character", "/command", "text");
}

/** Asks a person where the root does. @returns whether somebody has allowed it @throws APPROVAL_REQUIRED */
const isAllowedIn = async ({ writable, at }: ExecPlace): Promise<boolean> =>
  writable && (await at.root.askToRun?.(at)) === true;

/** Opens a mount; creates the directory of a writable one if missing. @throws as the backend does; QUOTA_EXCEEDED */
async function show(place: ExecPlace & { readonly isAllowed: boolean }, call: PlacesCall): Promise<Shown> {
  const { mount, top, at, writable, isAllowed } = place;
  const { request, filesOf } = commandOf(call);
  const { sandbox } = request;
  const { backend } = at.root;
  if (writable && at !== top && (await backend.stat(at.path, at.access)) === undefined) {
    const made = call.at({ root: mount.root, path: mount.prefix ?? "", abilities: ["crud/write"], changes: true });
    await backend.mkdir(made.path, { parents: true }, made.access);
  }
  const shown = { ...mount, writable, files: filesOf(mount, { isAllowed, group: at.access.origin?.group }) };
  if (sandbox.shows === "files") return { mount: shown };
  if (backend.mount === undefined) throw noSandbox(DRIVE_NEEDS_THREADS);
  const { uid = NOBODY, gid = uid } = sandbox;
  const keepsTree = request.snapshot === true;
  const options = { writable, keepsStage: !top.root.readOnly, keepsTree, user: { uid, gid } };
  const directory = await backend.mount(at.path, options, at.access);
  try {
    requireRoom(top);
  } catch (error) {
    await directory.close();
    throw error;
  }
  const isWritable = writable && directory.tooManyProtected === undefined;
  return { mount: { ...shown, writable: isWritable, host: directory }, directory };
}

/** A quota cannot limit a running command, so none starts once it is exceeded. @throws QUOTA_EXCEEDED */
function requireRoom({ root, access }: PathCall): void {
  const { bytes, files, usedBytes = 0, usedFiles = 0 } = root.quota?.() ?? {};
  for (const [unit, limit, used] of [
    ["bytes", bytes, usedBytes],
    ["files", files, usedFiles],
  ] as const) {
    if (limit !== undefined && used > limit) throw quotaExceeded(access.place, { used, limit, unit, requested: 0 });
  }
}

/** @throws NOT_SUPPORTED, ABORTED */
async function start(shown: readonly Shown[], call: PlacesCall): Promise<SandboxProcess> {
  const { request } = commandOf(call);
  const signals = [request.signal, call.scope.signal].filter((one) => one !== undefined);
  const mounts = shown.map(({ mount }) => mount);
  const process = request.sandbox.run({
    ...request,
    mounts,
    ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
  });
  try {
    await process.started;
  } catch (error) {
    await process.exited;
    throw error;
  }
  return process;
}
