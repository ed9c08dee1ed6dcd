// Assembles the file adapter from roots, operations and authorities, and reloads it without interrupting calls.

import { Authoriser } from "../authz/authorise.js";
import { createAuthorities } from "../authz/authorities.js";
import type { CapabilityRules } from "../authz/capability-rules.js";
import { capsOf } from "../authz/caps-list.js";
import { type CallerRights, createRights } from "../authz/rights.js";
import type { DriveSource } from "../backend/drive/drive.js";
import { DEFAULT_LIMITS } from "../core/call/limits.js";
import { type Clock, systemClock } from "../core/clock.js";
import type { ErrorCode } from "../core/errors/errors.js";
import type { FileConfig } from "../core/file-config.js";
import type { Adapter, InvokeContext, OperationMetadata, SurfaceContext } from "../core/ports/adapter.js";
import type { ChangeSink } from "../core/ports/changes/change.js";
import type { RootFacts } from "../core/ports/operation.js";
import type { ExecRequest, SandboxProcess } from "../core/ports/sandbox.js";
import type { FileTransfers } from "../core/ports/transfer.js";
import { recordOf } from "../dispatch/call/parts.js";
import { Dispatcher } from "../dispatch/dispatch.js";
import { Gate } from "../dispatch/gate.js";
import type { DispatchOptions } from "../dispatch/options.js";
import type { PlaceFilter } from "../dispatch/place-filter.js";
import { Repeats, type SharedRepeats } from "../dispatch/repeated-calls.js";
import { WATCH, type WatchInput } from "../dispatch/watches.js";
import { DocumentProcesses } from "../documents/document-processes.js";
import { ChangeFeed } from "../feed/change-feed.js";
import type { EventLog } from "../feed/event-log.js";
import type { JournalPlace } from "../journal/open-journal.js";
import { OPERATIONS, STREAM_OPERATIONS } from "../ops/registry.js";
import { askingRootOf, driveNamed } from "../roots/drive-root.js";
import type { RootsState } from "../roots/groups.js";
import { warningsOfLacks } from "../roots/lacks.js";
import { type OpenRoots, openRoots } from "../roots/open.js";
import type { FileInputs, FileOutputs } from "../schema/types.js";
import { InputValidator } from "../schema/validate.js";
import { ScanPool } from "../search/scan-pool.js";
import { archiveOperations, createArchiveAdapter } from "./archive.js";
import { Commands } from "./commands.js";
import type { DriveAdapterRules } from "./dlfs.js";
import { type FollowedChange, type FollowInput, follow } from "./follow.js";
import { byDispatchName, describe, withoutSchemas, withSchemas } from "./metadata.js";

export type FileOperationName = keyof FileInputs & keyof FileOutputs;

/** The file adapter: operations on jailed roots. */
export interface FileAdapter extends Adapter {
  readonly name: "file";
  /** Warnings about the roots for the operator; they may hold host paths. */
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
  /**
   * The changes at a path and below, as they happen: each at once, further ones of a path within 100 ms as one. Ends when
   * `context.signal` is aborted or the adapter closes. @throws as `file:watch` does, before the first change
   */
  watch(input: FollowInput, context?: InvokeContext): AsyncIterable<FollowedChange>;
  /**
   * Runs a command on whole roots or directories in them; requires `exec/run` on each. A root is mounted read-only
   * unless the caller also holds `crud/write` and `crud/delete` there. Audited when the command ends.
   *
   * @returns once it runs @throws FileAdapterError if it cannot start: NOT_SUPPORTED where there is no sandbox
   */
  exec(request: ExecRequest, context?: SurfaceContext): Promise<SandboxProcess>;
}

/** The file adapter with what only the venue that hosts it needs. */
export interface HostedFileAdapter extends FileAdapter {
  readonly roots: readonly RootFacts[];
  /** Adds to {@link warnings} roots that keep no replaced content, and marks those that instances share. @throws RootsError */
  lookForLacks(): Promise<void>;
  /** Creates the adapters for the callers' drives. The caller of this method closes them. */
  driveAdapters(rules?: DriveAdapterRules): Promise<readonly Adapter[]>;
  /** The adapter for archives in the roots, which works for as long as this one is open. */
  archives(): Adapter;
  /** Streams whole files in and out. */
  readonly transfers: FileTransfers;
  /** The changes of a place for a reader that stays; audited once. `undefined`: the caller sees no such root. */
  watchPlace(input: WatchInput, context: SurfaceContext): PlaceFilter | undefined;
  /** Audits a call that failed before any operation began. @param call.operation the tool that was called */
  refused(call: RefusedCall): void;
  /** The rights of a caller. @param operation named in denials */
  rights(operation: string, context: SurfaceContext): CallerRights;
  /**
   * Prepares a reload of roots and rights; limits stay as they are. Calls under way keep the old roots, which close
   * once those calls have ended. @throws RootsError, and then nothing has changed
   * @param rules called at `commit`
   */
  prepare(config: FileConfig, rules: () => CapabilityRules): PreparedChange;
}

export interface RefusedCall {
  readonly operation: string;
  readonly root: string;
  readonly context: SurfaceContext;
  readonly code: ErrorCode | "OK";
}

/** A reload that can no longer fail. Exactly one of the two methods must be called, once. */
export interface PreparedChange {
  commit(): Promise<void>;
  discard(): Promise<void>;
}

export interface AdapterParts
  extends Pick<
    DispatchOptions,
    "audit" | "changeSinks" | "discloseHostPaths" | "onInternalError" | "tickets" | "approvals" | "tagOf" | "davUrl"
  > {
  readonly clock?: Clock | undefined;
  /** Opens drives. Absent: calls on drives fail with NOT_SUPPORTED. */
  readonly drives?: DriveSource | undefined;
  /** Where journals lie. Absent: there are none. */
  readonly journals?: JournalPlace | undefined;
  /** Absent: callers without a DID (the operator) may do everything, all others nothing. */
  readonly capabilities?: CapabilityRules | undefined;
  /** Maximum size in bytes of an asset as the content of one write. */
  readonly maxContentSize?: number | undefined;
  /** Where the state of the roots lies, created when it is needed. Absent: nothing is kept outside of them. */
  readonly stateDir?: RootsState["stateDir"] | undefined;
  /** Told of groups of changes that a dead process left half done, or that failed and could not be undone. */
  readonly onRecovery?: RootsState["onRecovery"] | undefined;
  /** Judges a caller anew for work that outlives its request; `undefined`: the caller would be refused. */
  readonly rejudge?: ((context: SurfaceContext) => SurfaceContext | undefined) | undefined;
  /** The log of events that the feed of changes is part of; it ends with the adapter. Default: its own. */
  readonly eventLog?: EventLog | undefined;
  /** Calls with an `operationId`, where several instances are one venue. */
  readonly repeats?: SharedRepeats | undefined;
}

const NAME = "file";
const DESCRIPTION = "Files in jailed roots: list, search, read, edit, write, move, copy, delete.";

/** Creates the adapter. @param config validated, with defaults filled in @throws RootsError */
export async function assembleAdapter(config: FileConfig, parts: AdapterParts): Promise<HostedFileAdapter> {
  const registered = withSchemas(NAME, OPERATIONS);
  const opened = await open(config, parts);
  let lackWarnings: readonly string[] = [];
  const clock = parts.clock ?? systemClock;
  const verifier =
    parts.capabilities?.verifier ?? (await import("../authz/file-verifier.js")).createFileVerifier({ clock });
  const authoritiesBy = (rules: CapabilityRules) =>
    createAuthorities({ ...rules, verifier: rules.verifier ?? verifier }, opened.roots);
  let authorities = authoritiesBy(parts.capabilities ?? {});
  const limits = {
    ...DEFAULT_LIMITS,
    ...config.limits,
    ...(parts.maxContentSize === undefined ? {} : { maxContentSize: parts.maxContentSize }),
  };
  const scanners = new ScanPool();
  const documents = new DocumentProcesses();
  const changeSinks: ChangeSink[] = [...(parts.changeSinks ?? [])];
  const feed = new ChangeFeed({
    ...{ clock, log: parts.eventLog },
    placeOf: (name) => opened.roots.find((root) => root.name === name),
    onFirstReader: (sink) => changeSinks.push(sink),
  });
  const asking = (drive: string) => askingRootOf(opened.roots, drive);
  const canonicalDid = (did: string) => parts.capabilities?.canonicalDid?.(did) ?? did;
  const shared = {
    ...{ limits, clock, gate: new Gate(limits.maxConcurrent), repeats: new Repeats(clock, { shared: parts.repeats }) },
    driveOwner: (context: SurfaceContext) => authorities.driveOwner(context),
    capsReading: (context: SurfaceContext) => authorities.capsReading(context),
    actorOf: (context: SurfaceContext) => authorities.actorOf(context),
    ...{ changeSinks, tagOf: parts.tagOf, audit: parts.audit, approvals: parts.approvals },
    onInternalError: parts.onInternalError,
  };
  const dispatcher = new Dispatcher({
    ...{ ...shared, scanners, documents, feed, rejudge: parts.rejudge, tickets: parts.tickets, davUrl: parts.davUrl },
    references: {
      drive: (drive, name) => driveNamed(drive, parts.drives, { name, asking: asking(drive) }),
      canonicalDid,
    },
    adapterName: NAME,
    operations: new Map([
      ...byDispatchName(NAME, [...registered, ...withoutSchemas(STREAM_OPERATIONS)]),
      ...archiveOperations(),
    ]),
    roots: opened.roots,
    validator: new InputValidator(),
    discloseHostPaths: config.discloseHostPaths ?? parts.discloseHostPaths,
    authorityOf: (context) => authorities.of(context),
  });
  const commands = new Commands(NAME, dispatcher);
  const closeAll = async () => {
    feed.close();
    await commands.close();
    await dispatcher.close();
    await scanners.close();
    await documents.close();
    try {
      await opened.close();
    } finally {
      await parts.audit?.close();
    }
  };
  let operations: readonly OperationMetadata[] | undefined;
  let closing: Promise<void> | undefined;
  return {
    name: NAME,
    description: DESCRIPTION,
    get operations() {
      operations ??= registered.map((one) => describe(NAME, one));
      return operations;
    },
    get roots() {
      return opened.roots;
    },
    get warnings() {
      return [...opened.warnings, ...lackWarnings];
    },
    async lookForLacks() {
      await opened.claim();
      lackWarnings = await warningsOfLacks(opened.roots);
    },
    invoke: (operation: string, input: unknown, context?: SurfaceContext) =>
      dispatcher.invoke(operation, input, context ?? {}) as Promise<never>,
    watch: (input, context = {}) => follow(input, context, dispatcher, feed.log),
    watchPlace(input, context) {
      recordRefused({ operation: WATCH, root: input.root, context, code: "OK" }, { ...parts, clock });
      return dispatcher.watch(input, context);
    },
    archives: () => createArchiveAdapter(dispatcher),
    transfers: {
      async download(input, take, context) {
        await dispatcher.invoke(`${NAME}:download`, input, { ...context, transfer: { take } });
      },
      upload: (input, body, context) =>
        dispatcher.invoke(`${NAME}:upload`, input, { ...context, transfer: { body } }) as Promise<never>,
    },
    exec: (request, context = {}) => commands.run(request, context),
    async driveAdapters(rules) {
      const { createDriveAdapters } = await import("./dlfs.js");
      return createDriveAdapters(
        {
          ...shared,
          ...{ source: parts.drives, asking, references: undefined, elsewhere: dispatcher },
          validator: new InputValidator(),
          authorityOf: (context) => authorities.inDrives(context),
        },
        rules,
      );
    },
    refused: (call) => recordRefused(call, { ...parts, clock }),
    rights: (operation, context) => {
      const authoriser = new Authoriser({
        operation,
        caps: capsOf(context, () => authorities.capsReading(context)),
        authority: authorities.of(context),
      });
      return createRights(authoriser, { authorities, roots: opened.roots.map(({ name }) => name) });
    },
    prepare(next, rules) {
      const change = opened.prepare(next);
      return {
        async commit() {
          const closeOld = change.commit();
          dispatcher.setRoots(opened.roots);
          feed.restart();
          authorities = authoritiesBy(rules());
          await closeOld();
        },
        discard: () => change.discard(),
      };
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function recordRefused({ operation, root, context, code }: RefusedCall, parts: AdapterParts & { clock: Clock }): void {
  const end = { operation, outcome: code, ms: 0, time: parts.clock.nowMs() };
  try {
    parts.audit?.write(recordOf({ context, resource: [root] }, end, "file"));
  } catch (error) {
    // As for any other call: an audit sink that throws against its contract must not change the answer.
    parts.onInternalError?.(error, operation);
  }
}

async function open(
  config: FileConfig,
  { audit, drives, stateDir, onRecovery, journals }: AdapterParts,
): Promise<OpenRoots> {
  try {
    return openRoots(config, drives, { stateDir, onRecovery, journals });
  } catch (error) {
    await audit?.close();
    throw error;
  }
}
