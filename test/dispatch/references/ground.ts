import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import type { AuditRecord } from "../../../src/audit/record.js";
import type { CapabilityRules } from "../../../src/authz/capability-rules.js";
import { parseFileConfig } from "../../../src/config/load.js";
import type { Adapter, SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ApprovalDesk } from "../../../src/core/ports/approval.js";
import type { ChangeRecord } from "../../../src/core/ports/changes/change.js";
import { openDrives, type TestDrives } from "../../backend/drive/open-drives.js";
import { type Failure, failureOf } from "../../ops/ground.js";

export const VENUE = "did:web:venue.example.com";
export const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };

export interface References {
  readonly files: HostedFileAdapter;
  readonly audit: AuditRecord[];
  readonly changes: ChangeRecord[];
  call(operation: string, input: object, context?: SurfaceContext): Promise<Record<string, unknown>>;
  fail(operation: string, input: object, context?: SurfaceContext): Promise<Failure>;
}

/** Roots `host`, `tmp`, `mine` (the drive `notes` of whoever calls), `part` (its directory `deep/part`), and the operations on drives. */
export function useReferences(
  capabilities: CapabilityRules = {},
  { davUrl, approvals }: { davUrl?: (context: SurfaceContext) => string | undefined; approvals?: ApprovalDesk } = {},
): References {
  let opened: { dir: string; drives: TestDrives; files: HostedFileAdapter; others: readonly Adapter[] } | undefined;
  const audit: AuditRecord[] = [];
  const changes: ChangeRecord[] = [];
  const internal: unknown[] = [];
  beforeEach(async () => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-references-")));
    const drives = openDrives({});
    const roots = {
      host: dir,
      tmp: { temp: true },
      mine: { dlfs: "notes", ...(approvals && { approve: { for: ["all"] as const } }) },
      part: { dlfs: "notes", subpath: "deep/part" },
    } as const;
    const files = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), {
      ...{ drives, davUrl, approvals, discloseHostPaths: false, changeSinks: [(record) => void changes.push(record)] },
      audit: { write: (record) => void audit.push(record), close: async () => {} },
      onInternalError: (error) => void internal.push(error),
      capabilities: {
        ...{ venueDid: VENUE, operator: VENUE, publicCaps: [{ with: "file://", can: "crud" }] },
        ...capabilities,
      },
    });
    opened = { dir, drives, files, others: await files.driveAdapters() };
  });
  afterEach(async () => {
    for (const adapter of opened?.others ?? []) await adapter.close();
    await opened?.files.close();
    await opened?.drives.close();
    rmSync(opened?.dir ?? "", { recursive: true, force: true });
    for (const list of [audit, changes, internal]) list.length = 0;
  });
  const parts = () => {
    if (opened === undefined) throw new Error("The ground is there only while tests run");
    return opened;
  };
  const invoke = async (operation: string, input: object, context: SurfaceContext) => {
    const { files, others } = parts();
    const adapter = others.find(({ name }) => operation.startsWith(`${name}:`)) ?? files;
    return (await adapter.invoke(operation, input, context)) as Record<string, unknown>;
  };
  return {
    get files() {
      return parts().files;
    },
    audit,
    changes,
    call: (operation, input, context = ALICE) =>
      invoke(operation, input, context).catch((error: unknown) => {
        throw internal.at(-1) ?? error;
      }),
    fail: (operation, input, context = ALICE) => failureOf(invoke(operation, input, context)),
  };
}
