// One event stream for all visible tabs of a session, since a browser opens six connections to a host: one of them has it and
// tells the others. Where the browser has no Web Locks, each tab has its own.

import { base } from "./base.js";
import { ApiError } from "./errors.js";
import { readStream, type VenueEvent } from "./event-stream.js";
import { delay } from "./http.js";

interface Receiver {
  /** Whether events of all wanted topics arrive. */
  readonly onLive: (isLive: boolean) => void;
  readonly onEvent: (event: VenueEvent) => void;
}

/** The part of a tab in the stream of its session. */
export interface SharedStream {
  want(topics: readonly string[]): void;
  leave(): void;
}

/** Messages between the tabs of a session. */
type Message =
  /** A tab wants these topics; none when it leaves. */
  | { readonly from: string; readonly want: readonly string[] }
  /** Another tab has the stream from now on, and asks what is wanted. */
  | { readonly asks: true }
  /** The stream is open, and `id` is where it stands; without topics it is broken. */
  | { readonly topics: readonly string[]; readonly id: string }
  | { readonly events: readonly VenueEvent[]; readonly id: string };

/** The stream that a tab has for all. */
interface Running {
  readonly topics: readonly string[];
  readonly ending: AbortController;
  isOpen: boolean;
}

/** The venue takes no more in one stream. */
const MAX_TOPICS = 32;
/** Tabs that are asked answer within this, so that the stream is opened once. */
const SETTLE_MS = 50;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/** Where this tab stands in the stream of a session; kept while it is hidden, so that nothing is missed meanwhile. */
let stands: { readonly token: string | undefined; id: string } = { token: undefined, id: "" };

export function joinStream(token: string | undefined, receiver: Receiver): SharedStream {
  if (stands.token !== token) stands = { token, id: "" };
  const tab = new Tab(receiver, stands);
  void tab.join(token);
  return tab;
}

/** The name of a session tells nothing of its token. */
async function nameOf(token: string | undefined): Promise<string> {
  if (token === undefined) return `venue-files:${base} events of everybody`;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return `venue-files:${base} events of ${[...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

class Tab implements SharedStream {
  readonly #receiver: Receiver;
  readonly #stands: { id: string };
  readonly #own = `${Date.now()} ${Math.random()}`;
  readonly #left = new AbortController();
  #channel: BroadcastChannel | undefined;
  /** Topics by tab, its own among them. */
  readonly #wants = new Map<string, readonly string[]>();
  #leads = false;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #isLive = false;
  #stream: Running | undefined;

  constructor(receiver: Receiver, stands: { id: string }) {
    this.#receiver = receiver;
    this.#stands = stands;
  }

  async join(token: string | undefined): Promise<void> {
    // Both are missing on plain HTTP off loopback.
    if (navigator.locks === undefined || crypto.subtle === undefined) return this.#lead();
    const name = await nameOf(token);
    const { signal } = this.#left;
    if (signal.aborted) return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
    this.#say({ from: this.#own, want: this.#topics });
    // Held until this tab leaves; the next one in the queue then has the stream.
    const held = () =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve());
        this.#lead();
      });
    await navigator.locks.request(name, { signal }, held).catch(() => {});
  }

  want(topics: readonly string[]): void {
    this.#wants.set(this.#own, topics);
    if (this.#leads) this.#settle();
    else this.#say({ from: this.#own, want: topics });
  }

  leave(): void {
    this.#say({ from: this.#own, want: [] });
    clearTimeout(this.#settling);
    this.#stream?.ending.abort();
    this.#left.abort();
    this.#channel?.close();
    this.#channel = undefined;
  }

  get #topics(): readonly string[] {
    return this.#wants.get(this.#own) ?? [];
  }

  #say(message: Message): void {
    this.#channel?.postMessage(message);
  }

  #lead(): void {
    this.#leads = true;
    this.#say({ asks: true });
    this.#settle();
  }

  #hear(message: Message): void {
    if ("want" in message) {
      if (!this.#leads) return;
      if (message.want.length === 0) this.#wants.delete(message.from);
      else this.#wants.set(message.from, message.want);
      this.#settle();
    } else if ("asks" in message) this.#say({ from: this.#own, want: this.#topics });
    else if ("events" in message) this.#take(message.events, message.id);
    else this.#stand(message.topics, message.id);
  }

  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#renew(), SETTLE_MS);
  }

  /** Opens the stream anew if others are wanted than it has. */
  #renew(): void {
    const topics = [...new Set([this.#topics, ...this.#wants.values()].flat())].slice(0, MAX_TOPICS);
    const running = this.#stream;
    const isSame = running?.topics.length === topics.length && topics.every((one) => running.topics.includes(one));
    if (isSame) {
      // For a tab that has come.
      if (running.isOpen) this.#tell(topics);
      return;
    }
    running?.ending.abort();
    this.#stream = { topics, ending: new AbortController(), isOpen: false };
    if (topics.length > 0) void this.#run(this.#stream);
  }

  async #run(stream: Running): Promise<void> {
    const { topics, ending } = stream;
    const { signal } = ending;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      const began = Date.now();
      const goesOn = await readStream({
        ...{ topics, signal, lastId: this.#stands.id },
        onOpen: (id) => {
          stream.isOpen = true;
          this.#stand(topics, id);
          this.#tell(topics);
        },
        onEvents: (events, id) => {
          this.#take(events, id);
          if (this.#wants.size > 1) this.#say({ events, id });
        },
      }).catch((error: unknown) => !(error instanceof ApiError && error.status === 401));
      if (signal.aborted) return;
      stream.isOpen = false;
      this.#stand([], "");
      this.#say({ topics: [], id: "" });
      // A 401 means that the session has ended; the stream ends with it.
      if (!goesOn) this.#stream = undefined;
      if (!goesOn) return;
      if (Date.now() - began > LONGEST_WAIT_MS) waitMs = FIRST_WAIT_MS;
      await delay(waitMs, signal).catch(() => {});
    }
  }

  #tell(topics: readonly string[]): void {
    this.#say({ topics, id: this.#stands.id });
  }

  #stand(topics: readonly string[], id: string): void {
    this.#isLive = topics.length > 0 && this.#topics.every((topic) => topics.includes(topic));
    this.#receiver.onLive(this.#isLive);
    if (id === "" || id === this.#stands.id || !(this.#isLive || this.#leads)) return;
    // Events between the first request of a place and the start of the stream are lost, so the place loads again.
    this.#stands.id = id;
    this.#receiver.onEvent({ name: "overflow", data: {} });
  }

  #take(events: readonly VenueEvent[], id: string): void {
    // A tab that does not get all that it follows asks again once it does.
    if (id !== "" && (this.#isLive || this.#leads)) this.#stands.id = id;
    for (const event of events) this.#receiver.onEvent(event);
  }
}
