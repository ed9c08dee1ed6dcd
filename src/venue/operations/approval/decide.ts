// approval:decide: a person allows a call once, or denies it.

import { approvalDecided } from "../../../core/errors/approval-texts.js";
import { callerOf } from "../caller.js";
import type { VenueOperation } from "../operation.js";
import { refusedOperation } from "../refusal.js";
import { approvalView, holdsApproval, requireApproval, whyNotDecide } from "./view.js";

interface DecideInput {
  readonly id: string;
  readonly decision: "once" | "deny";
  readonly note?: string;
  readonly code?: string;
}

const NAME = "approval:decide";

/**
 * Decides for one call, which the caller then repeats. A holder of `approve` on all places that the call
 * touches may decide, but not with the credential that made the call, nor with one made by it or that made it.
 */
export const approvalDecide: VenueOperation<DecideInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  hidden: ["code"],
  async run({ id, decision, note, code }, { context, venue, trail }) {
    trail.resource = `approval:${id}`;
    await venue.approvals?.refresh();
    const asking = { context, venue };
    const approval = requireApproval(NAME, id, asking);
    if (!holdsApproval(approval, asking)) {
      const requires = "the ability 'approve' on all that the call touches, and no call by MCP, ACP or a profile";
      throw refusedOperation({ operation: NAME, requires });
    }
    const fault = whyNotDecide(approval, asking, code);
    if (fault !== undefined) {
      throw refusedOperation({
        operation: NAME,
        requires: `somebody else: this is ${fault}`,
      });
    }
    const by = callerOf(context, venue);
    const isDone = await venue.approvals?.decide(id, { allows: decision === "once", by, note });
    if (isDone !== true) throw approvalDecided(approval.state);
    return approvalView(approval, asking, false);
  },
};
