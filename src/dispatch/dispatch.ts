// The flow of every call: look up, validate, normalise, authorise, open, run. Each is audited once, whatever the outcome.

import { createHash, randomUUID } from "node:crypto";
import { Authoriser } from "../authz/authorise.js";
import { capsOf } from "../authz/caps-list.js";
import type { Scheme } from "../authz/grant.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { aborted, internalError, readOnlyRoot, unknownRoot } from "../core/errors/texts.js";
import { VersionCache } from "../core/etag-cache.js";
import { type Awaitable, after, isPending } from "../core/io.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import {
  type AnyOperation,
  type Call,
  isPersonal,
  type OpenRoot,
  type PathCall,
  type PlaceRequest,
  type Resolve,
} from "../core/ports/operation.js";
import { deferred, settleWithin, Turns } from "../core/turns.js";
import { withoutNulls } from "../schema/nulls.js";
import { ApprovalGate, splitApproval } from "./approvals/approval-gate.js";
import { askingRoot } from "./approvals/asking-root.js";
import { accessTo } from "./call/access.js";
import { addRemark, changesOf, hasNullPrecondition, NO_PRECONDITION } from "./call/changes.js";
import { ownerOf, prepareOnDrives } from "./call/drives.js";
import { meantPath, NeedsLook } from "./call/meant-path.js";
import {
  byName,
  callOf,
  checkInput,
  createPathCall,
  findOperation,
  type JudgedPlace,
  limitsOf,
  type Preparing,
  parseInput,
  type SharedState,
  scopeOf,
  type ValidCall,
} from "./call/parts.js";
import { type CallEnd, noteBytes, noteExit, notePlace, type Progress, recordOf } from "./call/record.js";
import { Gates, runAdmitted } from "./gate.js";
import type { DispatchOptions } from "./options.js";
import type { PlaceFilter } from "./place-filter.js";
import { Repeats } from "./repeated-calls.js";
import { openForOwner, viewsOf } from "./root-views.js";
import { withSuggestions } from "./suggestions.js";
import { Watches, type WatchInput, withChangeBracket } from "./watches.js";

/** Longest wait of {@link Dispatcher.close}: a flush may hang for as long as the disk does. */
const CLOSE_PATIENCE_MS = 5000;

export class Dispatcher {
  readonly #options: DispatchOptions;
  #roots: ReadonlyMap<string, OpenRoot>;
  readonly #scheme: Scheme;
  readonly #gates: Gates;
  readonly #shared: SharedState;
  readonly #repeats: Repeats;
  readonly #watches: Watches | undefined;
  #calls = 0;
  #closed = false;
  #onIdle: () => void = () => {};

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#roots = byName(options.roots);
    this.#scheme = options.drives === undefined ? "file" : "dlfs";
    this.#shared = { versions: options.versions ?? new VersionCache(() => createHash("sha256")), turns: new Turns() };
    this.#repeats = options.repeats ?? new Repeats(options.clock);
    const { feed } = options;
    const rootOf = (name: string) => this.#roots.get(name);
    const authoriserOf = (name: string, context: SurfaceContext) => this.#authoriser(name, context);
    this.#watches = feed && new Watches({ feed, options, rootOf, authoriserOf });
    this.#gates = new Gates(options.limits.maxConcurrent, options);
  }

  /** Names of the roots in which the caller holds a grant. */
  visibleTo(authoriser: Authoriser): string[] {
    return this.#visible(authoriser).map(({ name }) => name);
  }

  /** Replaces the roots for later calls; calls under way keep theirs. */
  setRoots(roots: readonly OpenRoot[]): void {
    this.#roots = byName(roots);
  }

  /** Opens the changes of a place for a reader that stays. See {@link Watches.open}. */
  watch(input: WatchInput, context: SurfaceContext): PlaceFilter | undefined {
    return this.#watches?.open(input, context);
  }

  /** @throws FileAdapterError for every failure; ABORTED once closed */
  async invoke(name: string, input: unknown, context: SurfaceContext): Promise<unknown> {
    if (this.#closed) throw aborted();
    this.#calls++;
    const startedMs = this.#options.clock.monotonicMs();
    const progress: Progress = { resource: undefined, others: [], bytes: 0 };
    let failure: FileAdapterError | undefined;
    try {
      const answer = this.#run(name, input, context, progress);
      // Most calls end here, without another turn of the loop.
      return isPending(answer) ? await answer : answer;
    } catch (error) {
      failure = error instanceof FileAdapterError ? error : this.#unforeseen(error);
      throw failure;
    } finally {
      const { clock, operations } = this.#options;
      const operation = operations.has(name) ? name : "unknown";
      const ms = clock.monotonicMs() - startedMs;
      const outcome = failure?.code ?? "OK";
      this.#record({ operation, context, progress, outcome, failure, ms, time: clock.nowMs() });
      if (--this.#calls === 0) this.#onIdle();
    }
  }

  /** Refuses new calls; waits at most 5 s until the running ones are answered and recorded. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#calls === 0) return;
    const { promise: idle, resolve } = deferred();
    this.#onIdle = resolve;
    await settleWithin(idle, CLOSE_PATIENCE_MS);
  }

  #record(call: CallEnd): void {
    try {
      this.#options.audit?.write(recordOf(call, this.#scheme));
    } catch (error) {
      // The call has taken effect: an audit sink that breaks its contract must not turn its answer into a failure.
      this.#unforeseen(error);
    }
  }

  #run(name: string, input: unknown, context: SurfaceContext, progress: Progress): Awaitable<unknown> {
    const { operation, schema } = findOperation(this.#options.operations, name, context);
    const { given, approval } = splitApproval(parseInput(withoutNulls(input, schema.input)), operation.changes);
    const valid: ValidCall = { name, given, approval, context, progress };
    const visible = () => this.visibleTo(this.#authoriser(name, context));
    const checked = checkInput(this.#options.validator, { name, given, schema: schema.input, visible });
    const output = after(checked, () => this.#runValid(operation, valid));
    return given !== input && hasNullPrecondition(input)
      ? after(output, (answer) => addRemark(answer, NO_PRECONDITION))
      : output;
  }

  #runValid(operation: AnyOperation, { name, given, approval, context, progress }: ValidCall): Awaitable<unknown> {
    operation.check?.(given);
    const scope = scopeOf(operation, { given, context }, this.#options);
    const authoriser = this.#authoriser(name, context);
    progress.authoriser = authoriser;
    const onFault = (error: unknown) => this.#unforeseen(error);
    const changes = changesOf(operation, context, { options: this.#options, scheme: this.#scheme, onFault });
    const { approvals: desk } = this.#options;
    const gate = new ApprovalGate({ name, given, context, desk, approval: approval ?? context.approval, progress });
    const looks = new Map<string, string>();
    const state: Preparing = { name, given, context, scope, authoriser, progress, changes, gate, looks };
    const output = withChangeBracket(operation, this.#options, () =>
      given["operationId"] === undefined ? this.#perform(operation, state) : this.#performOnce(operation, state),
    );
    return after(output, (answer) => noteExit(operation, answer, progress));
  }

  #perform(operation: AnyOperation, state: Preparing): Awaitable<unknown> {
    const { context, scope, progress } = state;
    const explain = (error: unknown) => this.#explain(state.changes.tellMade(error, scope), operation, state);
    let output: Awaitable<unknown>;
    try {
      const work = this.#prepare(operation, state);
      // Not every operation checks for cancellation itself: a list of roots needs no disk.
      scope.checkpoint();
      const { memory, callerDID: caller } = context;
      output = runAdmitted(work, { gate: this.#gates.of(operation), scope, memory, caller });
    } catch (error) {
      return explain(error);
    }
    if (isPending(output)) output = output.catch(explain);
    return after(output, (answer) => state.changes.tell(noteBytes(operation, answer, progress)));
  }

  #performOnce(operation: AnyOperation, state: Preparing): Promise<unknown> {
    const { name, given, context, scope, progress } = state;
    const places: JudgedPlace[] = [];
    return this.#repeats.runOnce(
      { name, given, context, scope },
      {
        run: (transfer) => this.#perform(operation, { ...state, context: { ...context, ...transfer }, places }),
        places: () => places.map(({ request, access }) => ({ request, real: access.realPath })),
        judge: (first) => {
          const authoriser = this.#authoriser(name, context);
          const anew = { ...state, authoriser, context: { ...context, exactPaths: true as const } };
          progress.authoriser = authoriser;
          const call = callOf(anew, this.#options, this.#shared);
          for (const { request, real } of first)
            this.#place(operation, { request, state: anew, call }).access.real(real);
        },
      },
    );
  }

  #authoriser(operation: string, context: SurfaceContext): Authoriser {
    const authority = this.#options.authorityOf(context);
    return new Authoriser({ operation, caps: capsOf(context), authority, scheme: this.#scheme });
  }

  /** Rethrows an error, with what a caller that reads it may have meant. Profiles and commands have texts of their own. */
  async #explain(error: unknown, operation: AnyOperation, state: Preparing): Promise<unknown> {
    if (error instanceof NeedsLook) return error.look().then(() => this.#perform(operation, state));
    const { terms, within, tool, transfer } = state.context;
    if ([terms, within, tool, transfer].some((one) => one !== undefined)) throw error;
    throw await withSuggestions(error, {
      at: this.#aside(operation, state),
      roots: this.#visible(state.authoriser.copy()),
      disclosesHostPaths: this.#options.discloseHostPaths,
    });
  }

  /** Makes places for look-ups; the record of the call names neither the paths looked up nor the token used. */
  #aside(operation: AnyOperation, state: Preparing): Resolve {
    const progress = { resource: [], others: [], bytes: 0 };
    const context = { ...state.context, exactPaths: true as const };
    const separate = { ...state, progress, context, places: [], authoriser: state.authoriser.copy() };
    const call = callOf(separate, this.#options, this.#shared);
    return (request) => this.#place(operation, { request, state: separate, call });
  }

  /** Does everything that needs no disk. @returns runs the operation */
  #prepare(operation: AnyOperation, state: Preparing): () => Awaitable<unknown> {
    const { given, authoriser, progress } = state;
    const call = callOf(state, this.#options, this.#shared);
    if (operation.on === "roots") {
      progress.resource = [];
      authoriser.requireAnyRead([...this.#roots.keys()]);
      const visible = this.#visible(authoriser);
      return () => operation.run(given, { visible, discloseHostPaths: this.#options.discloseHostPaths, ...call });
    }
    if (operation.on === "drives") return prepareOnDrives(operation, { state, call, options: this.#options });
    if (operation.on === "places") {
      const at = (request: PlaceRequest) => this.#place(operation, { request, state, call });
      const meant = (request: PlaceRequest) => meantPath(request, state, this.#around(operation, state));
      const roots = () => viewsOf(this.#roots.values(), state, this.#options);
      // The spread comes last: adding names to a copy takes microseconds.
      return () => operation.run(given, { at, meant, roots, origin: state.changes.maker, ...call });
    }
    const { ability, changes, anyName } = operation;
    const root = String(given[this.#options.drives === undefined ? "root" : "drive"]);
    const request = { root, path: String(given["path"] ?? ""), abilities: [ability], changes, anyName };
    const placed = this.#place(operation, { request, state, call });
    return () => operation.run(given, placed);
  }

  /** Checks one path of a call: its syntax, then the caller's rights, then the root's own rules (read-only, deny). */
  #place(
    operation: AnyOperation,
    { request, state, call }: { request: PlaceRequest; state: Preparing; call: Call },
  ): PathCall {
    if (request.isAside === true) return this.#aside(operation, state)({ ...request, isAside: false });
    const { authoriser, progress } = state;
    const { drives, limits } = this.#options;
    const { root: rootName, abilities, changes } = request;
    const note = notePlace(progress, rootName);
    const path = meantPath(request, state, this.#around(operation, state));
    const resource = [rootName, ...path.segments];
    note(resource);
    const found = drives === undefined ? this.#roots.get(rootName) : drives.root(rootName);
    // A drive root is opened for its owner; without one, DRIVE_REQUIRES_AUTH.
    const root = isPersonal(found) ? openForOwner(found, ownerOf(found.name, state.context, this.#options)) : found;
    for (const ability of abilities) authoriser.require(resource, ability);
    if (root === undefined || authoriser.hidesRoot(rootName)) throw unknownRoot(rootName, this.visibleTo(authoriser));
    if (changes && root.readOnly) throw readOnlyRoot({ root: rootName, path: path.text });
    const access = accessTo(root, path, { operation, request, state, terms: call.terms });
    state.places?.push({ request: { ...request, path: path.text, base: undefined }, access });
    const placed = changes || operation.runs ? askingRoot(root, access, state) : root;
    const pollChanges = operation.watches && this.#watches?.createPoll({ root, path, access }, state.context);
    const at = (other: PlaceRequest) => this.#place(operation, { request: other, state, call });
    return createPathCall(call, { root: placed, path, access, limits: limitsOf(root, limits), at, pollChanges });
  }

  #around(operation: AnyOperation, state: Preparing) {
    return { options: this.#options, roots: this.#roots, aside: () => this.#aside(operation, state) };
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
