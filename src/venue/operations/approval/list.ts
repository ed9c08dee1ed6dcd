// approval:list: requests that wait for a person, and their outcomes.

import { LOOKS } from "../../../core/ports/operation.js";
import type { VenueOperation } from "../operation.js";
import { approvalView, maySee } from "./view.js";

interface ListInput {
  readonly state?: "pending" | "all";
  readonly limit?: number;
}

const DEFAULT_LIMIT = 100;

/** Lists approvals, the newest first: those of the caller's own calls, and those it may decide. */
export const approvalList: VenueOperation<ListInput> = {
  name: "approval:list",
  annotations: LOOKS,
  async run({ state = "pending", limit = DEFAULT_LIMIT }, { context, venue }) {
    await venue.approvals?.refresh();
    const seen = (venue.approvals?.list() ?? []).filter(
      (one) => (state === "all" || one.state === "pending") && maySee(one, { context, venue }),
    );
    const approvals = seen.slice(0, limit).map((one) => approvalView(one, { context, venue }, false));
    const isComplete = approvals.length === seen.length;
    return { approvals, complete: isComplete, ...(isComplete ? {} : { reason: "limit" }) };
  },
};
