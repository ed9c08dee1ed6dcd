// The event stream of the venue, over fetch: EventSource could not send the token. One stream for all topics.

import { signal } from "@preact/signals";
import { offersEvents } from "./features.js";
import { delay, request } from "./http.js";

export interface VenueEvent {
  /** The topic, such as `files:docs` or `audit`, or `overflow` or `end`, which are for all. */
  readonly name: string;
  readonly data: unknown;
}

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
/** Whether events arrive. */
export const isLive = signal(false);
let running: AbortController | undefined;
/** Kept when the topics change, so that nothing is missed between two streams. */
let lastId = "";
/** The venue takes no more in one stream. */
const MAX_TOPICS = 32;
/** Topics change together when one moves from place to place. */
const SETTLE_MS = 50;
let settling: ReturnType<typeof setTimeout> | undefined;

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

function renew(): void {
  clearTimeout(settling);
  settling = setTimeout(() => void start(), SETTLE_MS);
}

async function start(): Promise<void> {
  running?.abort();
  isLive.value = false;
  const topics = [...new Set([...followers].flatMap((one) => one.topics))].slice(0, MAX_TOPICS);
  if (topics.length === 0 || !offersEvents.value) return;
  const own = new AbortController();
  running = own;
  for (let waitMs = 500; !own.signal.aborted; waitMs = Math.min(waitMs * 2, 10_000)) {
    const began = Date.now();
    const goesOn = await stream(topics, own.signal).catch(() => true);
    isLive.value = false;
    if (!goesOn) return;
    if (Date.now() - began > 10_000) waitMs = 500;
    await delay(waitMs, own.signal).catch(() => {});
  }
}

/** @returns whether to connect again */
async function stream(topics: readonly string[], signal: AbortSignal): Promise<boolean> {
  const query = topics.map((topic) => `topic=${topic.split("/").map(encodeURIComponent).join("%2F")}`).join("&");
  const headers = { accept: "text/event-stream", ...(lastId === "" ? {} : { "last-event-id": lastId }) };
  const response = await request(`/api/v1/events?${query}`, { headers, signal });
  if (response.body === null) return true;
  isLive.value = true;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) if (!deliver(block)) return false;
  }
  return true;
}

/** @returns whether the stream goes on */
function deliver(block: string): boolean {
  const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line));
  const field = (name: string) => fields.filter((one) => one?.[1] === name).map((one) => one?.[2] ?? "");
  const isFirst = lastId === "";
  lastId = field("id")[0] ?? lastId;
  const [name] = field("event");
  if (name === undefined) {
    // What happened after a place asked, and before there was a stream, is in no stream.
    if (isFirst && lastId !== "") tell({ name: "overflow", data: {} });
    return true;
  }
  tell({ name, data: JSON.parse(field("data").join("\n") || "null") });
  return name !== "end";
}

function tell(event: VenueEvent): void {
  const isForAll = event.name === "overflow" || event.name === "end";
  for (const { topics, listener } of [...followers]) if (isForAll || topics.includes(event.name)) listener(event);
}
