// Derives the HTTP options of a venue from its configuration.

import { bareHost, isLoopbackListener } from "../../config/loopback.js";
import type { RateLimitConfig, VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import type { RateLimit } from "../../surfaces/http/host.js";
import { servesPublic } from "../identity/public-caps.js";
import type { VenueHttpOptions } from "../venue.js";

const DEFAULT_RATE = { perSecond: 100, burst: 200 };

/** The HTTP options of a venue, from its configuration. @throws ConfigError */
export async function httpOptions(
  config: VenueConfig,
  { listens, log }: { readonly listens: boolean; readonly log: Log },
): Promise<VenueHttpOptions> {
  const { listen, hostname, port, baseUrl, hosts, corsOrigins, trustProxy, maxRequestBytes, maxContentSize } = config;
  const { maxInFlightBytes } = config;
  const rate = config.rateLimit ?? (isLoopbackListener(config) ? false : DEFAULT_RATE);
  // Read only where it can be served: `mcp` and `call` never load it.
  const workspace = listens ? (await import("./workspace.js")).openWorkspace(config, log) : undefined;
  return {
    listen: listen ?? { hostname: bareHost(hostname), port },
    publicAccess: servesPublic(config),
    maxRequestBytes,
    maxContentSize,
    hosts,
    corsOrigins,
    trustProxy,
    ...(maxInFlightBytes === undefined ? {} : { maxInFlightBytes }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(rate === false ? {} : { rateLimit: await openRateLimit(rate) }),
  };
}

async function openRateLimit(rate: RateLimitConfig): Promise<RateLimit> {
  const { createRateLimit, senderOfAddress } = await import("./rate-limit.js");
  const limit = createRateLimit(rate);
  return ({ did, address }) => limit(did ?? senderOfAddress(address));
}
