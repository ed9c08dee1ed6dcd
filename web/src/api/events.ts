// Events of the venue for followers of topics in this tab. Hidden tabs have no stream; visible ones of one session share one.

import { signal } from "@preact/signals";
import type { VenueEvent } from "./event-stream.js";
import { offersEvents } from "./features.js";
import { token } from "./http.js";
import { joinStream, type SharedStream } from "./shared-stream.js";

export interface FileEvent {
  readonly root?: string;
  readonly path?: string;
  readonly from?: string;
  readonly type?: string;
  readonly etag?: string;
}

type Listener = (event: VenueEvent) => void;

interface Follower {
  readonly topics: readonly string[];
  readonly listener: Listener;
}

const followers = new Set<Follower>();
/** Whether events of all that is followed here arrive. */
export const isLive = signal(false);
/** Topics change together when one moves from place to place. */
const SETTLE_MS = 50;
let settling: ReturnType<typeof setTimeout> | undefined;
let joined: { readonly token: string | undefined; readonly stream: SharedStream } | undefined;

/** Follows topics. @returns what ends it */
export function follow(topics: readonly string[], listener: Listener): () => void {
  const follower = { topics, listener };
  followers.add(follower);
  renew();
  return () => {
    followers.delete(follower);
    renew();
  };
}

offersEvents.subscribe(() => renew());
// Events that one token may see must not reach tabs with another.
token.subscribe((now) => {
  if (joined !== undefined && joined.token !== now) leave();
  renew();
});
document.addEventListener("visibilitychange", () => renew());
addEventListener("pageshow", () => renew());
addEventListener("pagehide", () => leave());

function renew(): void {
  clearTimeout(settling);
  settling = setTimeout(settle, SETTLE_MS);
}

function settle(): void {
  const topics = [...new Set([...followers].flatMap((one) => one.topics))];
  if (topics.length === 0 || !offersEvents.value || document.visibilityState !== "visible") {
    leave();
    return;
  }
  if (joined === undefined) {
    const stream = joinStream(token.value, { onLive: (live) => (isLive.value = live), onEvent: tell });
    joined = { token: token.value, stream };
  }
  joined.stream.want(topics);
}

function leave(): void {
  joined?.stream.leave();
  joined = undefined;
  isLive.value = false;
}

function tell(event: VenueEvent): void {
  const isForAll = event.name === "overflow" || event.name === "end";
  for (const { topics, listener } of [...followers]) if (isForAll || topics.includes(event.name)) listener(event);
}
