// Opens a venue from its configuration: everything it names, or nothing.

import { assembleAdapter, type HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuditFile } from "../../audit/audit-file.js";
import { type AuditSink, teeSink } from "../../audit/record.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { McpConfig, VenueConfig } from "../../config/types.js";
import { contextOf } from "../../core/call/attribute.js";
import { systemClock } from "../../core/clock.js";
import { EventLog } from "../../feed/event-log.js";
import type { DavLocks } from "../../surfaces/http/host.js";
import type { Approvals } from "../approvals/approvals.js";
import { openApprovals } from "../approvals/open.js";
import type { VenueAssets } from "../assets/assets.js";
import { createMcpHost, type McpParts, mcpReports } from "../catalogue/mcp-host.js";
import { plugIn } from "../catalogue/plug-in.js";
import { openProfiles } from "../catalogue/profiles.js";
import { createEventBus } from "../events/event-bus.js";
import { auditEvents, eventsOf } from "../events/publish.js";
import { type Access, capabilityRulesOf, closedAccess } from "../identity/access.js";
import { ownContext } from "../identity/own-caller.js";
import type { VenueTickets } from "../identity/tickets.js";
import { createLogin, stampTagsOf } from "../identity/tickets.js";
import type { VenueMetrics } from "../telemetry/metrics.js";
import { createVenueHost, type VenueHost } from "../venue.js";
import { type Closable, closeBackwards } from "./close-backwards.js";
import { asConfigError, withConfigErrors } from "./config-fault.js";
import { davOptions } from "./dav.js";
import { createVenueDrives, type VenueDrives } from "./drives.js";
import { httpOptions } from "./http-options.js";
import type { OpenVenue, OpenVenueOptions } from "./open-options.js";
import { openAssets, openAudit, openAuditLog, openTickets, overviewOf } from "./open-parts.js";
import { applyReload, unappliedKeys } from "./reload.js";
import { rootsStateOf } from "./state/roots.js";

export type { OpenVenue, OpenVenueOptions, PreparedReload } from "./open-options.js";

/** Time running jobs get to end when the venue closes, in milliseconds. */
const CLOSE_GRACE_MS = 5000;

/** Opens everything a configuration names, or nothing. @throws ConfigError for what cannot be opened */
export async function openVenue(config: VenueConfig, options: OpenVenueOptions): Promise<OpenVenue> {
  const opened: Closable[] = [];
  try {
    return await new VenueOpener(config, options, opened).open();
  } catch (error) {
    await closeBackwards(opened);
    throw asConfigError(error);
  }
}

class VenueOpener {
  readonly #config: VenueConfig;
  readonly #options: OpenVenueOptions;
  readonly #opened: Closable[];
  readonly #eventLog = new EventLog();
  readonly #events = createEventBus(this.#eventLog);
  #locks: DavLocks | undefined;

  constructor(config: VenueConfig, options: OpenVenueOptions, opened: Closable[]) {
    this.#config = config;
    this.#options = options;
    this.#opened = opened;
  }

  async open(): Promise<OpenVenue> {
    const config = this.#config;
    if (this.#options.listens) this.#keep((await import("./state/claim.js")).claimState(config, this.#options.env));
    const access = await this.#openAccess();
    const audit = await openAudit(config, { ...this.#options, key: access.key });
    if (audit !== undefined) this.#opened.push(audit);
    const assets = this.#keep(await openAssets(config, { did: access.did, log: this.#options.log }));
    const metrics = await this.#openMetrics();
    const eventSink = this.#options.listens ? auditEvents(this.#events, access) : undefined;
    const sinks = [audit, metrics, eventSink].filter((sink) => sink !== undefined);
    const sink = sinks.length === 0 ? undefined : teeSink(...sinks);
    const drives = await this.#openDrives(access);
    let host: VenueHost | undefined;
    const tickets = await openTickets(access, this.#options, () => (host?.listens === true ? host.url : undefined));
    let files: HostedFileAdapter | undefined;
    const { listens } = this.#options;
    const approvals = await openApprovals(config, { access, events: this.#events, listens, files: () => files });
    const adapter = this.#keep(await this.#openAdapter({ access, drives, sink, tickets, approvals }));
    files = adapter;
    host = this.#keep(await this.#openHost({ access, assets, adapter, metrics, tickets, approvals }));
    metrics?.observe({
      jobs: host.jobs,
      assets,
      roots: () => adapter.roots,
      operations: () => host.catalogue.all(),
      ...(audit === undefined ? {} : { auditLost: () => audit.lost }),
    });
    const venue = this.#venue({ access, assets, adapter, host, sink, audit, approvals });
    await this.#hostOwnOperations(venue, { sink, audit }, approvals);
    await this.#hostProfiles(venue);
    return venue;
  }

  #keep<T extends Closable>(part: T): T {
    this.#opened.push(part);
    return part;
  }

  readonly #logInternal = (err: unknown, requestId: string): void =>
    this.#options.log.error({ err, requestId }, "internal error");

  /** Loads the code for keys and tokens only where it is needed. */
  async #openAccess(): Promise<Access> {
    const { listens, caller, filesOnly } = this.#options;
    if (listens) return (await import("../identity/open-access.js")).openAccess(this.#config, this.#options);
    if (filesOnly === true && caller === undefined) return closedAccess;
    return (await import("../identity/own-access.js")).openOwnAccess(this.#config, this.#options);
  }

  async #openMetrics(): Promise<VenueMetrics | undefined> {
    if (!this.#options.listens || this.#config.metrics === false) return undefined;
    const { createMetrics } = await import("../telemetry/metrics.js");
    return createMetrics();
  }

  /** Opens configured drives at start, so that mistakes are reported; otherwise they open on first use. */
  async #openDrives(access: Access): Promise<VenueDrives> {
    const { env, log, listens } = this.#options;
    const drives = this.#keep(createVenueDrives(this.#config, { env, log, key: access.key, listens }));
    const isAsked =
      this.#config.drives.store !== undefined ||
      Object.values(this.#config.file.roots).some(({ kind }) => kind === "dlfs");
    if (listens && isAsked) await drives.open();
    return drives;
  }

  #openAdapter({ access, drives, sink, tickets, approvals }: AdapterSources): Promise<HostedFileAdapter> {
    const config = this.#config;
    return assembleAdapter(config.file, {
      drives,
      ...(tickets === undefined ? {} : { tickets }),
      tagOf: this.#options.listens && access.key !== undefined ? stampTagsOf(access.key) : undefined,
      ...(approvals === undefined ? {} : { approvals }),
      discloseHostPaths: this.#options.listens ? isLoopbackListener(config) : true,
      capabilities: capabilityRulesOf(config, access),
      maxContentSize: config.maxContentSize,
      ...{ rejudge: access.rejudge, eventLog: this.#eventLog },
      onInternalError: this.#logInternal,
      ...rootsStateOf(config, this.#options),
      // The venue closes the sink itself, last: other adapters write to it too.
      ...(sink === undefined ? {} : { audit: { write: (record) => sink.write(record), close: async () => {} } }),
    });
  }

  async #openHost(
    parts: Omit<McpSources, "config" | "host"> &
      Pick<AdapterSources, "tickets"> & { metrics: VenueMetrics | undefined },
  ): Promise<VenueHost> {
    const { access, assets, adapter, metrics, tickets } = parts;
    const config = this.#config;
    const { env, log } = this.#options;
    const onLocks = (locks: DavLocks) => {
      this.#locks = locks;
    };
    const dav = davOptions(config, { env, log, onLocks, roots: () => adapter.roots });
    return createVenueHost({
      name: config.name,
      did: access.did,
      adapters: [adapter],
      assets,
      files: { ...adapter.transfers, redeem: (ticket, use) => tickets?.redeem(ticket, use) },
      ...eventsOf({ log: this.#eventLog, bus: this.#events, config, adapter, access }),
      login: createLogin(access),
      overview: () => overviewOf(adapter, access),
      authenticate: access.authenticate,
      stillHolds: (caller) => access.rejudge(contextOf(caller)) !== undefined,
      nameCaller: access.nameCaller,
      didDocument: access.didDocument,
      jobs: { ...config.jobs, listsAnonymous: isLoopbackListener(config), graceMs: CLOSE_GRACE_MS },
      http: await httpOptions(config, this.#options),
      ...(dav === undefined ? {} : { dav }),
      log: this.#options.log,
      logInternal: this.#logInternal,
      ...(metrics === undefined || config.metrics === false
        ? {}
        : { metrics: { readers: config.metrics, text: () => metrics.text() } }),
      ...(hasMcp(config) ? { mcp: (host) => this.#openMcp(this.#mcpParts({ config, host, ...parts })) } : {}),
    });
  }

  async #openMcp(parts: McpParts) {
    const { createMcpEndpoint } = await import("../../surfaces/mcp/http.js");
    return createMcpEndpoint(
      (caller) => createMcpHost(parts, caller),
      mcpReports(this.#options.log, this.#logInternal),
    );
  }

  #mcpParts({ config, host, adapter: files, assets, access, approvals }: McpSources): McpParts {
    const { nameCaller } = access;
    const { resolve: resolveAsset } = assets;
    return { config, host, files, resolveAsset, nameCaller, approvals, logInternal: this.#logInternal };
  }

  /** Hosts the operations on tokens and callers; with `filesOnly` their code is not even loaded. */
  async #hostOwnOperations(venue: OpenVenue, { sink, audit: file }: AuditEnds, approvals?: Approvals): Promise<void> {
    if (this.#options.filesOnly === true) return;
    const { createVenueAdapters, rulesOf } = await import("../operations/venue-adapters.js");
    const { access, adapter: files } = venue;
    for (const drives of await files.driveAdapters(this.#config.drives)) venue.host.catalogue.add(this.#keep(drives));
    const clock = systemClock;
    const url = () => (venue.host.listens ? venue.host.url : undefined);
    const audit = await openAuditLog(file);
    const locks = () => this.#locks;
    const parts = { access, files, events: this.#events, audit, approvals, locks, clock, url };
    const adapters = createVenueAdapters(
      { ...parts, ...rulesOf(() => venue.config) },
      { clock, audit: sink, logInternal: this.#logInternal },
    );
    for (const adapter of adapters) venue.host.catalogue.add(adapter);
  }

  async #hostProfiles({ adapter: files, host }: OpenVenue): Promise<void> {
    const [options, { profiles }] = [this.#options, this.#config];
    const parts = { files, profiles, options, log: options.log, logInternal: this.#logInternal };
    for (const adapter of await openProfiles(parts)) host.catalogue.add(this.#keep(adapter));
  }

  #venue(parts: Omit<McpSources, "config"> & AuditEnds): OpenVenue {
    const { access, adapter, host, sink, audit } = parts;
    const opened = this.#opened;
    let config = this.#config;
    let closing: Promise<void> | undefined;
    const own = () => ownContext(this.#options.caller, access);
    return {
      get config() {
        return config;
      },
      host,
      adapter,
      access,
      log: this.#options.log,
      events: this.#events,
      register: (plug) => {
        const hosted = plugIn(plug, { clock: systemClock, audit: sink, logInternal: this.#logInternal });
        host.catalogue.add(hosted);
        // Closed after the venue, which may be running its operations until then.
        opened.splice(opened.indexOf(host), 0, hosted);
      },
      mcpHost: (caps, profile) => {
        if (!hasMcp(config)) throw new Error("MCP is switched off");
        const narrowed = caps === undefined ? {} : { caps };
        return createMcpHost(this.#mcpParts({ config, ...parts }), { ...own(), ...narrowed }, profile);
      },
      ownContext: own,
      prepareReload(next) {
        const merged = applyReload(config, next);
        const setTokens = access.prepareReload(merged);
        const change = withConfigErrors(() => adapter.prepare(merged.file, () => capabilityRulesOf(merged, access)));
        return {
          async commit() {
            setTokens();
            config = merged;
            await change.commit();
            return unappliedKeys(merged, next);
          },
          discard: () => change.discard(),
        };
      },
      lookForAudit: () => audit?.look(),
      close() {
        // Their clients may be gone, and would be waited for.
        adapter.endPolls();
        closing ??= closeBackwards(opened);
        return closing;
      },
    };
  }
}

interface AuditEnds {
  readonly sink: AuditSink | undefined;
  readonly audit: AuditFile | undefined;
}

interface AdapterSources {
  readonly access: Access;
  readonly drives: VenueDrives;
  readonly sink: AuditSink | undefined;
  readonly tickets: VenueTickets | undefined;
  readonly approvals: Approvals | undefined;
}

interface McpSources {
  readonly config: McpParts["config"];
  readonly host: VenueHost;
  readonly adapter: HostedFileAdapter;
  readonly assets: VenueAssets;
  readonly access: Access;
  readonly approvals: Approvals | undefined;
}

const hasMcp = (config: VenueConfig): config is VenueConfig & { readonly mcp: McpConfig } => config.mcp !== false;
