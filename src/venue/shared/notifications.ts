// Notifications among instances: one channel for each schema, heard by a connection of its own.

import { randomBytes } from "node:crypto";
import { ConfigError } from "../../config/errors.js";
import type { SharedQuery } from "../../core/ports/shared.js";
import { Connection, type Engine, giveUpAfter, REQUEST_MS } from "./connection.js";

const RETRY_MS = 500;
const MAX_PAYLOAD_BYTES = 7900;
/** Number of the sender, kind, payload. */
const TEXT = /^(\d{1,5}) (\S{1,40}) (.*)$/s;
const POOLER =
  "'shared.postgres.url' leads through a pooler that swallows LISTEN. Set it to the engine itself, or pool by session";

export type Heard = (payload: string, from: number) => void;

export class Notifications {
  readonly connection: Connection;
  readonly #channel: string;
  readonly #heard = new Map<string, Set<Heard>>();
  readonly #onListen: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param onListen told each time it begins to hear: what came before it has missed */
  constructor(engine: Engine, onListen: () => void) {
    this.#channel = `venue_files ${engine.schema}`;
    this.#onListen = onListen;
    this.connection = new Connection(engine, {
      onNotify: (channel, text) => this.#notified(channel, text),
      onDrop: () => this.#listenSoon(),
    });
  }

  async send(text: string, query: SharedQuery): Promise<void> {
    if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) throw new RangeError("Cannot notify: the payload is too long");
    await query("SELECT pg_notify($1, $2)", [this.#channel, text]);
  }

  hear(kind: string, heard: Heard): () => void {
    const all = this.#heard.get(kind) ?? new Set();
    this.#heard.set(kind, all.add(heard));
    return () => void all.delete(heard);
  }

  async listen(): Promise<void> {
    await this.connection.run((query) => query(`LISTEN "${this.#channel}"`));
    this.#onListen();
  }

  /** A pooler by transaction takes LISTEN and tells nothing. @throws ConfigError */
  async hearOneself(send: (word: string) => Promise<void>): Promise<void> {
    const word = randomBytes(8).toString("hex");
    let keep = () => {};
    let stop = () => {};
    try {
      const heard = new Promise<void>((resolve, reject) => {
        keep = giveUpAfter(REQUEST_MS, () => reject(new ConfigError([POOLER], 78)));
        stop = this.hear("hello", (payload) => {
          if (payload === word) resolve();
        });
      });
      await Promise.all([send(word), heard]);
    } finally {
      keep();
      stop();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.connection.close();
  }

  #listenSoon(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    const again = () => this.listen().catch(() => this.#listenSoon());
    this.#timer = setTimeout(() => void again(), RETRY_MS * (0.75 + Math.random() / 2));
  }

  #notified(channel: string, text: string): void {
    if (channel !== this.#channel) return;
    const [, from, kind = "", payload = ""] = TEXT.exec(text) ?? [];
    for (const heard of this.#heard.get(kind) ?? []) heard(payload, Number(from));
  }
}
