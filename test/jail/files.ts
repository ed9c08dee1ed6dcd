import type { FileAdapter } from "../../src/adapter/adapter.js";
import { HostBackend } from "../../src/backend/host/host.js";
import { DEFAULT_LIMITS, type Limits } from "../../src/core/call/limits.js";
import { type Clock, systemClock } from "../../src/core/clock.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { isLinux } from "../../src/core/system.js";
import { Dispatcher } from "../../src/dispatch/dispatch.js";
import { createFileAdapter } from "../../src/index.js";
import type { EngineName } from "../../src/jail/handles.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadOperationSchema } from "../../src/schema/load.js";
import { InputValidator } from "../../src/schema/validate.js";
import { ScanPool } from "../../src/search/scan-pool.js";
import { authorityOf } from "../authz/fixture.js";

/** Name of the root in every test of the jail. */
export const ROOT = "r";

export type Engine = EngineName | "handle walk in the thread pool";
/** The ways in which a call can get at the disk; the last one is that of systems without procfs. */
export const ENGINES: readonly Engine[] = isLinux()
  ? ["handle walk", "handle walk in the thread pool", "openat2", "real-path check"]
  : ["real-path check"];
const [FIRST = "handle walk"] = ENGINES;

export interface FilesOptions {
  readonly readOnly?: boolean;
  readonly crossDevice?: boolean;
  readonly hardLinks?: boolean;
  readonly durability?: "flush" | "none";
  readonly limits?: Partial<Pick<Limits, "maxReadBytes" | "maxWriteBytes" | "timeoutMs" | "maxConcurrent">>;
  /** Not in the thread pool. */
  readonly clock?: Clock;
}

/** One adapter with one root named {@link ROOT}. */
export interface Files {
  /** @param input without `root` */
  invoke(operation: string, input?: Record<string, unknown>, context?: SurfaceContext): Promise<Output>;
  close(): Promise<void>;
}

/** Whatever an operation answers; a test knows which fields it asked for. */
export type Output = Readonly<Record<string, unknown>>;

/** Opens a root with everything above the jail in place. */
export async function openFiles(path: string, engine: Engine = FIRST, options: FilesOptions = {}): Promise<Files> {
  if (engine !== "handle walk in the thread pool") return openBy(engine, path, options);
  const { limits, ...root } = options;
  const adapter = await createFileAdapter({
    roots: { [ROOT]: { path, io: "pool", durability: "none", ...root } },
    ...(limits === undefined ? {} : { limits }),
  });
  return filesOf(adapter);
}

export function filesOf(adapter: FileAdapter): Files {
  return {
    invoke: (operation, input, context) =>
      adapter.invoke(`file:${operation}`, { root: ROOT, ...input }, context) as Promise<Output>,
    close: () => adapter.close(),
  };
}

/** What `createFileAdapter` composes, with one engine from the first call on, which it would choose itself elsewhere or later. */
function openBy(engine: EngineName, path: string, options: FilesOptions): Files {
  const { readOnly = false, crossDevice = false, hardLinks = false, durability = "none" } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const jail = new Jail({ path, readOnly, crossDevice, io: "sync", engine }, new Locks());
  if (jail.engine !== engine) throw new Error(`There is no ${engine} here, only ${jail.engine}`);
  const rules = { durable: durability === "flush", hardLinks, maxCopyBytes: limits.maxWriteBytes };
  const backend = new HostBackend(jail, rules);
  const scanners = new ScanPool();
  const dispatcher = new Dispatcher({
    adapterName: "file",
    operations: new Map(
      OPERATIONS.map((operation) => [
        `file:${operation.name}`,
        { operation, schema: loadOperationSchema(operation.name) },
      ]),
    ),
    roots: [{ name: ROOT, kind: "host", readOnly, hostPath: jail.realPath, backend }],
    validator: new InputValidator(),
    ...{ limits, scanners, clock: options.clock ?? systemClock },
    discloseHostPaths: false,
    authorityOf: () => authorityOf(),
  });
  return {
    invoke: (operation, input, context = {}) =>
      dispatcher.invoke(`file:${operation}`, { root: ROOT, ...input }, context) as Promise<Output>,
    close: async () => {
      await scanners.close();
      await backend.close();
    },
  };
}

/** Runs `work` on an adapter that is closed afterwards. */
export async function withFiles<T>(
  path: string,
  work: (files: Files) => Promise<T>,
  options: FilesOptions & { engine?: Engine } = {},
): Promise<T> {
  const { engine = FIRST, ...rest } = options;
  const files = await openFiles(path, engine, rest);
  try {
    return await work(files);
  } finally {
    await files.close();
  }
}

/** What became of a call: the whole answer, or the error as a caller sees it. */
export interface Outcome {
  /** `ok`, or the error's code. */
  readonly code: string;
  readonly output?: Output;
  readonly message?: string;
  readonly data?: unknown;
}

/** Waits for a call. Anything but an answer or one of our errors is a failure of the test. */
export async function outcomeOf(call: Promise<Output>): Promise<Outcome> {
  try {
    return { code: "ok", output: await call };
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    return { code: error.code, message: error.message, data: error.data };
  }
}

export const codeOf = async (call: Promise<Output>): Promise<string> => (await outcomeOf(call)).code;
