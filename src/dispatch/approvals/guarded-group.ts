// Describes the effects of a group of changes as a whole, before any of them is made.

import type { At, Backend, ChangeOptions, GroupChange } from "../../core/ports/backend.js";
import type { ApprovedAction, Effect, EffectState } from "../../core/ports/effect.js";
import { sha256Of } from "../../ops/content/file-etag.js";
import type { Intent } from "./approval-gate.js";
import {
  contentDiff,
  fileState,
  joinDiffs,
  namesOf,
  pinOf,
  readTarget,
  type TargetState,
  targetNamesOf,
} from "./target-state.js";

interface Planned {
  readonly change: GroupChange;
  readonly effects: readonly Effect[];
  /** What is looked at as a whole. */
  readonly bound?: TargetState | undefined;
  readonly diff?: string | undefined;
}

/**
 * Looks at every place that the group touches first.
 *
 * @returns what it is about to do, and the changes, which now hold only for what was looked at
 */
export async function planGroup(
  inner: Backend,
  root: string,
  changes: readonly GroupChange[],
): Promise<{
  readonly intent: Intent;
  readonly bound: readonly TargetState[];
  readonly changes: readonly GroupChange[];
}> {
  const places = new Places(inner);
  const planned: Planned[] = [];
  for (const change of changes) planned.push(await planOne(root, change, places));
  return {
    intent: {
      effects: planned.flatMap(({ effects }) => effects),
      diff: () => joinDiffs(planned.map(({ diff }) => diff)),
    },
    bound: planned.map(({ bound = {} }) => bound),
    changes: planned.map(({ change }) => change),
  };
}

/** What the changes of a group find at their places: what is there now, or what earlier changes of the group move there. */
class Places {
  readonly #inner: Backend;
  readonly #touched = new Set<string>();
  /** By target. */
  readonly #moved = new Map<string, TargetState | undefined>();

  constructor(inner: Backend) {
    this.#inner = inner;
  }

  /** @returns `undefined` where an earlier change of the group decides what is there */
  async look(at: At, itself: boolean): Promise<TargetState | undefined> {
    const { text } = at.path;
    if (this.#touched.has(text) || this.#isInMovedTree(text)) return undefined;
    this.#touched.add(text);
    return readTarget(this.#inner, at, itself);
  }

  move(from: At, to: At, source: TargetState | undefined): void {
    const moved = source ?? this.movedTo(from);
    this.#moved.delete(from.path.text);
    if (moved?.state !== undefined) this.#moved.set(to.path.text, moved);
  }

  remove({ path }: At): void {
    this.#moved.delete(path.text);
  }

  /** Content of others that an earlier change has moved to this place. */
  movedTo({ path: { text } }: At): TargetState | undefined {
    const moved = this.#moved.get(text);
    // What a moved tree has there is not looked at, so it counts as content.
    return moved === undefined && this.#isInMovedTree(text) ? { state: { type: "file" } } : moved;
  }

  #isInMovedTree(text: string): boolean {
    return [...this.#moved].some(([tree, moved]) => moved?.state?.type === "directory" && text.startsWith(`${tree}/`));
  }
}

async function planOne(root: string, change: GroupChange, places: Places): Promise<Planned> {
  if (change.kind === "move") return planMove(root, change, places);
  const found = await places.look(change.at, change.kind === "remove");
  // Renaming a file first makes replacing its content no less.
  const known = found ?? places.movedTo(change.at);
  const effect = (action: ApprovedAction, after?: EffectState): Effect => ({
    ...{ root, ...namesOf(change.at), action },
    ...(known?.state === undefined ? {} : { before: known.state }),
    ...(after === undefined ? {} : { after }),
  });
  // What an earlier change of the group decides is not expected.
  const pinned = <T extends ChangeOptions>(options: T): T =>
    found === undefined ? options : { ...options, expected: pinOf(found, options.expected) };
  const bound = found;
  switch (change.kind) {
    case "write": {
      const { body, after, diff } = await contentOf(change, known);
      const action = known?.state === undefined ? "create" : "overwrite";
      const options = pinned(change.options);
      return { change: { ...change, body, options }, effects: [effect(action, after)], diff, bound };
    }
    case "remove": {
      places.remove(change.at);
      const options = found?.state?.type === "file" ? pinned(change.options) : change.options;
      return { change: { ...change, options }, effects: [effect("delete")], bound };
    }
    case "mkdir":
      return { change, effects: found?.state === undefined ? [effect("create", { type: "directory" })] : [] };
    case "restore": {
      const action = known?.state === undefined ? "create" : "overwrite";
      // A drive that gets its former content back loses what it has now.
      const effects = change.at.path.segments.length === 0 ? [effect("overwrite"), effect("delete")] : [effect(action)];
      return { change: { ...change, options: pinned(change.options) }, effects, bound };
    }
  }
}

async function planMove(
  root: string,
  change: Extract<GroupChange, { kind: "move" }>,
  places: Places,
): Promise<Planned> {
  const { from, to, options } = change;
  const source = await places.look(from, true);
  const target = await places.look(to, true);
  const replaced = target ?? places.movedTo(to);
  const before = source?.state === undefined ? {} : { before: source.state };
  const effects: Effect[] = [{ root, ...namesOf(from), action: "move", ...targetNamesOf(to), ...before }];
  if (replaced?.state !== undefined) {
    const after = source?.state === undefined ? {} : { after: source.state };
    effects.push({ root, ...namesOf(to), action: "overwrite", before: replaced.state, ...after });
  }
  places.move(from, to, source);
  const pinned = {
    ...options,
    expected: target === undefined ? options.expected : pinOf(target, options.expected),
    expectedFrom: source?.sha256 === undefined ? options.expectedFrom : pinOf(source, options.expectedFrom),
  };
  return { change: { ...change, options: pinned }, effects, bound: source };
}

/** Content in memory is part of what is approved; a stream follows from the input of the call. */
async function contentOf({ at, body }: Extract<GroupChange, { kind: "write" }>, found: TargetState | undefined) {
  const content = await body.load();
  const loaded = { load: () => content };
  if (!Buffer.isBuffer(content)) return { body: loaded, after: { type: "file" } as const, diff: undefined };
  const after = fileState(sha256Of(content), content.length);
  const mayRead = at.access.holds("crud/read");
  return { body: loaded, after, diff: mayRead ? contentDiff(at.path.text, found ?? {}, content, false) : undefined };
}
