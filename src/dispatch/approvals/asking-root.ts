// Which calls a root asks a person about: those whose caller does not hold the ability to approve.

import type { Authoriser } from "../../authz/authorise.js";
import { APPROVE } from "../../core/call/capability.js";
import type { RelPath } from "../../core/call/path.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { Root } from "../../core/ports/operation.js";
import type { ApprovalGate } from "./approval-gate.js";
import { guardedBackend } from "./guarded-backend.js";

/** Surfaces by which models call. Nothing that comes over them is made with the ability to approve. */
const OF_MODELS: readonly (string | undefined)[] = ["mcp", "acp"];

/** Whether a call may be made with the ability to approve, whoever its credential is. */
export const mayActAsApprover = ({ surface, tool, terms }: SurfaceContext): boolean =>
  !OF_MODELS.includes(surface) && tool === undefined && terms === undefined;

/** A root as one call changes it. */
export function askingRoot(
  root: Root,
  {
    resource,
    authoriser,
    context,
    gate,
  }: { resource: readonly string[]; authoriser: Authoriser; context: SurfaceContext; gate: ApprovalGate },
): Root {
  const { approve: rules, backend } = root;
  if (rules === undefined) return root;
  const { askedAs: name = root.name } = rules;
  if (mayActAsApprover(context) && authoriser.allows(resource, APPROVE)) return root;
  // Without a getter of the root being run: some of its facts are looked up when they are asked for.
  const askToRun = (path: RelPath): boolean => gate.passRun(rules, { root: name, path: path.text });
  const askToPurge = (paths: readonly string[]): void => gate.passPurge(rules, name, paths);
  gate.join(name, root.owner);
  const guarded = guardedBackend(backend, { root: name, rules, gate });
  return Object.create(root, {
    backend: { value: guarded },
    askToRun: { value: askToRun },
    askToPurge: { value: askToPurge },
  }) as Root;
}
