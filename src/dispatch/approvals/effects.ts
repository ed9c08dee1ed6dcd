// The effects of changes that are about to be committed, as an approval is bound to them and a person is shown them.

import { hash } from "node:crypto";
import type { Access, At, Looks, PlannedChange } from "../../core/ports/backend.js";
import { type ApprovedAction, type Effect, type EffectState, SHOWN_NAMES } from "../../core/ports/effect.js";
import type { Intent } from "./approval-gate.js";
import type { CountedSource } from "./counted-source.js";
import { contentDiff, joinDiffs, MAX_TEXT } from "./difference.js";
import { fileState, namesOf, readTarget, type TargetState, targetNamesOf } from "./target-state.js";
import { shownName } from "./tree-state.js";

/** One change with what is at its places. */
interface Seen {
  readonly effects: readonly Effect[];
  /** A place that holds it, which is asked about as a whole. */
  readonly whole?: At | undefined;
  /** Looked at as a whole. */
  readonly bound: readonly (TargetState | undefined)[];
  /** Content of a copied tree. */
  readonly state?: string | undefined;
  diff?(): Promise<string | undefined>;
}

/** Changes of one call that are committed together in one root. */
export interface Planned {
  readonly backend: Looks;
  /** Name of the root. */
  readonly root: string;
  readonly changes: readonly PlannedChange[];
  /** Sources of copies, by the access to their targets. */
  readonly counted: ReadonlyMap<Access, CountedSource>;
}

/** The effects of changes, as far as they are known without a look. */
export const actionsOf = ({ root, changes }: Planned): readonly Effect[] =>
  changes.flatMap((one) => {
    const { at, from } = one;
    const own = (action: ApprovedAction, place = at): Effect => ({ root, ...namesOf(place), action });
    if (from !== undefined) return [{ ...own("move", from), ...targetNamesOf(at) }, own("overwrite")];
    if (one.change.action === "deleted") return [own(removalIn(at))];
    return [own("create"), own("overwrite"), own("edit"), ...(at.path.segments.length === 0 ? [own("delete")] : [])];
  });

/** Looks at every place. @param isAsked whether the states are needed by which an approval is bound, and a difference */
export async function intentOf(planned: Planned, isAsked: (effects: readonly Effect[]) => boolean): Promise<Intent> {
  const places = new Places(planned.backend);
  const all: Seen[] = [];
  for (const [index, change] of planned.changes.entries()) {
    // The deletion of an entry that another one replaces is part of the effect of the other.
    const isDisplaced = planned.changes[index + 1]?.at.access === change.at.access;
    if (change.change.action === "deleted" && isDisplaced) continue;
    all.push(await (change.from === undefined ? see(planned, change, places) : seeMove(planned, change, places)));
  }
  const { effects, parts } = joinWholes(all);
  const { seen } = places;
  if (!isAsked(effects)) return { effects, seen };
  const states: (string | undefined)[] = [];
  const diffs: (string | undefined)[] = [];
  let inWholes = 0;
  for (const { bound, state, whole, diff } of all) {
    for (const place of bound) states.push(await place?.bound?.());
    states.push(state);
    if (whole === undefined || ++inWholes <= SHOWN_NAMES) diffs.push(await diff?.());
  }
  // The shown effect of a whole names its first parts only; an approval is bound to all of them.
  if (parts.length > 0) states.push(hash("sha256", JSON.stringify(parts)));
  return { effects, state: JSON.stringify(states), diff: joinDiffs(diffs), seen };
}

/** Changes in one whole are one effect for each action, with the names of the first. @returns `parts`: the effects that were joined */
function joinWholes(all: readonly Seen[]): { readonly effects: readonly Effect[]; readonly parts: readonly Effect[] } {
  const joined = new Map<string, { readonly whole: At; readonly parts: Effect[] }>();
  const alone: Effect[] = [];
  for (const { effects, whole } of all) {
    for (const effect of effects) {
      // Behind a link it is elsewhere: whoever decides sees where.
      if (whole === undefined || effect.real !== undefined) {
        alone.push(effect);
        continue;
      }
      const key = `${effect.action} ${whole.path.text}`;
      const known = joined.get(key) ?? { whole, parts: [] };
      joined.set(key, known);
      known.parts.push(effect);
    }
  }
  const wholes = [...joined.values()].flatMap(({ whole, parts }) => wholeEffect(whole, parts) ?? []);
  return { effects: [...wholes, ...alone], parts: [...joined.values()].flatMap(({ parts }) => parts) };
}

function wholeEffect(whole: At, parts: readonly Effect[]): Effect | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const top = whole.path.text === "" ? 0 : whole.path.text.length + 1;
  const names = parts.slice(0, SHOWN_NAMES).map(({ path, after }) => shownName([path.slice(top)], after?.type ?? ""));
  const sum = (states: readonly (EffectState | undefined)[]): EffectState => ({
    ...{ type: "directory", entries: parts.length, names },
    size: states.reduce((bytes, state) => bytes + (state?.size ?? 0), 0),
  });
  const before = first.before && sum(parts.map((one) => one.before));
  const { root, action } = first;
  return { root, ...namesOf(whole), action, before, after: sum(parts.map((one) => one.after)) };
}

/** Entries that changes find at their places: those there now, or those that earlier changes of the group move there. */
class Places {
  readonly #backend: Looks;
  readonly #touched = new Set<string>();
  readonly seen = new Map<string, NonNullable<TargetState["isSame"]>>();
  /** An entry of the trash comes back there, with all that is in it. */
  readonly #kept: string[] = [];
  /** By target. */
  readonly #moved = new Map<string, TargetState | undefined>();

  constructor(backend: Looks) {
    this.#backend = backend;
  }

  /** @returns `undefined` where an earlier change of the group decides what is there */
  async look(at: At, how: Parameters<typeof readTarget>[2]): Promise<TargetState | undefined> {
    const { text } = at.path;
    if (this.#touched.has(text) || this.#isInMovedTree(text)) return undefined;
    this.#touched.add(text);
    const found = await readTarget(this.#backend, at, how);
    const isInKept = this.#kept.some((tree) => text.startsWith(`${tree}/`));
    if (found.isSame !== undefined && !isInKept) this.seen.set(text, found.isSame);
    return found;
  }

  move(from: At, to: At, source: TargetState | undefined): void {
    const moved = source ?? this.movedTo(from);
    this.#moved.delete(from.path.text);
    if (moved?.state !== undefined) this.#moved.set(to.path.text, moved);
  }

  keep({ path }: At): void {
    this.#kept.push(path.text);
  }

  remove({ path }: At): void {
    this.#moved.delete(path.text);
  }

  /** Content of others that an earlier change has moved to this place. */
  movedTo({ path: { text } }: At): TargetState | undefined {
    const moved = this.#moved.get(text);
    // Entries of a moved tree are not looked at, so they count as content.
    return moved === undefined && this.#isInMovedTree(text) ? { state: { type: "file" } } : moved;
  }

  #isInMovedTree(text: string): boolean {
    return [...this.#moved].some(([tree, moved]) => moved?.state?.type === "directory" && text.startsWith(`${tree}/`));
  }
}

const removalIn = ({ access }: At): ApprovedAction => (access.verb === "move" ? "move" : "delete");

async function see({ root, counted }: Planned, planned: PlannedChange, places: Places): Promise<Seen> {
  const { change, at, isKept } = planned;
  const { path, access } = at;
  const copied = counted.get(access);
  const isRemoval = change.action === "deleted";
  // A change that is the entry's own follows no link at the end.
  const itself = isRemoval || copied !== undefined || isKept === true;
  const now = await places.look(at, { itself, before: change.before });
  if (isKept === true) places.keep(at);
  const bound = [now];
  // Renaming a file first makes replacing its content no less.
  const known = now ?? places.movedTo(at) ?? {};
  const { state: before } = known;
  const names = namesOf(at);
  const effect = (action: ApprovedAction, after?: EffectState): Effect => ({ root, ...names, action, before, after });
  // A drive that gets its former content back loses what it has now.
  if (path.segments.length === 0) return { effects: [effect("overwrite"), effect("delete")], bound };
  if (isRemoval) {
    places.remove(at);
    return { effects: [effect(removalIn(at))], bound };
  }
  const isEdit = change.addition !== undefined || access.verb === "edit";
  const action = before === undefined ? "create" : isEdit ? "edit" : "overwrite";
  const mayRead = access.holds("crud/read");
  return {
    effects: [effect(action, copied?.state ?? comingState(planned))],
    whole: at.whole,
    bound,
    state: copied?.hash(),
    async diff() {
      if (!mayRead) return undefined;
      if (copied !== undefined) return copied.diff(path.text, known);
      const content = await planned.content?.(MAX_TEXT);
      return content && contentDiff(path.text, known, content, change.addition !== undefined);
    },
  };
}

/** State of the new entry; for an append, of the data alone. `undefined`: not known. */
function comingState({ change, isKept }: PlannedChange): EffectState | undefined {
  const { kind, after, addition } = change;
  if (isKept === true) return undefined;
  if (kind === "directory") return { type: "directory" };
  if (after === null) return undefined;
  const { sha256 } = addition ?? after;
  return sha256 === undefined ? { type: "file" } : fileState(sha256, after.size - (addition?.offset ?? 0));
}

async function seeMove({ root }: Planned, { change, at: to, from = to }: PlannedChange, places: Places): Promise<Seen> {
  const source = await places.look(from, { itself: true });
  const target = await places.look(to, { itself: true, before: change.before });
  const replaced = target ?? places.movedTo(to);
  const before = source?.state;
  const effects: Effect[] = [{ root, ...namesOf(from), action: "move", ...targetNamesOf(to), before }];
  if (replaced?.state !== undefined)
    effects.push({ root, ...namesOf(to), action: "overwrite", before: replaced.state, after: before });
  places.move(from, to, source);
  const content = to.access.holds("crud/read") && target?.state !== undefined ? source?.content : undefined;
  const diff = async () => content && contentDiff(to.path.text, target ?? {}, content);
  return { effects, bound: [source, target], diff };
}
