// Parts of a venue of several instances.

import type { HttpPeers } from "../../surfaces/http/passing/port.js";
import type { JobKeeper } from "../jobs/keeper.js";

export interface ClusterParts {
  readonly keeper: JobKeeper;
  readonly peers: HttpPeers;
  /** Tells balancers that this instance stops, and waits until they have heard. Calls are taken meanwhile. */
  drain(): Promise<void>;
}
