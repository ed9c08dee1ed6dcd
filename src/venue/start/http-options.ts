// Inputs of the HTTP surface of a venue: options from its configuration, and the overview in its status.

import { bareHost, isLoopbackListener } from "../../config/loopback.js";
import type { RateLimitConfig, VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import type { Root } from "../../core/ports/operation.js";
import type { OperatorStatus, RateLimit } from "../../surfaces/http/host.js";
import { type Access, servesPublic } from "../identity/access.js";
import type { VenueHttpOptions } from "../venue.js";
import type { CountInstances } from "./rate-limit.js";

const DEFAULT_RATE = { perSecond: 100, burst: 200 };

/** The HTTP options of a venue, from its configuration. @throws ConfigError */
export async function httpOptions(
  config: VenueConfig,
  { listens, log }: { readonly listens: boolean; readonly log: Log },
  instances?: CountInstances,
): Promise<VenueHttpOptions> {
  const { listen, hostname, port, baseUrl, hosts, corsOrigins, trustProxy, maxRequestBytes, maxContentSize } = config;
  const { maxInFlightBytes, shared } = config;
  const ofPeers = shared?.advertise === undefined ? [] : [bareHost(new URL(shared.advertise).hostname)];
  const rate = config.rateLimit ?? (isLoopbackListener(config) ? false : DEFAULT_RATE);
  // Read only where it can be served: `mcp` and `call` never load it.
  const workspace = listens ? (await import("./workspace.js")).openWorkspace(config, log) : undefined;
  return {
    listen: listen ?? { hostname: bareHost(hostname), port },
    publicAccess: servesPublic(config),
    hosts: [...hosts, ...ofPeers],
    ...{ maxRequestBytes, maxContentSize, corsOrigins, trustProxy, maxInFlightBytes, baseUrl, workspace },
    rateLimit: rate === false ? undefined : await openRateLimit(rate, instances),
  };
}

async function openRateLimit(rate: RateLimitConfig, instances: CountInstances | undefined): Promise<RateLimit> {
  const { createRateLimit, senderOfAddress } = await import("./rate-limit.js");
  const limit = createRateLimit(rate, undefined, instances);
  return ({ did, address }) => limit(did ?? senderOfAddress(address));
}

/** Roots and tokens, as the status tells the operator. */
export function overviewOf(
  { roots }: { readonly roots: readonly Pick<Root, "name" | "readOnly" | "drive" | "journal">[] },
  { accessTokens }: Pick<Access, "accessTokens">,
): Pick<OperatorStatus, "roots" | "tokens"> {
  const inForce = (accessTokens?.list() ?? []).filter(({ state, isLink }) => state === "live" && !isLink);
  const sessions = inForce.filter(({ entry }) => entry.caps === undefined).length;
  return {
    roots: roots.map(({ name, readOnly, drive, journal }) => {
      const fault = journal?.facts?.()?.fault;
      return { name, readOnly, ...(drive !== undefined && { drive: true }), ...(fault && { journal: fault }) };
    }),
    tokens: { access: inForce.length - sessions, sessions },
  };
}
