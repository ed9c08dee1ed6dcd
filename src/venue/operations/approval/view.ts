// Decides who may see and decide an approval, and what they are shown.

import { isDeepStrictEqual } from "node:util";
import { driveOfKey } from "../../../authz/drive-key.js";
import { type Effect, pathsOf, shownPart, withoutContent } from "../../../core/ports/effect.js";
import { mayActAsApprover } from "../../../dispatch/approvals/asking-root.js";
import { type Approval, driveOwnerOf } from "../../approvals/approvals.js";
import {
  type CredentialChain,
  chainOf,
  isOperatorsLogin,
  isTooClose,
  OPERATORS_OWN,
} from "../../approvals/credentials.js";
import { callerOf, isAnonymous, isOperator } from "../caller.js";
import type { OperationCall } from "../operation.js";
import { refusedOperation } from "../refusal.js";

interface Asking extends Pick<OperationCall, "context"> {
  readonly venue: Pick<OperationCall["venue"], "access" | "files">;
}

/** Whether the caller holds the ability `approve` on every path of a request that nobody has allowed before. */
export function holdsApproval(approval: Approval, { context, venue }: Asking): boolean {
  if (isAnonymous(context) || !mayActAsApprover(context)) return false;
  if (!isOwnDrive(approval, { context, venue }) && !isOperator(context, venue)) return false;
  const { effects, allowed = 0 } = approval.request;
  return effects.slice(allowed).every(mayApprove({ context, venue }));
}

/** Whether the caller holds the ability `approve` on the paths of an effect. */
function mayApprove({ context, venue }: Asking): (effect: Effect) => boolean {
  const rights = venue.files.rights("approval:decide", context);
  return (effect) => pathsOf(effect).every((path) => rights.allows([effect.root, ...path], "approve"));
}

/** A drive root is another tree for each caller: rights in it are not rights in the same root of another caller. */
const isOwnDrive = ({ request, driveOwner }: Approval, { context, venue }: Asking): boolean =>
  driveOwner === driveOwnerOf(context, venue.access) ||
  request.effects.every(
    ({ root }) =>
      driveOfKey(root) === undefined && venue.files.roots.find(({ name }) => name === root)?.drive === undefined,
  );

/** UCANs that narrow their DID own what was asked for with the same ones. */
const isOwn = (approval: Approval, { context, venue }: Asking): boolean =>
  !isAnonymous(context) &&
  approval.caller === callerOf(context, venue) &&
  (context.narrowedTo === undefined || isDeepStrictEqual(chainOf(context, venue.access), approval.credentials));

export const maySee = (approval: Approval, asking: Asking): boolean =>
  isOwn(approval, asking) || holdsApproval(approval, asking);

/** Why a credential must not decide; `undefined`: it may. `code`: what a person typed at the operator's terminal. */
export function whyNotDecide(
  approval: Approval,
  { context, venue }: Asking,
  code: string | undefined,
): string | undefined {
  const by: CredentialChain = chainOf(context, venue.access);
  const close = isTooClose(by, approval.credentials);
  if (close === undefined) return undefined;
  if (isOperator(context, venue)) {
    if (by[0] === OPERATORS_OWN && code === approval.code) return undefined;
    const isLogin = isOperatorsLogin(venue.access.accessTokens?.find(by[0])?.entry);
    if (isLogin && (close === "made it" || approval.credentials[0] === OPERATORS_OWN)) return undefined;
  }
  return close === "same"
    ? "the credential that made the call"
    : `a credential that ${close === "made it" ? "made the one" : "was made by the one"} that made the call`;
}

/** @param whole with the difference, which needs the right to read */
export function approvalView(approval: Approval, asking: Asking, whole: boolean): object {
  const { id, state, request, caller, created, expires, by, note, code } = approval;
  const { operation, effects: all, diff } = request;
  const { context, venue } = asking;
  const rights = venue.files.rights("approval:get", context);
  const isHere = isOwnDrive(approval, asking);
  const isReadable = (one: Effect): boolean =>
    isHere && pathsOf(one).every((path) => rights.allows([one.root, ...path], "crud/read"));
  // A request of another caller shows only the effects that this caller may approve.
  const effects = isOwn(approval, asking)
    ? all.map((one) => (isReadable(one) ? one : withoutContent(one)))
    : all.filter(mayApprove(asking));
  const mayRead = all.every(isReadable);
  const isTerminal = whole && isOperator(context, venue) && chainOf(context, venue.access)[0] === OPERATORS_OWN;
  const { effects: effect, ...more } = shownPart(effects);
  return {
    ...{ id, state, operation, caller, created, expires, effect, ...more, by, note },
    ...(whole && diff !== undefined && mayRead ? { diff } : {}),
    ...(isTerminal ? { code } : {}),
  };
}

/** @throws CAPABILITY_DENIED for an approval that there is not, or that the caller may not see */
export function requireApproval(
  operation: string,
  id: string,
  asking: Asking & { readonly venue: Pick<OperationCall["venue"], "approvals"> },
): Approval {
  const approval = asking.venue.approvals?.find(id);
  if (approval === undefined || !maySee(approval, asking)) throw noApproval(operation);
  return approval;
}

/** The same error for an approval of another caller and for an unknown id. */
export const noApproval = (operation: string) =>
  refusedOperation({
    operation,
    requires: "the id of an approval that you asked for, or may decide",
  });
