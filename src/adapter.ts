import type { AuditSink } from "./audit/record.js";
import type { Authority } from "./authz/authorise.js";
import { parseGrant } from "./authz/grant.js";
import type { Adapter, InvokeContext, OperationMetadata, SurfaceContext } from "./core/adapter.js";
import type { Capability } from "./core/capability.js";
import { type Clock, systemClock } from "./core/clock.js";
import type { FileConfig } from "./core/file-config.js";
import { DEFAULT_LIMITS } from "./core/limits.js";
import { Dispatcher, type RegisteredOperation } from "./dispatch/dispatch.js";
import { OPERATIONS } from "./ops/registry.js";
import { openRoots } from "./roots/open.js";
import { loadOperationSchema } from "./schema/load.js";
import type { FileInputs, FileOutputs } from "./schema/types.js";
import { InputValidator } from "./schema/validate.js";

export type FileOperationName = keyof FileInputs & keyof FileOutputs;

/** The file adapter: nine operations on jailed roots. */
export interface FileAdapter extends Adapter {
  readonly name: "file";
  /** What an operator should know about the roots; it may hold host paths. */
  readonly warnings: readonly string[];
  /**
   * Runs one operation. @throws FileAdapterError for every failure
   * @param context without it, or without `callerDID` in it, the caller is the operator
   */
  invoke<Name extends FileOperationName>(
    operation: Name,
    input: FileInputs[Name],
    context?: InvokeContext,
  ): Promise<FileOutputs[Name]>;
  invoke(operation: string, input: unknown, context?: SurfaceContext): Promise<unknown>;
}

export interface AdapterParts {
  readonly audit?: AuditSink;
  readonly clock?: Clock;
  /** DID that has authority over every root, beside callers without a DID. */
  readonly operator?: string;
  /** What every other caller may do; nothing unless given. */
  readonly publicCaps?: readonly Capability[];
  /** Default of the surface; the configuration decides over it. */
  readonly discloseHostPaths: boolean;
  readonly onInternalError?: (error: unknown, requestId: string) => void;
}

const NAME = "file";
const DESCRIPTION = "Files in jailed roots: list, tree, read, stat, write, append, mkdir, delete.";

/** Puts the adapter together: roots, operations, authority. @param config checked and complete */
export async function assembleAdapter(config: FileConfig, parts: AdapterParts): Promise<FileAdapter> {
  const registered = OPERATIONS.map(
    (operation): RegisteredOperation => ({ operation, schema: loadOperationSchema(operation.name) }),
  );
  const opened = await openRoots(config).catch(async (error: unknown) => {
    await parts.audit?.close();
    throw error;
  });
  const dispatcher = new Dispatcher({
    adapterName: NAME,
    operations: new Map(registered.map((one) => [`${NAME}:${one.operation.name}`, one])),
    roots: opened.roots,
    validator: new InputValidator(),
    limits: { ...DEFAULT_LIMITS, ...config.limits },
    clock: parts.clock ?? systemClock,
    discloseHostPaths: config.discloseHostPaths ?? parts.discloseHostPaths,
    authorityOf: authorityOf(parts),
    ...(parts.audit === undefined ? {} : { audit: parts.audit }),
    ...(parts.onInternalError === undefined ? {} : { onInternalError: parts.onInternalError }),
  });
  const closeAll = async () => {
    await dispatcher.close();
    try {
      await opened.close();
    } finally {
      await parts.audit?.close();
    }
  };
  let closing: Promise<void> | undefined;
  return {
    name: NAME,
    description: DESCRIPTION,
    operations: registered.map(describe),
    warnings: opened.warnings,
    invoke: (operation: string, input: unknown, context?: SurfaceContext) =>
      dispatcher.invoke(operation, input, context ?? {}) as Promise<never>,
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function authorityOf(parts: AdapterParts): (callerDID: string | undefined) => Authority {
  const publicGrants = (parts.publicCaps ?? []).map(parseGrant).filter((grant) => grant !== undefined);
  return (callerDID) => (callerDID === undefined || callerDID === parts.operator ? "everything" : publicGrants);
}

function describe({ operation, schema }: RegisteredOperation): OperationMetadata {
  return {
    name: `${NAME}:${operation.name}`,
    toolName: `${NAME}_${operation.name}`,
    title: schema.title,
    description: schema.description,
    ability: operation.ability,
    changes: operation.changes,
    annotations: operation.annotations,
    input: schema.input,
    output: schema.output,
    hidden: operation.hidden ?? [],
    ...(operation.render === undefined ? {} : { render: operation.render.bind(operation) }),
  };
}
