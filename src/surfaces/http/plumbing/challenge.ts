// Challenge for a client that has to sign in elsewhere or needs more scopes: RFC 6750, RFC 9728, and MCP's authorization.

import { SCOPES, scopesFor, scopesOf } from "../../../authz/scopes.js";
import type { Caller } from "../../../core/call/caller.js";
import type { JsonObject } from "../../../core/ports/adapter.js";
import { fieldsOf } from "../../../core/unknown.js";
import type { HttpHost } from "../host.js";
import type { HttpError } from "./http-error.js";

export const METADATA_PATH = "/.well-known/oauth-protected-resource";
export const MCP_METADATA_PATH = `${METADATA_PATH}/mcp` as const;

type Host = Pick<HttpHost, "authorizationServers" | "operation" | "url">;

/** The metadata of the venue as a protected resource. @returns `undefined`: nobody signs in elsewhere */
export function resourceMetadata({ authorizationServers, url }: Host): JsonObject | undefined {
  const servers = authorizationServers();
  if (servers.length === 0) return undefined;
  return { resource: `${url()}/mcp`, authorization_servers: [...servers], scopes_supported: [...SCOPES] };
}

/** `WWW-Authenticate` of a response that is an error. @returns `undefined`: as the error says */
export function challengeOf(host: Host, caller: Caller | undefined, error: HttpError): string | undefined {
  const { status, headers, more } = error;
  if (status !== 401) return scopeChallenge(host, caller, more["errorData"]);
  const code = headers["www-authenticate"]?.includes("invalid_token") === true ? "invalid_token" : undefined;
  return challenge(host, code, []);
}

/** The challenge for a call that lacks nothing but scopes. @param data of its failure */
export function scopeChallenge(host: Host, caller: Caller | undefined, data: unknown): string | undefined {
  return lacksScope(data) ? challengeFor(host, caller, neededScopes(host, data)) : undefined;
}

/** The challenge for a caller whose token lacks scopes. */
export const challengeFor = (host: Host, caller: Caller | undefined, needed: readonly string[]): string | undefined =>
  // Clients ask for these and no others, so those that it has are among them.
  challenge(host, "insufficient_scope", [...scopesOf(caller?.access?.scopes ?? []), ...needed]);

/** The challenge for a caller without credentials who was denied a call. @param data of its failure */
export const signInChallenge = (host: Host, data: unknown): string | undefined =>
  challenge(host, undefined, neededScopes(host, data));

/** Whether a call failed for want of scopes alone: nothing has happened. @param data of its failure */
export function lacksScope(data: unknown): boolean {
  const { reasons } = fieldsOf(data);
  return Array.isArray(reasons) && reasons.includes("missing_scope");
}

/** All that a denied call needs. */
function neededScopes(host: Host, data: unknown): readonly string[] {
  const { operation, required } = fieldsOf(data);
  const abilities = typeof operation === "string" ? (host.operation(operation)?.abilities ?? []) : [];
  return scopesFor([...abilities, fieldsOf(required)["can"]]);
}

function challenge(host: Host, error: string | undefined, scopes: readonly string[]): string | undefined {
  if (host.authorizationServers().length === 0) return undefined;
  const asked = error === "insufficient_scope" ? scopes : ["files:read", ...scopes];
  const fields = {
    ...(error === undefined ? {} : { error }),
    scope: [...new Set(asked)].join(" "),
    resource_metadata: `${host.url()}${MCP_METADATA_PATH}`,
  };
  return `Bearer ${Object.entries(fields)
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ")}`;
}
