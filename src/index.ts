import { assembleAdapter, type FileAdapter } from "./adapter.js";
import { openAuditFile } from "./audit/file-sink.js";
import type { AuditSink } from "./audit/record.js";
import { ConfigError } from "./config/errors.js";
import { parseFileConfig } from "./config/load.js";
import type { FileConfigInput } from "./config/types.js";

export type { FileAdapter, FileOperationName } from "./adapter.js";
export type { AuditRecord, AuditSink } from "./audit/record.js";
export { ConfigError } from "./config/errors.js";
export type { FileConfigInput, RootConfigInput } from "./config/types.js";
export type { AssetContent, InvokeContext, OperationMetadata, ResolveAsset } from "./core/adapter.js";
export type { Capability } from "./core/capability.js";
export { ERROR_CODES, type ErrorCode, FileAdapterError } from "./core/errors.js";
export { RootsError } from "./roots/open.js";
export type { FileInputs, FileOutputs } from "./schema/types.js";

/** What {@link createFileAdapter} takes: the `file` key of a venue's configuration, and where the audit goes. */
export interface FileAdapterConfig extends FileConfigInput {
  /** A file for JSON lines, or a sink of your own. Absent: no audit. */
  readonly audit?: { readonly file: string } | AuditSink;
}

/**
 * Opens roots and gives the nine file operations on them.
 *
 * The caller of `invoke` is the operator unless the context names one: pass `caps` to narrow an agent, `signal` to
 * cancel. Relative paths are relative to the current directory.
 *
 * @returns `{ name: "file", description, operations, warnings, invoke(op, input, ctx), close() }`; close it, or temp
 *   roots stay behind until the next start
 * @throws ConfigError for a mistake in `config`, naming all of them; RootsError for directories that cannot be roots; the
 *   system's error when the audit file cannot be opened
 * @example
 * const files = await createFileAdapter({ roots: { docs: { path: "./docs", readOnly: true }, scratch: { temp: true } } });
 * const { content } = await files.invoke("file:read", { root: "docs", path: "README.md" });
 * await files.close();
 */
export async function createFileAdapter(config: FileAdapterConfig = {}): Promise<FileAdapter> {
  const { audit, ...file } = config;
  const checked = parseFileConfig(file, { baseDir: process.cwd() });
  const sink = audit === undefined ? undefined : await openSink(audit);
  return assembleAdapter(checked, { discloseHostPaths: true, ...(sink === undefined ? {} : { audit: sink }) });
}

async function openSink(audit: NonNullable<FileAdapterConfig["audit"]>): Promise<AuditSink> {
  if (!isAudit(audit)) throw new ConfigError(["'audit' must be { file: <path> }, or a sink with a write method"], 78);
  // A sink of the embedder's own is the embedder's to close.
  if ("write" in audit) return { write: (record) => audit.write(record), close: async () => {} };
  return openAuditFile(audit.file, () => {});
}

/** Callers without types may hand in anything. */
function isAudit(audit: unknown): boolean {
  if (typeof audit !== "object" || audit === null) return false;
  if ("write" in audit) return typeof audit.write === "function";
  return "file" in audit && typeof audit.file === "string" && audit.file !== "";
}
