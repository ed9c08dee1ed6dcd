// Notifications to a client: `subscriptions/listen`, and `resources/subscribe` of revisions with a handshake.

import type { Abortable } from "../../core/call/scope.js";
import { parseVenueUri } from "../../core/call/venue-uri.js";
import type { Listening, McpHost } from "./host.js";
import { missing } from "./resources.js";
import { SUBSCRIPTION_ID } from "./revisions.js";
import { METHOD_NOT_FOUND, type Notification, type Params, type Request, RequestFault } from "./wire.js";

/** How a client can be told of something. */
export interface Noting {
  readonly signal: Abortable;
  /** Sends what belongs to the request before its answer. */
  note(message: Notification): void;
  /** Notes would have to be kept here, since the client takes none. Absent: that is not known. */
  readonly isBehind?: (() => boolean) | undefined;
  /** Whether the credential of the request would be refused now. Absent: it has none. */
  readonly isRefused?: (() => boolean) | undefined;
  /** URIs of whose changes the client is told, in revisions with a handshake. Absent: the transport cannot. */
  readonly subscriptions?: Pick<Listening, "follow" | "unfollow"> | undefined;
}

/** Goes on until the client or its credential is gone; at once where there is nothing to tell of. */
export async function listen(
  { id, params }: Request,
  exchange: Noting,
  { host }: { readonly host: McpHost },
): Promise<object> {
  const _meta = { [SUBSCRIPTION_ID]: id };
  const { note, signal, isBehind = () => false, isRefused = () => false } = exchange;
  const tell = (method: string, more: object): void => note({ jsonrpc: "2.0", method, params: { ...more, _meta } });
  const acknowledge = (notifications: object): void =>
    tell("notifications/subscriptions/acknowledged", { notifications });
  const wanted = wantedOf(params?.["notifications"] as Params, host);
  if (host.listen === undefined || Object.keys(wanted).length === 0) {
    acknowledge({});
    return { _meta };
  }
  const listening = host.listen({ tell, isBehind, isRefused });
  signal.addEventListener("abort", () => listening.end(), { once: true });
  try {
    if (wanted.toolsListChanged) listening.watch("tools");
    if (wanted.resourcesListChanged) listening.watch("resources");
    await listening.follow(wanted.resourceSubscriptions ?? []);
    if (signal.aborted) return { _meta };
    if (!listening.isEnded) acknowledge(wanted);
    await listening.ended;
    return { _meta };
  } finally {
    listening.end();
  }
}

interface Wanted {
  readonly toolsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
}

/** The part of a client's wishes that is granted. Whether a URI leads anywhere is not told. */
function wantedOf(asked: Params, { hasResources }: McpHost): Wanted {
  const all = (asked["resourceSubscriptions"] ?? []) as readonly string[];
  const uris = hasResources === true ? [...new Set(all)].filter((uri) => parseVenueUri(uri) !== undefined) : [];
  return {
    ...(asked["toolsListChanged"] === true && { toolsListChanged: true }),
    ...(asked["resourcesListChanged"] === true && hasResources === true && { resourcesListChanged: true }),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
}

export async function subscribe({ params }: Request, { subscriptions }: Noting): Promise<object> {
  if (subscriptions === undefined) throw new RequestFault(METHOD_NOT_FOUND, "Method not found");
  const uri = params?.["uri"] as string;
  if (parseVenueUri(uri) === undefined) throw missing(uri, "legacy");
  await subscriptions.follow([uri]);
  return {};
}

export function unsubscribe({ params }: Request, { subscriptions }: Noting): object {
  if (subscriptions === undefined) throw new RequestFault(METHOD_NOT_FOUND, "Method not found");
  subscriptions.unfollow(params?.["uri"] as string);
  return {};
}
