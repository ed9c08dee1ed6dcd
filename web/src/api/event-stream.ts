// One stream of server-sent events over fetch: EventSource could not send the token.

import { request } from "./http.js";

export interface VenueEvent {
  /** The topic, such as `files:docs` or `audit`, or `overflow` or `end`, which are for all. */
  readonly name: string;
  readonly data: unknown;
}

interface StreamOptions {
  readonly topics: readonly string[];
  /** Id behind which the stream goes on; empty: from now. */
  readonly lastId: string;
  readonly signal: AbortSignal;
  /** @param id where the stream begins */
  readonly onOpen: (id: string) => void;
  /** @param id of the last of them */
  readonly onEvents: (events: readonly VenueEvent[], id: string) => void;
}

/** Reads a stream until it breaks. @returns whether to connect again @throws ApiError, or the abort */
export async function readStream({ topics, lastId, signal, onOpen, onEvents }: StreamOptions): Promise<boolean> {
  const query = topics.map((topic) => `topic=${topic.split("/").map(encodeURIComponent).join("%2F")}`).join("&");
  const headers = { accept: "text/event-stream", ...(lastId === "" ? {} : { "last-event-id": lastId }) };
  const response = await request(`/api/v1/events?${query}`, { headers, signal });
  if (response.body === null) return true;
  let [rest, id] = ["", ""];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    if (signal.aborted) return false;
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    const events: VenueEvent[] = [];
    for (const block of blocks.map(parse)) {
      const isFirst = id === "" && block.id !== "";
      id = block.id || id;
      if (block.event !== undefined) events.push(block.event);
      else if (isFirst) onOpen(id);
    }
    if (events.length > 0) onEvents(events, id);
    if (events.at(-1)?.name === "end") return false;
  }
  return true;
}

function parse(block: string): { readonly id: string; readonly event: VenueEvent | undefined } {
  const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line));
  const field = (name: string) => fields.filter((one) => one?.[1] === name).map((one) => one?.[2] ?? "");
  const [name] = field("event");
  const event = name === undefined ? undefined : { name, data: JSON.parse(field("data").join("\n") || "null") };
  return { id: field("id")[0] ?? "", event };
}
