import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { assembleAdapter, type FileOperationName, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import type { AuditRecord } from "../../src/audit/record.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { FileConfigInput } from "../../src/config/types.js";
import type { Capability } from "../../src/core/call/capability.js";
import { DEFAULT_LIMITS } from "../../src/core/call/limits.js";
import type { Clock } from "../../src/core/clock.js";
import { type ErrorCode, FileAdapterError } from "../../src/core/errors/errors.js";
import type { Rendering, SurfaceContext } from "../../src/core/ports/adapter.js";
import { silentLog } from "../../src/core/ports/log.js";
import type { EventLog } from "../../src/feed/event-log.js";
import type { FileInputs, FileOutputs } from "../../src/schema/types.js";
import { stagedIn } from "../staged.js";

export interface Failure {
  readonly code: FileAdapterError["code"];
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a test changes of the usual ground. */
export interface GroundOptions {
  /** Options of the root `r`. */
  readonly root?: object;
  /** Beside the root `r`. */
  readonly roots?: FileConfigInput["roots"];
  readonly limits?: FileConfigInput["limits"];
  /** Most bytes of an asset; not to be configured yet. */
  readonly maxContentSize?: number;
  /** Default: true. */
  readonly discloseHostPaths?: boolean;
  readonly publicCaps?: readonly Capability[];
  readonly operator?: string;
  readonly clock?: Clock;
  /** Changes are recorded, in a state directory of its own. */
  readonly journal?: boolean;
  /** Default: its own. */
  readonly eventLog?: EventLog;
}

type Name = Exclude<FileOperationName, "file:roots"> extends `file:${infer N}` ? N : never;

/** An adapter with one host root `r`, empty at the start of each test. */
export interface Ground {
  /** Host directory of the root, canonical. */
  readonly dir: string;
  /** A directory beside it that belongs to no root; emptied too. */
  readonly outside: string;
  readonly adapter: HostedFileAdapter;
  /** One for each call, oldest first; forgotten after each test. */
  readonly audit: AuditRecord[];
  /** What the adapter reported as unforeseen. */
  readonly internal: { error: unknown; requestId: string }[];
  /** Makes a file, and the directories above it, without the adapter. */
  put(path: string, content?: string | Buffer): void;
  mkdir(path: string): void;
  /** Bytes of a file, without the adapter. */
  get(path: string): Buffer;
  /** Names in a directory, without the adapter. */
  names(path?: string): string[];
  /** What a write has prepared and not put in place. */
  staged(): string[];
  /** Calls an operation on the root `r`. */
  run<N extends Name>(
    name: N,
    input: Omit<FileInputs[`file:${N}`], "root">,
    context?: SurfaceContext,
  ): Promise<FileOutputs[`file:${N}`]>;
  /** How the same call fails; the input may be anything. */
  fail(name: string, input: object, context?: SurfaceContext): Promise<Failure>;
  /** How a model sees the answer. */
  render<N extends Name>(
    name: N,
    input: Omit<FileInputs[`file:${N}`], "root">,
    context?: SurfaceContext,
  ): Promise<Rendering>;
}

/** Declares a ground for the tests of a file or a `describe`. */
export function useGround(options: GroundOptions = {}): Ground {
  let home = "";
  let adapter: HostedFileAdapter | undefined;
  const audit: AuditRecord[] = [];
  const internal: Ground["internal"] = [];
  const opened = (): HostedFileAdapter => {
    if (adapter === undefined) throw new Error("The ground is there only while tests run");
    return adapter;
  };
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-ground-")));
    for (const name of ["root", "outside", "state"]) mkdirSync(join(home, name));
    adapter = await assemble(join(home, "root"), options, { audit, internal });
  });
  afterEach(() => {
    for (const name of ["root", "outside"]) empty(join(home, name));
    audit.length = 0;
    internal.length = 0;
  });
  afterAll(async () => {
    await adapter?.close();
    rmSync(home, { recursive: true, force: true });
  });
  const ground: Ground = {
    get dir() {
      return join(home, "root");
    },
    get outside() {
      return join(home, "outside");
    },
    get adapter() {
      return opened();
    },
    audit,
    internal,
    put(path, content = "") {
      mkdirSync(dirname(join(ground.dir, path)), { recursive: true });
      writeFileSync(join(ground.dir, path), content);
    },
    mkdir: (path) => void mkdirSync(join(ground.dir, path), { recursive: true }),
    get: (path) => readFileSync(join(ground.dir, path)),
    names: (path = "") => readdirSync(join(ground.dir, path)).filter((name) => name !== ".venue-files"),
    staged: () => {
      const names = stagedIn(ground.dir) ?? [];
      // It stays for a while after changes with a condition.
      return names.filter((name) => !name.startsWith("holder-"));
    },
    run: (name, input, context) =>
      opened()
        .invoke(`file:${name}`, { root: "r", ...input }, context)
        .catch((error: unknown) => {
          // What was unforeseen says more than that something was.
          throw internal.at(-1)?.error ?? error;
        }) as ReturnType<typeof ground.run<typeof name>>,
    fail: (name, input, context) => failureOf(opened().invoke(`file:${name}`, { root: "r", ...input }, context)),
    async render(name, input, context) {
      const output = await ground.run(name, input, context);
      const operation = opened().operations.find((one) => one.name === `file:${name}`);
      if (operation?.render === undefined) throw new Error(`file:${name} is not rendered`);
      return operation.render(output, { root: "r", ...input });
    },
  };
  return ground;
}

function assemble(
  path: string,
  options: GroundOptions,
  told: Pick<Ground, "audit" | "internal">,
): Promise<HostedFileAdapter> {
  const { root, roots, limits, publicCaps, operator, clock, journal = false, discloseHostPaths = true } = options;
  const config = parseFileConfig(
    { roots: { r: { path, durability: "none", ...root }, ...roots }, limits: limits ?? {} },
    { baseDir: path },
  );
  const { maxContentSize = DEFAULT_LIMITS.maxContentSize } = options;
  const limited = { ...config.limits, maxContentSize };
  return assembleAdapter(
    { ...config, limits: limited },
    {
      discloseHostPaths,
      ...(journal
        ? {
            journals: {
              openState: () => join(dirname(path), "state"),
              lookAtState: () => join(dirname(path), "state"),
              byDefault: true,
              log: silentLog,
            },
          }
        : {}),
      audit: { write: (record) => void told.audit.push(record), close: async () => {} },
      onInternalError: (error, requestId) => void told.internal.push({ error, requestId }),
      capabilities: {
        ...(publicCaps === undefined ? {} : { publicCaps }),
        ...(operator === undefined ? {} : { operator }),
      },
      ...(clock === undefined ? {} : { clock }),
      eventLog: options.eventLog,
    },
  );
}

function empty(directory: string): void {
  // As bytes, since some tests make names that are not UTF-8.
  for (const name of readdirSync(directory, "buffer")) {
    rmSync(Buffer.concat([Buffer.from(`${directory}/`), name]), { recursive: true, force: true });
  }
}

/** What a call failed with; the test fails if it did not, or with anything but the adapter's own error. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error = await call.then(
    (value) => new Error(`The call succeeded with ${JSON.stringify(value)?.slice(0, 500)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof FileAdapterError)) throw error;
  const { code, message, data } = error;
  return { code, message, data };
}

/** The failure of a path: its data names the place, and the operation and option that the message advises. */
export function failure(code: ErrorCode, message: string, path: string, more: object = {}): Failure {
  const tool = /file:[a-zA-Z]+$|(?<=with )file:[a-zA-Z]+/.exec(message)?.[0];
  const option = /([a-zA-Z]+): true/.exec(message)?.[1];
  const next = { ...(tool && { tool }), ...(option && { option }) };
  return { code, message, data: { root: "r", path, ...(tool || option ? { next } : {}), ...more } };
}

/**
 * Paths of everything below a directory of the ground, relative to `dir`, directories with a slash behind, sorted. Links are
 * not followed: `readdir` with `recursive` does so since Node 22.
 */
export function entriesBelow(dir: string, path = ""): string[] {
  const below = readdirSync(join(dir, path), { withFileTypes: true }).flatMap((entry) => {
    const name = join(path, entry.name);
    return entry.isDirectory() ? [`${name}/`, ...entriesBelow(dir, name)] : [name];
  });
  return below.filter((name) => !name.startsWith(".venue-files")).sort();
}
