import { randomUUID } from "node:crypto";
import type { AuditSink } from "../audit/record.js";
import { Authoriser, readCaps } from "../authz/authorise.js";
import type { Authority } from "../authz/authority.js";
import { printResource, type Scheme } from "../authz/grant.js";
import { asCallerError } from "../backend/drive-errors.js";
import type { SurfaceContext } from "../core/adapter.js";
import type { Clock } from "../core/clock.js";
import { FileAdapterError } from "../core/errors.js";
import { type Awaitable, isPending } from "../core/io.js";
import type { Limits } from "../core/limits.js";
import {
  type AnyOperation,
  type DriveShelf,
  isPersonal,
  type OpenRoot,
  type PersonalRoot,
  type Root,
} from "../core/operation.js";
import { CallScope, type Cancellation, cancelledBy } from "../core/scope.js";
import {
  aborted,
  driveRequiresAuth,
  internalError,
  invalidInput,
  readOnlyRoot,
  unknownOperation,
  unknownRoot,
} from "../core/texts.js";
import { parsePath } from "../path/grammar.js";
import type { OperationSchema } from "../schema/load.js";
import type { InputValidator } from "../schema/validate.js";
import { CallAccess } from "./call-access.js";
import { Gate } from "./gate.js";

export interface RegisteredOperation {
  readonly operation: AnyOperation;
  readonly schema: OperationSchema;
}

export interface DispatchOptions {
  readonly adapterName: string;
  readonly operations: ReadonlyMap<string, RegisteredOperation>;
  readonly roots: readonly OpenRoot[];
  /** Present: the operations are on drives of the caller, which `drive` names in the input, and not on roots. */
  readonly drives?: DriveSpace;
  readonly validator: InputValidator;
  readonly limits: Limits;
  /** Shared by adapters that have one limit together. */
  readonly gate?: Gate;
  readonly clock: Clock;
  readonly discloseHostPaths: boolean;
  /** What a caller may do at all. */
  readonly authorityOf: (context: SurfaceContext) => Authority;
  /** Whose drives a caller uses. `undefined`: nobody's. Absent: there are no drives. */
  readonly driveOwner?: (context: SurfaceContext) => string | undefined;
  readonly audit?: AuditSink;
  /** Told of failures that nobody foresaw, with the id that the caller was given. */
  readonly onInternalError?: (error: unknown, requestId: string) => void;
}

/** All the drives there can be. */
export interface DriveSpace {
  /** @throws INVALID_INPUT for a name that no drive can have */
  root(drive: string): PersonalRoot;
  /** @throws as a drive's backend does */
  shelf(owner: string): Promise<DriveShelf>;
}

/** How long {@link Dispatcher.close} waits: a flush may hang for as long as a disk does. */
const CLOSE_PATIENCE_MS = 5000;

/** What is known of a call so far; the audit record is written from it. */
interface Progress {
  /** Root and path, as far as they could be understood. */
  resource: readonly string[] | undefined;
  bytes: number;
  authoriser?: Authoriser;
}

/** A call on its way to its operation. */
interface Preparing {
  readonly given: Record<string, unknown>;
  readonly context: SurfaceContext;
  readonly cancellation: Cancellation | undefined;
  readonly scope: CallScope;
  readonly authoriser: Authoriser;
  readonly progress: Progress;
}

type DrivesOperation = Extract<AnyOperation, { on: "drives" }>;

/** The one way in: look up, validate, normalise, authorise, open, run; and one audit record, whatever happened. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  #roots: ReadonlyMap<string, OpenRoot>;
  readonly #scheme: Scheme;
  readonly #gate: Gate;
  #calls = 0;
  #closed = false;
  #whenIdle: () => void = () => {};

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#roots = byName(options.roots);
    this.#scheme = options.drives === undefined ? "file" : "dlfs";
    this.#gate = options.gate ?? new Gate(options.limits.maxConcurrent);
  }

  /** Names of the roots in which a caller holds anything. */
  visibleTo(authoriser: Authoriser): string[] {
    return this.#visible(authoriser).map(({ name }) => name);
  }

  /** Calls that come from now on see these roots; those under way keep theirs. */
  setRoots(roots: readonly OpenRoot[]): void {
    this.#roots = byName(roots);
  }

  /** @throws FileAdapterError for every failure; ABORTED once closed */
  async invoke(name: string, input: unknown, context: SurfaceContext): Promise<unknown> {
    if (this.#closed) throw aborted();
    this.#calls++;
    const startedMs = this.#options.clock.monotonicMs();
    const progress: Progress = { resource: undefined, bytes: 0 };
    let outcome = "OK";
    try {
      return await this.#run(name, input, context, progress);
    } catch (error) {
      const known = error instanceof FileAdapterError ? error : this.#unforeseen(error);
      outcome = known.code;
      throw known;
    } finally {
      this.#record(name, context, { progress, outcome, startedMs });
      if (--this.#calls === 0) this.#whenIdle();
    }
  }

  /** Takes no more calls, and waits for those that run to be answered and recorded, but not for ever. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#calls === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CLOSE_PATIENCE_MS);
      this.#whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #record(
    name: string,
    context: SurfaceContext,
    end: { progress: Progress; outcome: string; startedMs: number },
  ): void {
    const { clock, audit, operations } = this.#options;
    if (audit === undefined) return;
    try {
      audit.write({
        time: clock.nowMs(),
        caller: context.callerDID === undefined ? "operator" : context.callerDID,
        operation: operations.has(name) ? name : "unknown",
        resource: end.progress.resource === undefined ? "" : printResource(end.progress.resource, this.#scheme),
        outcome: end.outcome,
        bytes: end.progress.bytes,
        ms: Math.round((clock.monotonicMs() - end.startedMs) * 1000) / 1000,
        ...(context.jobId === undefined ? {} : { job: context.jobId }),
        ...chainOf(end.progress.authoriser),
      });
    } catch (error) {
      // What the call did is done: a sink that breaks its promise must not turn the answer into a failure.
      this.#unforeseen(error);
    }
  }

  async #run(name: string, input: unknown, context: SurfaceContext, progress: Progress): Promise<unknown> {
    const registered = this.#options.operations.get(name);
    if (registered === undefined) throw unknownOperation(name);
    const { operation, schema } = registered;
    const checking = this.#options.validator.check(name, schema.input, input ?? {});
    if (isPending(checking)) await checking;
    const given = parseInput(input);
    operation.check?.(given);

    const cancellation = context.cancellation ?? cancelledBy(context.signal);
    const scope = new CallScope({
      clock: this.#options.clock,
      timeoutMs: this.#options.limits.timeoutMs,
      cancellation,
    });
    const authoriser = new Authoriser({
      operation: name,
      caps: [readCaps(context.caps), readCaps(context.callCaps)],
      authority: this.#options.authorityOf(context),
      scheme: this.#scheme,
    });
    progress.authoriser = authoriser;
    const work = this.#prepare(operation, { given, context, cancellation, scope, authoriser, progress });
    // Not everything that follows looks for itself: a list of roots needs no disk.
    scope.checkpoint();
    const waiting = this.#gate.enter(scope);
    if (waiting !== undefined) await waiting;
    try {
      const output = await work();
      progress.bytes = operation.bytes?.(output) ?? 0;
      return output;
    } finally {
      this.#gate.leave();
    }
  }

  /** Everything up to the disk. @returns the rest */
  #prepare(operation: AnyOperation, state: Preparing): () => Awaitable<unknown> {
    const { given, cancellation, authoriser, progress } = state;
    const { limits } = this.#options;
    const { budget, resolveAsset } = state.context;
    if (operation.on === "roots") {
      progress.resource = [];
      authoriser.requireAnyRead([...this.#roots.keys()]);
      const visible = this.#visible(authoriser);
      const { discloseHostPaths } = this.#options;
      return () => operation.run(given, { limits, budget, resolveAsset, cancellation, visible, discloseHostPaths });
    }
    if (operation.on === "drives") return this.#prepareDrives(operation, state);
    const { drives } = this.#options;
    const rootName = String(given[drives === undefined ? "root" : "drive"]);
    progress.resource = [rootName];
    const path = parsePath(rootName, String(given["path"] ?? ""), process.platform === "win32");
    progress.resource = [rootName, ...path.segments];
    const found = drives === undefined ? this.#roots.get(rootName) : drives.root(rootName);
    const root = isPersonal(found) ? this.#ownRoot(found, state) : found;
    authoriser.require(progress.resource, operation.ability);
    if (root === undefined || authoriser.hidesRoot(rootName)) throw unknownRoot(rootName, this.visibleTo(authoriser));
    if (operation.changes && root.readOnly) throw readOnlyRoot({ root: rootName, path: path.text });
    const access = new CallAccess(root.name, path, { operation, authoriser, scope: state.scope });
    const maxReadBytes = root.maxReadBytes ?? limits.maxReadBytes;
    const call = { limits: { ...limits, maxReadBytes }, budget, resolveAsset, cancellation, root, path, access };
    return () => operation.run(given, call);
  }

  /** The tree that a root is for this caller. @throws DRIVE_REQUIRES_AUTH */
  #ownRoot(root: PersonalRoot, state: Preparing): Root {
    return { ...root, backend: root.backendFor(this.#owner(root.name, state)) };
  }

  #prepareDrives(operation: DrivesOperation, state: Preparing): () => Promise<unknown> {
    const { given, authoriser, progress, scope } = state;
    const { drives } = this.#options;
    if (drives === undefined) throw unknownOperation(operation.name);
    const drive = given["drive"] === undefined ? undefined : String(given["drive"]);
    progress.resource = drive === undefined ? [] : [drive];
    const name = drive === undefined ? "dlfs" : drives.root(drive).drive;
    const owner = this.#owner(name, state);
    if (drive === undefined) authoriser.requireReadSomewhere();
    else authoriser.require([drive], operation.ability);
    const sees = (one: string): boolean => authoriser.seesRoot(one);
    return async () => {
      try {
        const shelf = await scope.race(drives.shelf(owner));
        // What has begun is not taken back: the answer waits for it.
        if (operation.changes) scope.commit();
        return await scope.race(operation.run(given, { shelf, sees }));
      } catch (error) {
        throw asCallerError(error, { place: { root: name, path: "" }, drive: drive ?? "", verb: operation.name });
      }
    };
  }

  /** @throws DRIVE_REQUIRES_AUTH */
  #owner(drive: string, { context }: Preparing): string {
    const owner = this.#options.driveOwner?.(context);
    if (owner === undefined) throw driveRequiresAuth(drive);
    return owner;
  }

  #visible(authoriser: Authoriser): OpenRoot[] {
    return [...this.#roots.values()].filter((root) => authoriser.seesRoot(root.name));
  }

  #unforeseen(error: unknown): FileAdapterError {
    const requestId = randomUUID();
    this.#options.onInternalError?.(error, requestId);
    return internalError(requestId);
  }
}

const chainOf = (authoriser: Authoriser | undefined) =>
  authoriser?.chain === undefined ? {} : { chain: authoriser.chain };

const byName = (roots: readonly OpenRoot[]): ReadonlyMap<string, OpenRoot> =>
  new Map(roots.map((root) => [root.name, root]));

function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
