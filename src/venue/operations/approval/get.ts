// approval:get: one approval, with the difference that it would make.

import { LOOKS } from "../../../core/ports/operation.js";
import type { VenueOperation } from "../operation.js";
import { approvalView, requireApproval } from "./view.js";

const NAME = "approval:get";

/** Shows what a call would do, to the caller that asked for it and to those who may decide. */
export const approvalGet: VenueOperation<{ readonly id: string }> = {
  name: NAME,
  annotations: LOOKS,
  async run({ id }, { context, venue, trail }) {
    trail.resource = `approval:${id}`;
    await venue.approvals?.refresh();
    return approvalView(requireApproval(NAME, id, { context, venue }), { context, venue }, true);
  },
};
