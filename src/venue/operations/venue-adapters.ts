// The adapters of the venue's own operations.

import type { VenueConfig } from "../../config/types.js";
import type { Adapter, OperationMetadata } from "../../core/ports/adapter.js";
import { loadOperationSchema } from "../../schema/load.js";
import { createPublicKeys } from "../../ucan/verify/public-keys.js";
import { type AdapterHosting, hostAdapter } from "../catalogue/hosted-adapter.js";
import { publicCapsOf } from "../identity/access.js";
import { approvalDecide } from "./approval/decide.js";
import { approvalGet } from "./approval/get.js";
import { approvalList } from "./approval/list.js";
import { approvalWait } from "./approval/wait.js";
import { auditQuery } from "./audit/query.js";
import { authIssue } from "./auth/issue.js";
import { authList } from "./auth/list.js";
import { authRevoke } from "./auth/revoke.js";
import { authWhoami } from "./auth/whoami.js";
import { lockDrop } from "./lock/drop.js";
import { lockList } from "./lock/list.js";
import type { AnyVenueOperation, OperationParts } from "./operation.js";
import { ucanIssue } from "./ucan/issue.js";
import { ucanRevoke } from "./ucan/revoke.js";
import { ucanVerify } from "./ucan/verify.js";

/** All operations of the venue itself, in the order clients see them. */
export const VENUE_OPERATIONS: readonly AnyVenueOperation[] = [
  ...[ucanIssue, ucanVerify, ucanRevoke],
  ...[authWhoami, authIssue, authList, authRevoke],
  auditQuery,
  ...[approvalList, approvalGet, approvalDecide, approvalWait],
  ...[lockList, lockDrop],
];

/** Descriptions of their adapters, by the part of the operation name before the colon. */
export const VENUE_ADAPTERS: Readonly<Record<string, string>> = {
  ucan: "Capability tokens: issue, verify, revoke.",
  auth: "Who calls, what they may do, and access tokens.",
  audit: "What was done here, by whom.",
  approval: "What waits for a person, and deciding it.",
  lock: "Locks of WebDAV clients.",
};

/** Rules that the operations take from the configuration in force. */
export function rulesOf(config: () => VenueConfig): Pick<OperationParts, "auth" | "publicCaps" | "keyLasts"> {
  const { seed, seedFile } = config();
  return {
    auth: () => config().auth,
    publicCaps: () => publicCapsOf(config()),
    keyLasts: seed !== undefined || seedFile !== undefined,
  };
}

/** Creates the venue's own adapters, `ucan`, `auth` and `audit`, which receive the whole context of a call. */
export function createVenueAdapters(
  parts: Omit<OperationParts, "issued" | "keys">,
  hosting: AdapterHosting,
): readonly Adapter[] {
  const venue: OperationParts = { ...parts, issued: new Map(), keys: createPublicKeys() };
  return Object.entries(VENUE_ADAPTERS).map(([name, description]) => {
    const operations = new Map(
      VENUE_OPERATIONS.filter((operation) => adapterOf(operation) === name).map((one) => [one.name, one]),
    );
    return hostAdapter(
      {
        name,
        description,
        operations: [...operations.values()].map(describe),
        isOurs: true,
        run: async (operation, input, call) => operations.get(operation)?.run(input, { ...call, venue }),
      },
      hosting,
    );
  });
}

const adapterOf = ({ name }: AnyVenueOperation): string => name.slice(0, name.indexOf(":"));

function describe(operation: AnyVenueOperation): OperationMetadata {
  const { name, annotations, hidden = [], hiddenOutput } = operation;
  const adapter = adapterOf(operation);
  const schema = loadOperationSchema(name.slice(adapter.length + 1), adapter);
  return {
    name,
    toolName: name.replace(":", "_"),
    title: schema.title,
    description: schema.description,
    ability: annotations.readOnlyHint ? "crud/read" : "crud/write",
    changes: !annotations.readOnlyHint,
    annotations,
    input: schema.input,
    output: schema.output,
    hidden,
    ...(hiddenOutput === undefined ? {} : { hiddenOutput }),
  };
}
