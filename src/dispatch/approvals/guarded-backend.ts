// The backend of a root that asks a person: every change of every operation and surface passes the gate of its call.

import { hash } from "node:crypto";
import { requireExpected } from "../../backend/preconditions.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { type Expected, namesStamp, type Sha256 } from "../../core/etag.js";
import type { ApprovalRules } from "../../core/ports/approval.js";
import type {
  AppendOptions,
  At,
  Backend,
  Body,
  Copied,
  CopyOptions,
  GroupChange,
  GroupEffect,
  Moved,
  MoveOptions,
  SourceOptions,
  WriteOptions,
  Written,
} from "../../core/ports/backend.js";
import type { Effect, EffectState } from "../../core/ports/effect.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { ApprovalGate, Intent } from "./approval-gate.js";
import { CountedSource } from "./counted-source.js";
import { planGroup } from "./guarded-group.js";
import { loadOnce, passAtEnd } from "./once.js";
import { contentDiff, fileState, namesOf, pinOf, readTarget, type TargetState, targetNamesOf } from "./target-state.js";

type Wrapped = Pick<
  Backend,
  "write" | "append" | "mkdir" | "remove" | "move" | "source" | "place" | "changeAll" | Extract<keyof Backend, "mount">
>;

/** Methods that change nothing are passed through. */
type Untouched = Pick<
  Backend,
  | "list"
  | "walk"
  | "stat"
  | "state"
  | "onOneState"
  | "checkAll"
  | "read"
  | "open"
  | "touch"
  | "observe"
  | "close"
  | "foldsCase"
>;

/** A method that a backend gets later has to be put into one of the two. */
type Missing = Exclude<keyof Backend, keyof Wrapped | keyof Untouched>;
const NONE_MISSING: [Missing] extends [never] ? true : Missing = true;

/** The backend of one call. @param root name of the root */
export function guardedBackend(inner: Backend, options: GuardOptions): Backend {
  void NONE_MISSING;
  const guard = new Guard(inner, options);
  const mount = inner.mount?.bind(inner);
  const state = inner.state?.bind(inner);
  const onOneState = inner.onOneState?.bind(inner);
  const observe = inner.observe?.bind(inner);
  const checkAll = inner.checkAll?.bind(inner);
  return {
    get foldsCase() {
      return inner.foldsCase === true;
    },
    list: (...args) => inner.list(...args),
    walk: (...args) => inner.walk(...args),
    stat: (...args) => inner.stat(...args),
    ...(state === undefined ? {} : { state }),
    ...(onOneState === undefined ? {} : { onOneState }),
    ...(observe === undefined ? {} : { observe }),
    ...(checkAll === undefined ? {} : { checkAll }),
    read: (...args) => inner.read(...args),
    open: (...args) => inner.open(...args),
    // A time is no content.
    touch: (...args) => inner.touch(...args),
    close: () => inner.close(),
    write: (path, body, how, access) => guard.write({ path, access }, body, how),
    append: (path, body, how, access) => guard.append({ path, access }, body, how),
    mkdir: (path, how, access) => guard.mkdir({ path, access }, how),
    remove: (path, how, access) => guard.remove({ path, access }, how),
    move: (from, to, how) => guard.move(from, to, how),
    source: (path, how, access) => guard.source({ path, access }, how),
    place: (path, source, how, access) => guard.place({ path, access }, source, how),
    changeAll: (changes) => guard.changeAll(changes),
    // Who runs a command has been asked before.
    ...(mount === undefined ? {} : { mount }),
  };
}

export interface GuardOptions {
  readonly root: string;
  readonly rules: ApprovalRules;
  readonly gate: ApprovalGate;
}

/** Times that a change is looked at again when something else changed the target meanwhile. */
const MAX_LOOKS = 3;

class Guard {
  readonly #inner: Backend;
  readonly #options: GuardOptions;

  constructor(inner: Backend, options: GuardOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  write(at: At, body: Body, options: WriteOptions): Promise<Written> {
    const once = loadOnce(body);
    return this.#changePinned(at, { given: options.expected, once }, async (found, expected) => {
      const action = actionOf(at.access.verb, found);
      const content = await this.#guardContent(at, { body: once, found, action });
      return this.#inner.write(at.path, content, { ...options, expected }, at.access);
    });
  }

  append(at: At, body: Body, options: AppendOptions): Promise<Written> {
    const once = loadOnce(body);
    return this.#changePinned(at, { given: options.expected, once }, async (found, expected) => {
      const action = found.state === undefined ? "create" : "edit";
      const { head, state } = found;
      const added = head?.length === 2 ? body.addedTo?.(head, state?.size ?? 0) : undefined;
      const given = added === undefined ? once : { load: () => added };
      const content = await this.#guardContent(at, { body: given, found, action, adds: true });
      return this.#inner.append(at.path, content, { ...options, expected }, at.access);
    });
  }

  async mkdir(at: At, options: WriteOptions): Promise<{ created: boolean }> {
    const found = await readTarget(this.#inner, at);
    if (found.state === undefined) this.#pass({ effects: [this.#effect(at, { action: "create", after: DIRECTORY })] });
    return this.#inner.mkdir(at.path, options, at.access);
  }

  remove(at: At, options: Parameters<Backend["remove"]>[1]): Promise<{ existed: boolean }> {
    return this.#changePinned(at, { given: options.expected, itself: true }, async (found, expected) => {
      const action = at.access.verb === "move" ? "move" : "delete";
      if (found.state !== undefined) {
        await this.#passBound({ effects: [this.#effect(at, { action, before: found.state })] }, found);
      }
      // Only a file has content to expect.
      const known = found.state?.type === "file" ? { expected } : { expected: options.expected };
      return this.#inner.remove(at.path, { ...options, ...known }, at.access);
    });
  }

  move(from: At, to: At, options: MoveOptions): Promise<Moved | undefined> {
    return this.#changePinned(to, { given: options.expected, itself: true }, async (found, expected) => {
      const source = await readTarget(this.#inner, from, true);
      const moved = { action: "move", ...targetNamesOf(to), ...stateOf("before", source.state) } as const;
      const effects = [this.#effect(from, moved), ...this.#replacedEffects(to, found, source.state)];
      const isShown = found.state !== undefined && source.content !== undefined && to.access.holds("crud/read");
      const diff = () => (isShown ? contentDiff(to.path.text, found, source.content, false) : undefined);
      await this.#passBound({ effects, diff }, source, found);
      const expectedFrom = source.sha256 === undefined ? options.expectedFrom : pinOf(source, options.expectedFrom);
      return this.#inner.move(from, to, { ...options, expected, expectedFrom });
    });
  }

  /** The source of a move to another tree is asked about before it is copied, or with the target. */
  async source(at: At, options: SourceOptions): Promise<TreeSource> {
    if (at.access.verb === "move") {
      const found = await readTarget(this.#inner, at, true);
      const effects = [this.#effect(at, { action: "move", ...stateOf("before", found.state) })];
      const { gate, rules } = this.#options;
      gate.passOrHold(rules, await this.#bind({ effects }, found));
    }
    return this.#inner.source(at.path, options, at.access);
  }

  place(at: At, source: TreeSource, options: CopyOptions): Promise<Copied> {
    const once = new CountedSource(source);
    return this.#changePinned(at, { given: options.expected, once, itself: true }, async (found, expected) => {
      const action = found.state === undefined ? "create" : "overwrite";
      once.isRead = this.#mayAsk(this.#effect(at, { action, ...stateOf("before", found.state) }));
      const replaced = once.isRead && options.replaces === true ? await found.bound?.() : undefined;
      const isShown = at.access.holds("crud/read");
      const approve = (sha256: Sha256 | undefined): void => {
        options.approve?.(sha256);
        // What a tree brings is known once it has been read.
        const after = sha256 === undefined ? once.state : { ...once.state, ...fileState(sha256, once.size) };
        this.#pass({
          effects: [this.#effect(at, { action, ...stateOf("before", found.state), after })],
          state: `${once.hash()} ${sha256} ${replaced}`,
          diff: () => (isShown ? once.diff(at.path.text, found) : undefined),
        });
      };
      const hash = once.isRead ? source.top.type === "file" : options.hash === true;
      return this.#inner.place(at.path, once.source, { ...options, expected, approve, hash }, at.access);
    });
  }

  async changeAll(given: readonly GroupChange[]): Promise<readonly GroupEffect[]> {
    const { intent, bound, changes } = await planGroup(this.#inner, this.#options.root, given);
    await this.#passBound(intent, ...bound);
    try {
      return await this.#inner.changeAll(changes);
    } catch (error) {
      throw this.#options.gate.explain(error);
    }
  }

  /** The effect on what a move or copy puts its source in the place of. */
  #replacedEffects(at: At, { state }: TargetState, after: EffectState | undefined): Effect[] {
    if (state === undefined) return [];
    return [this.#effect(at, { action: "overwrite", before: state, ...stateOf("after", after) })];
  }

  #effect(at: At, effect: Omit<Effect, "root" | "path" | "real">): Effect {
    return { root: this.#options.root, ...namesOf(at), ...effect };
  }

  #pass(intent: Intent): void {
    this.#options.gate.pass(this.#options.rules, intent);
  }

  /** Whether somebody may be asked about this, whatever its size turns out to be. */
  #mayAsk(effect: Effect): boolean {
    const { over: _, ...rules } = this.#options.rules;
    return this.#options.gate.concerns({ rules, intent: { effects: [effect] } });
  }

  async #passBound(intent: Intent, ...places: readonly TargetState[]): Promise<void> {
    this.#pass(await this.#bind(intent, ...places));
  }

  /** Binds what is asked to all that is at these places. It is read only if somebody is asked. */
  async #bind(intent: Intent, ...places: readonly TargetState[]): Promise<Intent> {
    const { gate, rules } = this.#options;
    if (!gate.concerns({ rules, intent })) return intent;
    const all: (string | undefined)[] = [];
    for (const { bound } of places) all.push(await bound?.());
    return { ...intent, state: JSON.stringify(all) };
  }

  /** Content that has passed the gate; a stream passes it at its end, before anything is put in place. */
  async #guardContent(
    at: At,
    { body, found, action, adds = false }: { body: Body; found: TargetState; action: Effect["action"]; adds?: boolean },
  ): Promise<Body> {
    const mayRead = at.access.holds("crud/read");
    const passWith = (sha256: Sha256, size: number, start: Buffer | undefined) => {
      const after = fileState(sha256, size);
      const diff = () => (mayRead && start !== undefined ? contentDiff(at.path.text, found, start, adds) : undefined);
      this.#pass({ effects: [this.#effect(at, { action, ...stateOf("before", found.state), after })], diff });
    };
    const loaded = await body.load();
    if (Buffer.isBuffer(loaded)) {
      passWith(hash("sha256", loaded), loaded.length, loaded);
      return { load: () => loaded };
    }
    return { load: () => passAtEnd(loaded, passWith) };
  }

  /**
   * Acts on what was looked at, and on nothing else: a target that has changed meanwhile is looked at again, or where
   * an approval was used, refused.
   */
  async #changePinned<T>(
    at: At,
    {
      given,
      once,
      itself = false,
    }: { given: Expected | undefined; once?: { readonly isSpent: boolean }; itself?: boolean },
    act: (found: TargetState, expected: Expected | undefined) => Promise<T> | T,
  ): Promise<T> {
    for (let looks = 1; ; looks += 1) {
      const found = await readTarget(this.#inner, at, itself);
      // Nobody is asked about what is refused anyway.
      if (given !== undefined && !namesStamp(given) && found.sha256 !== undefined)
        requireExpected(given, found.sha256, at.access);
      try {
        return await act(found, pinOf(found, given));
      } catch (error) {
        const isOurs = given === undefined && error instanceof FileAdapterError && error.code === "CONFLICT";
        const again = isOurs && !this.#options.gate.isApproved && once?.isSpent !== true && looks < MAX_LOOKS;
        if (!again) throw isOurs ? this.#options.gate.explain(error) : error;
      }
    }
  }
}

const DIRECTORY: EffectState = { type: "directory" };

const stateOf = <Key extends "before" | "after">(key: Key, state: EffectState | undefined) =>
  (state === undefined ? {} : { [key]: state }) as { readonly [key in Key]?: EffectState };

function actionOf(verb: string, { state }: TargetState): Effect["action"] {
  if (state === undefined) return "create";
  return verb === "edit" ? "edit" : "overwrite";
}
