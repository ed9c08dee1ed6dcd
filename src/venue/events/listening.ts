// Tells one client over MCP of changes, as a reader of the log of events: which URIs have changed, and that lists have.

import { parseVenueUri, type VenuePlace } from "../../core/call/venue-uri.js";
import { Overloaded } from "../../core/errors/errors.js";
import type { FileChange } from "../../core/ports/changes/events.js";
import { deferred } from "../../core/turns.js";
import type { Hearer, Listening, ToldList } from "../../surfaces/mcp/host.js";
import { INTERNAL_ERROR, INVALID_PARAMS, Refusal, RequestFault } from "../../surfaces/mcp/wire.js";
import type { FollowingReader } from "./venue-events.js";

/** Most URIs of one stream. */
const MOST_URIS = 256;
/** A change waits so long for others, and the next ones until so long after it was told. Milliseconds. */
const GATHER_MS = 100;
const PAUSE_MS = 200;
/** How often the credential is looked at. */
const JUDGE_MS = 500;

/** Sources a caller can be told of. */
export interface Changes {
  /** Reads of reloads, and of the places that it follows. @throws Overloaded */
  open(): FollowingReader;
  /** A list as the caller sees it, as text to compare. */
  readonly shown: Readonly<Record<ToldList, () => string>>;
}

/** A place that is followed, and the position from which on. */
interface Followed {
  readonly place: VenuePlace;
  readonly from: number;
}

export class LogListening implements Listening {
  readonly #changes: Changes;
  readonly #hearer: Hearer;
  readonly #reader: FollowingReader;
  readonly #followed = new Map<string, Followed>();
  /** The lists that are told of, as the client can know them. */
  readonly #lists = new Map<ToldList, string>();
  readonly #stop: () => void;
  readonly #judging: NodeJS.Timeout;
  readonly #end = deferred();
  #timer: NodeJS.Timeout | undefined;
  #position: number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isEnded = false;

  /** @throws Refusal where the caller may have no other stream */
  constructor(changes: Changes, hearer: Hearer) {
    this.#changes = changes;
    this.#hearer = hearer;
    this.#reader = openOrRefuse(changes);
    this.#position = this.#reader.end;
    this.#stop = this.#reader.listen(() => this.#schedule(GATHER_MS));
    this.#judging = setInterval(() => this.#isOver && this.end(), JUDGE_MS).unref();
  }

  /** Resolves when nothing more is told. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Tells of changes of a list from now on. */
  watch(list: ToldList): void {
    this.#lists.set(list, this.#changes.shown[list]());
  }

  /** Tells of changes of URIs from the answer on. @throws RequestFault: they are too many */
  async follow(uris: readonly string[]): Promise<void> {
    const places = uris.flatMap((uri) => {
      const place = this.#followed.has(uri) ? undefined : parseVenueUri(uri);
      return place === undefined ? [] : [[uri, place] as const];
    });
    if (this.#followed.size + places.length > MOST_URIS)
      throw new RequestFault(INVALID_PARAMS, `At most ${MOST_URIS} URIs`);
    for (const [uri, place] of places) this.#followed.set(uri, { place, from: Number.POSITIVE_INFINITY });
    await Promise.all(places.map(([uri, place]) => this.#open(uri, place)));
    for (const [uri, place] of places)
      if (this.#followed.has(uri)) this.#followed.set(uri, { place, from: this.#reader.end });
  }

  unfollow(uri: string): void {
    this.#followed.delete(uri);
    this.#reader.unfollow(uri);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#judging);
    clearTimeout(this.#timer);
    this.#stop();
    this.#reader.close();
    this.#end.resolve();
  }

  #open(uri: string, { root, segments }: VenuePlace): Promise<void> {
    return this.#reader.follow({ name: uri, root, path: segments.join("/") });
  }

  get #isOver(): boolean {
    return this.#reader.isOver || this.#hearer.isRefused();
  }

  #schedule(ms: number): void {
    const pauseMs = this.#toldAt + PAUSE_MS - performance.now();
    this.#timer ??= setTimeout(() => this.#deliver(), Math.max(ms, pauseMs));
  }

  #deliver(): void {
    this.#timer = undefined;
    if (this.#isOver) this.end();
    else if (this.#hearer.isBehind()) this.#schedule(PAUSE_MS);
    else this.#read();
  }

  #read(): void {
    const due = new Set<string>();
    let isReloaded = false;
    const after = this.#position;
    this.#position = this.#reader.end;
    for (const [uri, { from }] of this.#followed) if (this.#reader.hasLostOf(uri, Math.max(after, from))) due.add(uri);
    for (const { topic, position, data } of this.#reader.read(after)) {
      const followed = this.#followed.get(topic);
      if (followed === undefined) isReloaded = true;
      else if (position > followed.from && this.#concerns(topic, followed, data as FileChange)) due.add(topic);
    }
    if (isReloaded) this.#lookAnew();
    for (const uri of due) this.#tell("notifications/resources/updated", { uri });
  }

  /** Whether a change at a place or right in it is one of what its URI stands for. */
  #concerns(uri: string, { place }: Followed, { type, path, from = path }: FileChange): boolean {
    if (place.isDirectory) return type !== "modified";
    return [path, from].some((one) => one.split("/").length === this.#reader.depthOf(uri));
  }

  /** After a reload: roots may be others, and may be seen now. */
  #lookAnew(): void {
    for (const [uri, followed] of this.#followed) {
      this.#reader.unfollow(uri);
      void this.#open(uri, followed.place);
    }
    for (const [list, before] of this.#lists) {
      const now = this.#changes.shown[list]();
      this.#lists.set(list, now);
      if (now !== before) this.#tell(`notifications/${list}/list_changed`, {});
    }
  }

  #tell(method: string, params: object): void {
    this.#toldAt = performance.now();
    this.#hearer.tell(method, params);
  }
}

function openOrRefuse(changes: Changes): FollowingReader {
  try {
    return changes.open();
  } catch (error) {
    if (!(error instanceof Overloaded)) throw error;
    const headers = { "retry-after": String(error.retryAfterMs / 1000) };
    throw new Refusal(error.isClosing ? 503 : 429, error.message, { code: INTERNAL_ERROR, headers });
  }
}
