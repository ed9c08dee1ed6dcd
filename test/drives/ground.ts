import { afterEach, beforeEach } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import type { AuditRecord } from "../../src/audit/record.js";
import type { CapabilityRules } from "../../src/authz/capability-rules.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { Limits } from "../../src/core/call/limits.js";
import type { Adapter, SurfaceContext } from "../../src/core/ports/adapter.js";
import type { DriveEngineOptions } from "../../src/drive/engine/engine.js";
import type { CellStore } from "../../src/drive/store/cell-store.js";
import { openDrives, type TestDrives } from "../backend/drive/open-drives.js";
import { type Failure, failureOf } from "../ops/ground.js";

export const VENUE = "did:web:venue.example.com";
export const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };
export const BOB: SurfaceContext = { callerDID: "did:key:z6MkBob", authentication: "static-token" };
export const ANONYMOUS: SurfaceContext = { callerDID: `${VENUE}:public`, authentication: "public" };

export interface DriveGroundOptions {
  readonly capabilities?: CapabilityRules;
  readonly limits?: NonNullable<DriveEngineOptions["limits"]>;
  readonly store?: () => CellStore;
  /** Cells in memory; 0: every read comes from the store. */
  readonly cacheBytes?: number;
  /** Options of the root `mine`. */
  readonly mine?: object;
  /** Of the adapters. */
  readonly fileLimits?: Partial<Limits>;
}

/** The root `mine`, which is the drive `notes` of whoever calls, `fixed`, which is the same to read, and the operations on drives. */
export interface DriveGround {
  readonly files: HostedFileAdapter;
  readonly audit: AuditRecord[];
  /** @param operation `file:list`, `dlfs:list` */
  call(operation: string, input: object, context?: SurfaceContext): Promise<unknown>;
  fail(operation: string, input: object, context?: SurfaceContext): Promise<Failure>;
}

/** Declares a ground, new for each test. */
export function useDrives(options: DriveGroundOptions = {}): DriveGround {
  let opened: { drives: TestDrives; files: HostedFileAdapter; onDrives: readonly Adapter[] } | undefined;
  const audit: AuditRecord[] = [];
  const internal: unknown[] = [];
  const parts = () => {
    if (opened === undefined) throw new Error("The ground is there only while tests run");
    return opened;
  };
  beforeEach(async () => {
    const { limits, store, cacheBytes } = options;
    const drives = openDrives({ cacheBytes, ...(limits ? { limits } : {}), ...(store ? { store: store() } : {}) });
    const roots = {
      mine: { dlfs: "notes", ...options.mine },
      fixed: { dlfs: "notes", readOnly: true },
      tmp: { temp: true },
    } as const;
    const files = await assembleAdapter(
      parseFileConfig({ roots, limits: options.fileLimits ?? {} }, { baseDir: "/" }),
      {
        drives,
        discloseHostPaths: true,
        audit: { write: (record) => void audit.push(record), close: async () => {} },
        onInternalError: (error) => void internal.push(error),
        capabilities: {
          venueDid: VENUE,
          operator: VENUE,
          publicCaps: [{ with: "file://", can: "crud" }],
          ...options.capabilities,
        },
      },
    );
    opened = { drives, files, onDrives: await files.driveAdapters() };
  });
  afterEach(async () => {
    for (const adapter of opened?.onDrives ?? []) await adapter.close();
    await opened?.files.close();
    await opened?.drives.close();
    audit.length = 0;
    internal.length = 0;
  });
  const invoke = (operation: string, input: object, context: SurfaceContext) => {
    const { files, onDrives } = parts();
    const adapter = onDrives.find(({ name }) => operation.startsWith(`${name}:`)) ?? files;
    return adapter.invoke(operation, input, context);
  };
  return {
    get files() {
      return parts().files;
    },
    audit,
    call: (operation, input, context = ALICE) =>
      invoke(operation, input, context).catch((error: unknown) => {
        throw internal.at(-1) ?? error;
      }),
    fail: (operation, input, context = ALICE) => failureOf(invoke(operation, input, context)),
  };
}
