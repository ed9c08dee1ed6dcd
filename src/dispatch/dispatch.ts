// The flow of every call: look up, validate, normalise, authorise, open, run. Each is audited once, whatever the outcome.

import { createHash, randomUUID } from "node:crypto";
import { KeptDirectories } from "../backend/archive/kept.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { aborted, internalError, readOnlyRoot, unknownRoot } from "../core/errors/texts.js";
import { VersionCache } from "../core/etag-cache.js";
import { type Awaitable, after, isPending } from "../core/io.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import { isPersonal, type OpenRoot, type PathCall, type PlaceRequest, type Root } from "../core/ports/operation.js";
import { deferred, settleWithin, Turns } from "../core/turns.js";
import { withSuggestions } from "../ops/searching/path-search.js";
import { withoutNulls } from "../schema/validate.js";
import { askingRoot } from "./approvals/asking-root.js";
import { CallAccess } from "./call/access.js";
import { archiveOf, insideOf, placeInside, requireLook } from "./call/archives.js";
import { openForOwner, ownerOf, ownView, prepareOnDrives, viewsOf } from "./call/drives.js";
import { meantPath, NeedsLook } from "./call/meant-path.js";
import {
  byName,
  callOf,
  checkInput,
  extraTimeOf,
  findOperation,
  hasNullPrecondition,
  NO_PRECONDITION,
  namesOf,
  parseInput,
  placedCall,
  recordOf,
} from "./call/parts.js";
import { driveAt, runSpelled } from "./call/references.js";
import { addRemark, CallState, type DispatchParts } from "./call/state.js";
import { Gates, runAdmitted } from "./gate.js";
import type { DispatchOptions, ReferringCall } from "./options.js";
import type { PlaceFilter } from "./place-filter.js";
import { Repeats } from "./repeated-calls.js";
import { Watches, type WatchInput } from "./watches.js";

/** Longest wait of {@link Dispatcher.close}: a flush may hang for as long as the disk does. */
const CLOSE_PATIENCE_MS = 5000;

export class Dispatcher {
  readonly #parts: DispatchParts;
  #roots: ReadonlyMap<string, OpenRoot>;
  readonly #gates: Gates;
  readonly #repeats: Repeats;
  readonly #watches: Watches | undefined;
  #calls = 0;
  #closed = false;
  #onIdle: () => void = () => {};

  constructor({ roots, ...options }: DispatchOptions) {
    this.#roots = byName(roots);
    this.#parts = {
      ...options,
      versions: options.versions ?? new VersionCache(() => createHash("sha256")),
      ...{ turns: new Turns(), archives: new KeptDirectories() },
      scheme: options.drives === undefined ? "file" : "dlfs",
      roots: () => this.#roots,
      place: (call, request) => this.#place(call, request),
      onFault: (error) => this.#unforeseen(error),
    };
    const { feed } = options;
    this.#repeats = options.repeats ?? new Repeats(options.clock);
    this.#watches = feed && new Watches({ ...this.#parts, feed });
    this.#gates = new Gates(options.limits.maxConcurrent, options);
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
    const { clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    const call = new CallState(this.#parts, name, context);
    let failure: FileAdapterError | undefined;
    try {
      const answer = this.#run(call, input);
      // Most calls end here, without another turn of the loop.
      return isPending(answer) ? await answer : answer;
    } catch (error) {
      failure = error instanceof FileAdapterError ? error : this.#unforeseen(error);
      throw failure;
    } finally {
      this.#record(call, failure, clock.monotonicMs() - startedMs);
      if (--this.#calls === 0) this.#onIdle();
    }
  }

  /** A place that a call of another adapter reads, by the rights in this one. */
  refer({ name, context, scope, operation, others }: ReferringCall, request: PlaceRequest): PathCall {
    const call = new CallState(this.#parts, name, context, scope);
    call.begin(operation, {});
    try {
      return call.at(request);
    } finally {
      // The record of the call tells of the place as its own adapter prints it.
      const [root = "", ...path] = call.resource ?? [];
      others.push([root.includes("/") ? root : `file://${root}`, ...path]);
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

  #record(call: CallState, failure: FileAdapterError | undefined, ms: number): void {
    const { audit, clock, operations, scheme } = this.#parts;
    const operation = operations.has(call.name) ? call.name : "unknown";
    const outcome = failure?.code ?? "OK";
    try {
      audit?.write(recordOf(call, { operation, outcome, failure, ms, time: clock.nowMs() }, scheme));
    } catch (error) {
      // The call has taken effect: an audit sink that breaks its contract must not turn its answer into a failure.
      this.#unforeseen(error);
    }
  }

  #run(call: CallState, input: unknown): Awaitable<unknown> {
    const { operation, schema } = findOperation(this.#parts.operations, call.name, call.context);
    const given = parseInput(withoutNulls(input, schema.input));
    call.begin(operation, given);
    const checked = checkInput(call, schema.input, () => this.#visible(call));
    const run = () => this.#runChecked(call);
    const output = after(checked, () => runSpelled(call, run, () => this.#visible(call)));
    return given !== input && hasNullPrecondition(input)
      ? after(output, (answer) => addRemark(answer, NO_PRECONDITION))
      : output;
  }

  #runChecked(call: CallState): Awaitable<unknown> {
    const { operation, given, scope } = call;
    operation.check?.(given);
    scope.extend(extraTimeOf(operation, call));
    const { feed, approvals } = this.#parts;
    const perform = () => (given["operationId"] === undefined ? this.#perform(call) : this.#performOnce(call));
    const asks = (operation.changes || operation.runs) && approvals?.around !== undefined;
    const run = asks ? () => approvals.around?.(call.approval, call.context, perform) : perform;
    const output = operation.changes && feed !== undefined ? feed.duringChange(run) : run();
    return after(output, (answer) => {
      call.exit = operation.exitOf?.(answer);
      return answer;
    });
  }

  #perform(call: CallState): Awaitable<unknown> {
    const { operation, scope } = call;
    const explain = (error: unknown) => this.#explain(call.tellMade(error), call);
    let output: Awaitable<unknown>;
    try {
      const work = this.#prepare(call);
      // Not every operation checks for cancellation itself: a list of roots needs no disk.
      scope.checkpoint();
      output = runAdmitted(this.#gates.of(operation), call, work);
    } catch (error) {
      return explain(error);
    }
    if (isPending(output)) output = output.catch(explain);
    return after(output, (answer) => {
      call.bytes = operation.bytes?.(answer) ?? 0;
      return call.tell(answer);
    });
  }

  #performOnce(call: CallState): Promise<unknown> {
    return this.#repeats.runOnce(call, {
      run: (transfer) => {
        call.context = { ...call.context, ...transfer };
        call.places = [];
        return this.#perform(call);
      },
      places: () => (call.places ?? []).map(({ request, access }) => ({ request, real: access.realPath })),
      judge: (first) => {
        call.judgeAnew();
        for (const { request, real } of first) call.at(request).access.real(real);
      },
    });
  }

  /** Rethrows an error, with what a caller that reads it may have meant. Profiles and commands have texts of their own. */
  async #explain(error: unknown, call: CallState): Promise<unknown> {
    if (error instanceof NeedsLook) return error.look().then(() => this.#perform(call));
    const { terms, within, tool, transfer } = call.context;
    if ([terms, within, tool, transfer].some((one) => one !== undefined)) throw error;
    const roots = this.#visible(call);
    const { discloseHostPaths: disclosesHostPaths } = this.#parts;
    throw await withSuggestions(error, { at: (request) => call.aside.at(request), roots, disclosesHostPaths });
  }

  /** Does everything that needs no disk. @returns runs the operation */
  #prepare(call: CallState): () => Awaitable<unknown> {
    const { operation, given, authoriser } = call;
    const { discloseHostPaths, drives } = this.#parts;
    if (operation.on === "roots") {
      call.resource = [];
      authoriser.requireAnyRead([...this.#roots.keys()]);
      const visible = this.#visible(call);
      return () => operation.run(given, { visible, discloseHostPaths, ...callOf(call) });
    }
    if (operation.on === "drives") return prepareOnDrives(operation, call);
    const at = (request: PlaceRequest) => call.at(request);
    if (operation.on === "places") {
      const meant = (request: PlaceRequest) => meantPath(request, call);
      const roots = () => viewsOf(call);
      const viewOf = (drive: Root) => ownView(drive, call);
      // The spread comes last: adding names to a copy takes microseconds.
      return () => operation.run(given, { at, meant, roots, viewOf, origin: call.maker, ...callOf(call) });
    }
    const { ability, changes, anyName } = operation;
    const root = String(given[drives === undefined ? "root" : "drive"]);
    const placed = at({ root, path: String(given["path"] ?? ""), abilities: [ability], changes, anyName });
    return () => operation.run(given, placed);
  }

  /** Checks one path of a call: its syntax, then the caller's rights, then the root's own rules (read-only, deny). */
  #place(call: CallState, request: PlaceRequest): PathCall {
    if (request.isAside === true) return call.aside.at({ ...request, isAside: false });
    const { authoriser, context, operation } = call;
    const { drives, elsewhere } = this.#parts;
    if (request.isReference === true && elsewhere !== undefined) return elsewhere.refer(call, request);
    const { abilities, changes } = request;
    const note = request.isInside === true ? () => {} : call.notePlace(request.root);
    const meant = meantPath(request, call);
    // Rights in an archive are those on the archive itself.
    const archive = archiveOf(request, meant);
    const judged = archive?.archive ?? meant;
    const referred = driveAt(request, judged, call);
    const { name: rootName, path } = referred ?? { name: request.root, path: judged };
    const resource = [rootName, ...path.segments];
    note(archive === undefined ? resource : [rootName, ...insideOf(archive, path).segments]);
    if (archive !== undefined) requireLook(archive, request, call);
    const found = drives === undefined ? this.#roots.get(rootName) : drives.root(rootName);
    // A drive root is opened for its owner; without one, DRIVE_REQUIRES_AUTH.
    const own = (one = found) => (isPersonal(one) ? openForOwner(one, ownerOf(one.name, context, this.#parts)) : one);
    const root = referred === undefined ? own() : referred.root;
    for (const ability of abilities) authoriser.require(resource, ability);
    if (root === undefined || authoriser.hidesRoot(rootName)) throw unknownRoot(rootName, namesOf(this.#visible(call)));
    if (changes && root.readOnly) throw readOnlyRoot({ root: rootName, path: path.text });
    const access = new CallAccess(call, root, path, request);
    // Spreads are slow, and most calls need neither.
    if (call.places !== undefined && request.isInside !== true) {
      const exact: PlaceRequest = { ...request, root: rootName, path: path.text, base: undefined, isExact: true };
      call.places.push({ request: exact, access });
    }
    const place = archive && placeInside(archive, { root, path, access }, call);
    return placedCall(call, {
      root: place?.root ?? (changes || operation.runs ? askingRoot(root, access, call) : root),
      path: place?.path ?? path,
      access: place?.access ?? access,
      at: (other) => call.at(other),
      pollChanges: operation.watches && this.#watches?.createPoll({ root, path, access }, context),
    });
  }

  /** Roots in which the caller holds a grant. */
  #visible({ authoriser }: CallState): OpenRoot[] {
    return [...this.#roots.values()].filter((root) => authoriser.seesRoot(root.name));
  }

  #unforeseen(error: unknown): FileAdapterError {
    const requestId = randomUUID();
    this.#parts.onInternalError?.(error, requestId);
    return internalError(requestId);
  }
}
