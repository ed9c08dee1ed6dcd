// Which calls a root asks a person about: all but those whose caller holds the ability to approve in all of it. The
// gate judges what others do, effect by effect, once it is known where links lead.

import type { Authoriser } from "../../authz/authorise.js";
import { type Ability, APPROVE } from "../../core/call/capability.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { At } from "../../core/ports/backend.js";
import { type Effect, pathsOf } from "../../core/ports/effect.js";
import type { Root } from "../../core/ports/operation.js";
import type { ApprovalGate } from "./approval-gate.js";
import { guardedBackend } from "./guarded-backend.js";
import { namesOf, readWay } from "./target-state.js";

/** Surfaces by which models call. Nothing that comes over them is made with the ability to approve. */
const OF_MODELS: readonly (string | undefined)[] = ["mcp", "acp"];

/** Whether a call may be made with the ability to approve, whoever its credential is. */
export const mayActAsApprover = ({ surface, tool, terms }: SurfaceContext): boolean =>
  !OF_MODELS.includes(surface) && tool === undefined && terms === undefined;

/** A root as one call changes it. */
export function askingRoot(
  root: Root,
  { authoriser, context, gate }: { authoriser: Authoriser; context: SurfaceContext; gate: ApprovalGate },
): Root {
  const { approve: rules, backend } = root;
  if (rules === undefined) return root;
  const { askedAs: name = root.name } = rules;
  const isApprover = mayActAsApprover(context);
  if (isApprover && authoriser.allows([root.name], APPROVE)) return root;
  const allows = (ability: Ability, effect: Effect): boolean =>
    pathsOf(effect).every((path) => authoriser.allows([root.name, ...path], ability));
  gate.join(name, {
    owner: root.owner,
    mayApprove: (effect) => isApprover && allows(APPROVE, effect),
    mayRead: (effect) => allows("crud/read", effect),
  });
  // Without a getter of the root being run: some of its facts are looked up when they are asked for.
  const askToRun = async (at: At): Promise<boolean> => {
    await readWay(backend, at);
    return gate.passRun(rules, { root: name, ...namesOf(at) });
  };
  const askToPurge = (paths: readonly string[]): void => gate.passPurge(rules, name, paths);
  const guarded = guardedBackend(backend, { root: name, rules, gate });
  return Object.create(root, {
    backend: { value: guarded },
    askToRun: { value: askToRun },
    askToPurge: { value: askToPurge },
  }) as Root;
}
