import { randomUUID } from "node:crypto";
import type { AuditSink } from "../audit/record.js";
import { Authoriser, readCaps } from "../authz/authorise.js";
import type { Authority } from "../authz/authority.js";
import { printResource } from "../authz/grant.js";
import type { SurfaceContext } from "../core/adapter.js";
import type { Access } from "../core/backend.js";
import type { Ability } from "../core/capability.js";
import type { Clock } from "../core/clock.js";
import { FileAdapterError } from "../core/errors.js";
import { type Awaitable, isPending } from "../core/io.js";
import type { Limits } from "../core/limits.js";
import type { AnyOperation, Root } from "../core/operation.js";
import type { RelPath } from "../core/path.js";
import { CallScope, type Cancellation, cancelledBy } from "../core/scope.js";
import {
  aborted,
  internalError,
  invalidInput,
  type Place,
  readOnlyRoot,
  unknownOperation,
  unknownRoot,
} from "../core/texts.js";
import { parsePath } from "../path/grammar.js";
import type { OperationSchema } from "../schema/load.js";
import type { InputValidator } from "../schema/validate.js";
import { Gate } from "./gate.js";

export interface RegisteredOperation {
  readonly operation: AnyOperation;
  readonly schema: OperationSchema;
}

export interface DispatchOptions {
  readonly adapterName: string;
  readonly operations: ReadonlyMap<string, RegisteredOperation>;
  readonly roots: readonly Root[];
  readonly validator: InputValidator;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly discloseHostPaths: boolean;
  /** What a caller may do at all. */
  readonly authorityOf: (context: SurfaceContext) => Authority;
  readonly audit?: AuditSink;
  /** Told of failures that nobody foresaw, with the id that the caller was given. */
  readonly onInternalError?: (error: unknown, requestId: string) => void;
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

/** The one way in: look up, validate, normalise, authorise, open, run; and one audit record, whatever happened. */
export class Dispatcher {
  readonly #options: DispatchOptions;
  #roots: ReadonlyMap<string, Root>;
  readonly #gate: Gate;
  #calls = 0;
  #closed = false;
  #whenIdle: () => void = () => {};

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#roots = byName(options.roots);
    this.#gate = new Gate(options.limits.maxConcurrent);
  }

  /** Names of the roots in which a caller holds anything. */
  visibleTo(authoriser: Authoriser): string[] {
    return this.#visible(authoriser).map(({ name }) => name);
  }

  /** Calls that come from now on see these roots; those under way keep theirs. */
  setRoots(roots: readonly Root[]): void {
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
        resource: end.progress.resource === undefined ? "" : printResource(end.progress.resource),
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
  #prepare(
    operation: AnyOperation,
    state: {
      given: Record<string, unknown>;
      context: SurfaceContext;
      cancellation: Cancellation | undefined;
      scope: CallScope;
      authoriser: Authoriser;
      progress: Progress;
    },
  ): () => Awaitable<unknown> {
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
    const rootName = String(given["root"]);
    progress.resource = [rootName];
    const path = parsePath(rootName, String(given["path"] ?? ""), process.platform === "win32");
    progress.resource = [rootName, ...path.segments];
    authoriser.require(progress.resource, operation.ability);
    const root = this.#roots.get(rootName);
    if (root === undefined || authoriser.hidesRoot(rootName)) throw unknownRoot(rootName, this.visibleTo(authoriser));
    if (operation.changes && root.readOnly) throw readOnlyRoot({ root: rootName, path: path.text });
    const access = new CallAccess(root.name, path, { operation, authoriser, scope: state.scope });
    const maxReadBytes = root.maxReadBytes ?? limits.maxReadBytes;
    const call = { limits: { ...limits, maxReadBytes }, budget, resolveAsset, cancellation, root, path, access };
    return () => operation.run(given, call);
  }

  #visible(authoriser: Authoriser): Root[] {
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

const byName = (roots: readonly Root[]): ReadonlyMap<string, Root> => new Map(roots.map((root) => [root.name, root]));

/** What a backend may ask while it serves one call. */
class CallAccess implements Access {
  readonly place: Place;
  readonly scope: CallScope;
  readonly #path: RelPath;
  readonly #authoriser: Authoriser;
  readonly #ability: Ability;

  constructor(
    root: string,
    path: RelPath,
    options: { operation: AnyOperation; authoriser: Authoriser; scope: CallScope },
  ) {
    this.place = { root, path: path.text };
    this.scope = options.scope;
    this.#path = path;
    this.#authoriser = options.authoriser;
    this.#ability = options.operation.ability;
  }

  real(segments: readonly string[]): void {
    this.#authoriser.requireReal(this.place.root, { requested: this.#path.segments, real: segments }, this.#ability);
  }

  create(requested: readonly string[], real: readonly string[]): void {
    this.#authoriser.require([this.place.root, ...requested], this.#ability);
    this.#authoriser.requireReal(this.place.root, { requested, real }, this.#ability);
  }
}

function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
