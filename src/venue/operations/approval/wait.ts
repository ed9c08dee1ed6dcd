// approval:wait: waits for the decision on an approval.

import { LOOKS } from "../../../core/ports/operation.js";
import type { VenueOperation } from "../operation.js";
import { approvalView, requireApproval } from "./view.js";

interface WaitInput {
  readonly id: string;
  readonly waitMs?: number;
}

const NAME = "approval:wait";
const DEFAULT_MS = 30_000;

/** Answers as soon as the approval is no longer pending, or when the time is over. */
export const approvalWait: VenueOperation<WaitInput> = {
  name: NAME,
  annotations: LOOKS,
  async run({ id, waitMs = DEFAULT_MS }, { context, signal, venue, trail }) {
    trail.resource = `approval:${id}`;
    await venue.approvals?.refresh();
    const approval = requireApproval(NAME, id, { context, venue });
    await venue.approvals?.wait(id, waitMs, signal);
    return approvalView(venue.approvals?.find(id) ?? approval, { context, venue }, false);
  },
};
