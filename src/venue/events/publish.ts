// Publishes audit records and jobs as events.

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuditSink } from "../../audit/record.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Caller } from "../../core/call/caller.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { VenueEvent, VenueTopic } from "../../core/ports/changes/events.js";
import type { EventLog } from "../../feed/event-log.js";
import type { Access } from "../identity/access.js";
import { accessDid } from "../identity/access-entry.js";
import type { VenueHostOptions } from "../venue.js";
import type { EventBus } from "./event-bus.js";
import { createVenueEvents } from "./venue-events.js";

/** Tells of each audit record to the operator, to the caller whose call it was, and to the maker of its token. */
export const auditEvents = (
  bus: EventBus,
  access: Pick<Access, "did" | "accessTokens" | "canonicalDid">,
): AuditSink => ({
  write: (record) => {
    if (!bus.wants("audit")) return;
    const maker = makerOf(record.caller, access);
    bus.publish("audit", { data: { ...record }, audience: [record.caller, ...(maker === undefined ? [] : [maker])] });
  },
  close: async () => {},
});

/** DID of who made the access token that a caller is; the operator hears of all anyway. */
function makerOf(caller: string, access: Pick<Access, "did" | "accessTokens" | "canonicalDid">): string | undefined {
  const start = accessDid(access, "");
  if (!caller.startsWith(start)) return undefined;
  const maker = access.accessTokens?.find(caller.slice(start.length))?.entry.maker;
  return maker === undefined || maker.kind === "operator" ? undefined : access.canonicalDid(maker.did);
}

interface EventParts {
  readonly log: EventLog;
  readonly bus: EventBus;
  readonly config: VenueConfig;
  readonly adapter: HostedFileAdapter;
  readonly access: Pick<Access, "rejudge">;
}

/** The events of a venue, for its host. */
export function eventsOf({
  log,
  bus,
  config,
  adapter,
  access,
}: EventParts): Pick<VenueHostOptions, "events" | "onJob"> {
  return {
    events: createVenueEvents({
      ...{ log, bus },
      servesAnonymous: isLoopbackListener(config),
      watch: (input, context) => adapter.watchPlace(input, context),
      rejudge: (context) => access.rejudge(context),
      sight: visibilityOf,
    }),
    onJob: (record, audience) => {
      if (!bus.wants("job")) return;
      const { input: _, output: __, ...data } = record;
      bus.publish("job", { data, audience });
    },
  };
}

// Which events a caller may see: what the lists of the same things would show it.

/**
 * As `audit:query`, `auth:list`, `approval:list` and the list of jobs judge, at the time of the delivery. UCANs that narrow
 * their DID are in the audience of their jobs alone: they would see what their DID does elsewhere.
 */
function visibilityOf(
  topic: VenueTopic,
  { did, isOperator, narrowedTo = did }: Caller,
  context: SurfaceContext,
): (event: VenueEvent) => boolean {
  const isOwn = ({ audience }: VenueEvent): boolean => audience.includes(narrowedTo);
  if (topic === "approval") return (event) => event.maySee?.(context) ?? isOwn(event);
  return isOperator ? () => true : isOwn;
}
