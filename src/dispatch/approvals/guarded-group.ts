// Describes the effects of a group of changes as a whole, before any of them is made.

import { etagOf, hashText } from "../../core/etag.js";
import type { At, Backend, GroupChange } from "../../core/ports/backend.js";
import type { ApprovedAction, Effect, EffectState } from "../../core/ports/effect.js";
import { sha256Of } from "../../ops/content/file-etag.js";
import type { Intent } from "./approval-gate.js";
import { contentDiff, joinDiffs, namesOf, readTarget, type TargetState, targetNamesOf } from "./target-state.js";

interface Planned {
  readonly change: GroupChange;
  readonly effects: readonly Effect[];
  readonly tree?: string;
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
): Promise<{ readonly intent: Intent; readonly changes: readonly GroupChange[] }> {
  const places = new Places(inner);
  const planned: Planned[] = [];
  for (const change of changes) planned.push(await planOne(root, change, places));
  const diff = (): string | undefined => {
    const diffs = planned.flatMap((one) => one.diff ?? []);
    return diffs.length === 0 ? undefined : joinDiffs(diffs);
  };
  const state = planned.map(({ tree = "" }) => tree).join(";");
  return {
    intent: { effects: planned.flatMap(({ effects }) => effects), state, diff },
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
  const tree = found?.tree === undefined ? {} : { tree: found.tree };
  const expected = pinOf(found);
  switch (change.kind) {
    case "write": {
      const { body, after, diff } = await contentOf(change, known);
      const action = known?.state === undefined ? "create" : "overwrite";
      const options = { ...change.options, expected: change.options.expected ?? expected };
      return { change: { ...change, body, options }, effects: [effect(action, after)], diff, ...tree };
    }
    case "remove": {
      places.remove(change.at);
      const pin = found?.state?.type === "file" ? expected : undefined;
      const options = { ...change.options, expected: change.options.expected ?? pin };
      return { change: { ...change, options }, effects: [effect("delete")], ...tree };
    }
    case "mkdir":
      return { change, effects: found?.state === undefined ? [effect("create", { type: "directory" })] : [] };
    case "restore": {
      const action = known?.state === undefined ? "create" : "overwrite";
      const options = { ...change.options, expected: change.options.expected ?? expected };
      // A drive that gets its former content back loses what it has now.
      const effects = change.at.path.segments.length === 0 ? [effect("overwrite"), effect("delete")] : [effect(action)];
      return { change: { ...change, options }, effects, ...tree };
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
  const ofSource = source?.sha256 === undefined ? undefined : pinOf(source);
  const pinned = {
    ...options,
    expected: options.expected ?? pinOf(target),
    expectedFrom: options.expectedFrom ?? ofSource,
  };
  return {
    change: { ...change, options: pinned },
    effects,
    ...(source?.tree === undefined ? {} : { tree: source.tree }),
  };
}

/** Content in memory is part of what is approved; a stream follows from the input of the call. */
async function contentOf({ at, body }: Extract<GroupChange, { kind: "write" }>, found: TargetState | undefined) {
  const content = await body.load();
  const loaded = { load: () => content };
  if (!Buffer.isBuffer(content)) return { body: loaded, after: { type: "file" } as const, diff: undefined };
  const after: EffectState = { type: "file", etag: etagOf(sha256Of(content)), size: content.length };
  const mayRead = at.access.holds("crud/read");
  return { body: loaded, after, diff: mayRead ? contentDiff(at.path.text, found ?? {}, content, false) : undefined };
}

/** `undefined`: nothing is expected, as an earlier change of the group decides. */
function pinOf(found: TargetState | undefined) {
  if (found === undefined) return undefined;
  if (found.state === undefined) return "nothing" as const;
  return found.sha256 === undefined ? undefined : { content: hashText(found.sha256) };
}
