// Opens a venue from its configuration: everything it names, or nothing.

import type { HostedFileAdapter, PreparedChange } from "../../adapter/adapter.js";
import type { AuditFile } from "../../audit/audit-file.js";
import { type AuditSink, teeSink } from "../../audit/record.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { McpConfig, VenueConfig } from "../../config/types.js";
import { contextOf } from "../../core/call/attribute.js";
import type { Caller } from "../../core/call/caller.js";
import { systemClock } from "../../core/clock.js";
import { later } from "../../core/later.js";
import type { VenueEvent } from "../../core/ports/changes/events.js";
import type { Log } from "../../core/ports/log.js";
import { EventLog } from "../../feed/event-log.js";
import type { DavLocks } from "../../surfaces/http/host.js";
import type { McpEndpoint } from "../../surfaces/mcp/http.js";
import { openApprovals } from "../approvals/open.js";
import { createMcpHost, type McpParts, mcpReports } from "../catalogue/mcp-host.js";
import { plugIn } from "../catalogue/plug-in.js";
import { openProfiles } from "../catalogue/profiles.js";
import { auditEvents, createVenueEvents, jobEvents } from "../events/venue-events.js";
import { type Access, capabilityRulesOf, ownContext } from "../identity/access.js";
import { createLogin, stampTagsOf } from "../identity/tickets.js";
import type { ClusterOptions } from "../shared/cluster.js";
import type { PostgresShared } from "../shared/postgres.js";
import { createVenueHost, type VenueHost } from "../venue.js";
import { allOrNothing, asConfigError, type Opened } from "./all-or-nothing.js";
import { davOptions, servesDav } from "./dav.js";
import { createVenueDrives } from "./drives.js";
import { httpOptions, overviewOf } from "./http-options.js";
import { openAssets } from "./open-assets.js";
import { internalLog, openFileAdapter, ownAccess } from "./open-files.js";
import type { OpenVenue, OpenVenueOptions } from "./open-options.js";
import { openAudit, openAuditLog } from "./open-parts.js";
import { applyReload, unappliedKeys } from "./reload.js";

export type { OpenVenue, OpenVenueOptions, PreparedReload } from "./open-options.js";

/** Time running jobs get to end when the venue closes, in milliseconds. */
const CLOSE_GRACE_MS = 5000;

/** Opens everything a configuration names, or nothing. @throws ConfigError for what cannot be opened */
export const openVenue = (config: VenueConfig, options: OpenVenueOptions): Promise<OpenVenue> =>
  allOrNothing((opened) => open(config, options, opened));

async function open(config: VenueConfig, options: OpenVenueOptions, opened: Opened): Promise<OpenVenue> {
  const { env, listens, filesOnly = false } = options;
  const { keep } = opened;
  const engine = listens ? config.shared : undefined;
  const shared = engine && keep(await (await import("../shared/open.js")).openShared(config, engine, options));
  const log = shared?.log ?? options.log;
  let host: VenueHost | undefined;
  const logInternal = internalLog(log);
  const events = new EventLog();
  if (listens) keep((await import("./state/claim.js")).claimState(config, env));
  if (listens && hasMcp(config)) later(loadMcp);
  const access = listens
    ? (await import("../identity/open-access.js")).openAccess(config, {
        ...options,
        ...{ log, shared },
        url: () => host?.url ?? "",
      })
    : await ownAccess(config, { ...options, isFiles: filesOnly });
  const { key, rejudge } = access;
  await shared?.start();

  const audit = await openAudit(config, { env, log, key });
  if (audit !== undefined) keep(audit);
  const assets = keep(await openAssets(config, { did: access.did, env, log }));
  const counts = listens && config.metrics !== false;
  const metrics = counts ? new (await import("../telemetry/metrics.js")).VenueMetrics() : undefined;
  const sinks = [
    audit && (shared?.audited(audit) ?? audit),
    metrics,
    listens ? auditEvents(events, access) : undefined,
  ].filter((one) => one !== undefined);
  const sink = sinks.length === 0 ? undefined : teeSink(...sinks);

  const drives = keep(createVenueDrives(config, { env, log, key, listens }));
  // Mistakes in what is configured show at the start; other drives open on first use.
  if (listens && namesDrives(config)) await drives.open();
  const url = () => (host?.listens === true ? host.url : undefined);
  const tickets =
    listens && key !== undefined
      ? (await import("../identity/tickets.js")).createTickets({
          ...{ key, clock: systemClock, url, rejudge, fresh: shared?.fresh },
          shared: shared && (await import("../shared/tickets.js")).createSharedTickets(shared),
        })
      : undefined;
  let files: HostedFileAdapter | undefined;
  const rootOf = (name: string) => files?.roots.find((root) => root.name === name);
  const told =
    shared && keep(new (await import("../shared/pieces/events.js")).SharedEvents({ shared, log: events, rootOf }));
  const approvals = await openApprovals(config, { access, events, listens, shared, files: () => files });
  const adapter = keep(
    await openFileAdapter(config, {
      ...{ env, log, logInternal, access, drives, tickets, approvals, eventLog: events, audit: sink },
      changeSinks: told && [told.changes],
      repeats: shared && (await import("../shared/repeats.js")).createSharedRepeats(shared),
      davUrl: listens && servesDav(config) ? ({ entrance }) => entrance ?? url() : undefined,
      tagOf: listens && key !== undefined ? stampTagsOf(key) : undefined,
      discloseHostPaths: listens ? isLoopbackListener(config) : true,
    }),
  );
  files = adapter;
  await adapter.lookForLacks();

  let locks: DavLocks | undefined;
  const { nameCaller } = access;
  const readers = createVenueEvents(events, {
    ...{ servesAnonymous: isLoopbackListener(config), files: adapter, rejudge },
  });
  const ofMcp = {
    ...{ files: adapter, assets, nameCaller, approvals, logInternal },
    ...{ events: readers, rejudge, fresh: shared?.fresh },
  };
  const stillHolds = (caller: Caller) => rejudge(contextOf(caller)) !== undefined;
  const onLost: ClusterOptions["onLost"] = (job, record) => host?.jobs.lose(job, record);
  const cluster =
    told &&
    keep((await import("../shared/cluster.js")).createCluster({ shared, log, config, told, stillHolds, onLost }));
  host = keep(
    createVenueHost({
      ...{ name: config.name, did: access.did, log, logInternal, adapters: [adapter], assets },
      ...{ authenticate: access.authenticate, nameCaller, didDocument: access.didDocument, fresh: shared?.fresh },
      authorizationServers: () => access.issuers?.urls ?? [],
      ...{ stillHolds, cluster },
      files: { ...adapter.transfers, redeem: async (ticket, use) => tickets?.redeem(ticket, use) },
      events: readers,
      onListen: shared && ((port) => shared.listening(port)),
      onJob: jobEvents(events),
      login: createLogin(access),
      overview: () => overviewOf(adapter, access),
      jobs: { ...config.jobs, listsAnonymous: isLoopbackListener(config), graceMs: CLOSE_GRACE_MS },
      http: await httpOptions(config, options, shared && (() => shared.live.length + 1)),
      dav: davOptions(config, {
        ...{ env, log, onLocks: (made) => (locks = made), roots: () => adapter.roots },
        makeLocks: shared && (await import("../shared/pieces/locks.js")).locksOf(shared),
      }),
      metrics:
        metrics && config.metrics !== false ? { readers: config.metrics, text: () => metrics.text() } : undefined,
      mcp: hasMcp(config) ? (own) => openMcp({ ...ofMcp, config, host: own }, log) : undefined,
    }),
  );
  const { catalogue, jobs } = host;
  const auditLost = audit && (() => audit.lost);
  const seen = { jobs, assets, roots: () => adapter.roots, operations: () => catalogue.all() };
  metrics?.observe({ ...seen, auditLost, extend: cluster?.metrics });

  const venue = venueOf({
    ...{ config, options, opened, events, access, audit, sink, adapter, host, logInternal, ofMcp, shared },
  });
  // With `filesOnly` the code of operations on tokens and callers is not even loaded.
  if (!filesOnly) {
    const { createVenueAdapters, rulesOf } = await import("../operations/venue-adapters.js");
    catalogue.add(adapter.archives());
    for (const one of await adapter.driveAdapters(config.drives)) catalogue.add(keep(one));
    const own = {
      access,
      files: adapter,
      events: told?.sink ?? events,
      approvals,
      locks: () => locks,
      clock: systemClock,
      url,
      effect: shared?.effect,
    };
    const parts = { ...own, audit: await openAuditLog(audit), ...rulesOf(() => venue.config) };
    for (const one of createVenueAdapters(parts, { clock: systemClock, audit: sink, logInternal })) catalogue.add(one);
  }
  const { profiles } = config;
  for (const one of await openProfiles({ files, profiles, options, log, logInternal })) catalogue.add(keep(one));
  return venue;
}

interface Parts extends Pick<OpenVenue, "config" | "access" | "adapter" | "host"> {
  readonly events: EventLog;
  readonly options: OpenVenueOptions;
  readonly opened: Opened;
  readonly audit: AuditFile | undefined;
  /** Takes the records of all calls. */
  readonly sink: AuditSink | undefined;
  readonly logInternal: (error: unknown, requestId: string) => void;
  /** Absent: it is one process. */
  readonly shared: PostgresShared | undefined;
  /** Parts of its MCP server. */
  readonly ofMcp: Omit<McpParts, "config" | "host">;
}

function venueOf(parts: Parts): OpenVenue {
  const { options, opened, events, access, audit, sink, adapter, host, logInternal, ofMcp } = parts;
  let { config } = parts;
  let closing: Promise<void> | undefined;
  const ownContextOf = () => ownContext(options.caller, access);
  return {
    get config() {
      return config;
    },
    ...{ host, adapter, access, log: options.log, ownContext: ownContextOf },
    register: (plug) => {
      const hosted = plugIn(plug, { clock: systemClock, audit: sink, logInternal });
      host.catalogue.add(hosted);
      // Closed after the venue, which may be running its operations until then.
      opened.keepBelow(host, hosted);
    },
    mcpHost: (caps, profile) => {
      if (!hasMcp(config)) throw new Error("MCP is switched off");
      const who = { ...ownContextOf(), ...(caps === undefined ? {} : { caps }) };
      return createMcpHost({ ...ofMcp, config, host }, who, profile);
    },
    prepareReload(next) {
      const merged = applyReload(config, next);
      const setTokens = access.prepareReload(merged);
      const change = prepareRoots(adapter, merged, access);
      return {
        async commit() {
          setTokens();
          config = merged;
          parts.shared?.reloaded(merged);
          await change.commit();
          events.publish("offer", OFFER_CHANGED);
          return unappliedKeys(merged, next);
        },
        discard: () => change.discard(),
      };
    },
    lookForAudit: () => audit?.look(),
    close() {
      // Their clients may be gone, and would be waited for.
      events.end();
      closing ??= opened.close();
      return closing;
    },
  };
}

/** @throws ConfigError */
function prepareRoots(adapter: HostedFileAdapter, config: VenueConfig, access: Access): PreparedChange {
  try {
    return adapter.prepare(config.file, () => capabilityRulesOf(config, access));
  } catch (error) {
    throw asConfigError(error);
  }
}

const loadMcp = () => import("../../surfaces/mcp/http.js");

async function openMcp(parts: McpParts, log: Log): Promise<McpEndpoint> {
  const { createMcpEndpoint } = await loadMcp();
  return createMcpEndpoint((caller) => createMcpHost(parts, caller), mcpReports(log, parts.logInternal));
}

/** Readers compare for themselves. */
const OFFER_CHANGED: VenueEvent = { data: {}, audience: [] };

const namesDrives = ({ drives, file }: VenueConfig): boolean =>
  drives.store !== undefined || Object.values(file.roots).some(({ kind }) => kind === "dlfs");

const hasMcp = (config: VenueConfig): config is VenueConfig & { readonly mcp: McpConfig } => config.mcp !== false;
