// Roots that ask a person: all changes of a call but those whose caller holds the ability to approve in all of the root.
// Their backend asks before each commit; the gate judges effect by effect, once it is known where links lead.

import { driveKey } from "../../authz/drive-key.js";
import { type Ability, APPROVE } from "../../core/call/capability.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { conflict } from "../../core/errors/texts.js";
import type { Recheck } from "../../core/ports/access.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ApprovalRules } from "../../core/ports/approval.js";
import type { At, Looks, PlannedChange } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import { type Effect, pathsOf } from "../../core/ports/effect.js";
import type { Root } from "../../core/ports/operation.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { CallAccess } from "../call/access.js";
import type { CallState } from "../call/state.js";
import { type ApprovalGate, type Intent, partOf } from "./approval-gate.js";
import { CountedSource } from "./counted-source.js";
import { actionsOf, intentOf, type Planned } from "./effects.js";
import { namesOf } from "./target-state.js";

/** Surfaces by which models call. Calls over them never have the ability to approve. */
const OF_MODELS: readonly (string | undefined)[] = ["mcp", "acp"];

/** Whether a call may be made with the ability to approve, whoever its credential is. */
export const mayActAsApprover = ({ surface, tool, terms }: SurfaceContext): boolean =>
  !OF_MODELS.includes(surface) && tool === undefined && terms === undefined;

/** Rules of a root that has none, for calls whose client asks about all changes in it. */
const rulesOf = ({ client }: SurfaceContext, root: string): ApprovalRules | undefined =>
  client?.review?.asksIn(root) === true ? { for: [], minutes: 0 } : undefined;

/** The name by which a person is asked about a root. */
function askedName({ name, owner, drive = name }: Root, { askedAs }: ApprovalRules): string {
  if (askedAs === "drive") return driveKey(owner, drive);
  return askedAs?.root ?? name;
}

/** A root as one call changes it. @param access to the place of the call, which asks from now on */
export function askingRoot(root: Root, access: CallAccess, call: CallState): Root {
  const { authoriser, context } = call;
  const { approve: rules = rulesOf(context, root.name), backend } = root;
  if (rules === undefined) return root;
  const name = askedName(root, rules);
  const isApprover = mayActAsApprover(context);
  if (isApprover && authoriser.allows([root.name], APPROVE)) return root;
  const { gate } = call;
  const allows = (ability: Ability, effect: Effect): boolean =>
    pathsOf(effect).every((path) => authoriser.allows([root.name, ...path], ability));
  gate.join(name, {
    owner: root.owner,
    isDrive: root.drive !== undefined,
    mayApprove: (effect) => isApprover && allows(APPROVE, effect),
    mayRead: (effect) => allows("crud/read", effect),
  });
  const asked: Asked = { root: name, gate, rules, passed: new Map() };
  const planned = (changes: readonly PlannedChange[], before: Looks = backend): Planned => ({
    ...{ counted: gate.counted, backend: before, root: name, changes },
  });
  access.approve = (...made) => pass(asked, planned(...made), (intent) => gate.pass(rules, intent));
  // A prototype instead of a spread: a spread would run the getters of the root, some of which look facts up.
  return Object.create(root, {
    askToRun: {
      async value(at: At): Promise<boolean> {
        await backend.stat(at.path, at.access);
        // The path to the place must not change from here on.
        at.access.pin?.(at.access.realPath);
        return gate.passRun(rules, { root: name, ...namesOf(at) });
      },
    },
    askToPurge: { value: (paths: readonly string[]): void => gate.passPurge(rules, name, paths) },
    askToTake: {
      async value(at: At): Promise<void> {
        await pass(asked, planned([{ at, change: TAKEN }]), (intent) => gate.passOrHold(rules, intent));
      },
    },
    countSource: { value: (source: TreeSource, to: At): TreeSource => countSource(asked, source, to) },
  }) as Root;
}

/** One place of a call that asks. */
interface Asked {
  readonly root: string;
  readonly gate: ApprovalGate;
  readonly rules: ApprovalRules;
  /** Allowed changes here by kind, as one text. */
  readonly passed: Map<"move" | "remove" | "put", string>;
}

/** The change of an entry that goes to another root; its kind and state are looked up. */
const TAKEN: EntryChange = { action: "deleted", kind: "other", path: [], before: null, after: null };

/**
 * Lets changes pass the gate. A backend that has to try a commit again asks again: what was allowed before must be the same by then.
 * @throws APPROVAL_REQUIRED, APPROVAL_DENIED, CONFLICT
 */
function pass(
  { gate, rules, passed }: Asked,
  planned: Planned,
  allow: (intent: Intent) => boolean,
): Promise<Recheck | undefined> | undefined {
  const [first] = planned.changes;
  const isRemoval = planned.changes.length === 1 && first?.change.action === "deleted";
  // A move that turns out to cross a mount goes on as a copy and a removal.
  const kind = first?.from !== undefined ? "move" : isRemoval ? "remove" : "put";
  const earlier = passed.get(kind);
  const { over: _, ...whateverSize } = rules;
  const mayAsk = gate.concerns({ rules: whateverSize, intent: { effects: actionsOf(planned) } });
  if (first === undefined || (earlier === undefined && !mayAsk && !gate.holds)) return undefined;
  const isAsked = (effects: readonly Effect[]): boolean =>
    earlier !== undefined || gate.concerns({ rules, intent: { effects } });
  return (async () => {
    const intent = await intentOf(planned, isAsked).catch((error: unknown) => {
      throw error instanceof FileAdapterError && error.code === "CONFLICT" ? gate.changed(error) : error;
    });
    const part = JSON.stringify(partOf(intent));
    if (earlier === undefined) {
      if (allow(intent)) passed.set(kind, part);
    } else if (part !== earlier) {
      const { place, verb } = first.at.access;
      throw gate.changed(conflict(place, { verb, expected: "no change meanwhile" }));
    }
    if (!passed.has(kind)) return undefined;
    return ({ path: { text }, access: { place, verb } }, now) => {
      const isSame = intent.seen?.get(text);
      // A later change of the same call finds what this one leaves.
      intent.seen?.delete(text);
      if (isSame !== undefined && now !== undefined && !isSame(now))
        throw gate.changed(conflict(place, { verb, expected: "no change meanwhile" }));
    };
  })();
}

/** Counts the source of a copy, unless no rule asks about copies: then the system may share or copy the contents. */
function countSource({ root, gate, rules }: Asked, source: TreeSource, { access }: At): TreeSource {
  if (!gate.asksIn(root) && !rules.for.some((action) => OF_COPIES.includes(action))) return source;
  const seen = new CountedSource(source);
  gate.counted.set(access, seen);
  return seen.source;
}

const OF_COPIES: readonly string[] = ["all", "create", "overwrite"];
