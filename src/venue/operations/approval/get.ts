// approval:get: one approval, with the difference that it would make.

import { LOOKS } from "../../../core/ports/operation.js";
import type { VenueOperation } from "../operation.js";
import { approvalView, maySee, noApproval } from "./view.js";

const NAME = "approval:get";

/** Shows what a call would do, to whoever asked for it or may decide. */
export const approvalGet: VenueOperation<{ readonly id: string }> = {
  name: NAME,
  annotations: LOOKS,
  run({ id }, { context, venue, trail }) {
    trail.resource = `approval:${id}`;
    const approval = venue.approvals?.find(id);
    if (approval === undefined || !maySee(approval, { context, venue })) throw noApproval(NAME);
    return approvalView(approval, { context, venue }, true);
  },
};
