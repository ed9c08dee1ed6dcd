// One venue, asked over both transports and in both eras, by messages as they stand on the wire.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { parseConfig } from "../../../../src/config/load.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import type { VenueConfigInput } from "../../../../src/index.js";
import { serveMcpStdio } from "../../../../src/surfaces/mcp/stdio.js";
import { signingKeyFromSeed } from "../../../../src/ucan/mint/signing-key.js";
import { type OpenVenue, openVenue } from "../../../../src/venue/start/open-venue.js";
import { MODERN_META } from "../modern.js";

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look where they like
  readonly result?: any;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

/** Asks in one era over one transport. */
export interface Way {
  readonly era: "modern" | "legacy";
  ask(method: string, params?: object): Promise<Message>;
  close(): Promise<void>;
}

export interface McpGround {
  readonly home: string;
  readonly venue: OpenVenue;
  readonly url: string;
  /** The configuration without its files. */
  readonly given: object;
  /** @param bearer of HTTP; default: the operator's, who is asked for on stdio too */
  way(name: WayName, bearer?: string): Way;
  close(): Promise<void>;
}

export const WAYS = ["modern over HTTP", "legacy over HTTP", "modern over stdio", "legacy over stdio"] as const;
export type WayName = (typeof WAYS)[number];

/** Of the venue, whose own key is the caller over stdio: the same as the operator over HTTP. */
const SEED = Buffer.alloc(32, 7);

export async function openMcpGround(
  more: Omit<VenueConfigInput, "file"> & { readonly roots: (home: string) => object },
): Promise<McpGround> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  const { roots, ...others } = more;
  const given = { port: 0, seed: SEED.toString("hex"), stateDir: join(home, "state"), ...others };
  const all = { ...given, file: { roots: roots(home) } } as VenueConfigInput;
  const config = parseConfig(all, { baseDir: home, isGrant: () => true });
  const caller = { key: signingKeyFromSeed(SEED), proofs: [] };
  const venue = await openVenue(config, { listens: true, env: {}, log: silentLog, caller });
  const { url } = await venue.host.listen();
  const open: Way[] = [];
  return {
    ...{ home, venue, url, given },
    way(name, bearer = venue.access.localToken ?? "") {
      const era = name.startsWith("modern") ? "modern" : "legacy";
      const way = name.endsWith("HTTP") ? overHttp(url, era, bearer) : overStdio(venue, era);
      open.push(way);
      return way;
    },
    async close() {
      await Promise.all(open.map((way) => way.close()));
      await venue.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The headers and the body of a request of an era. */
export function httpRequestOf(
  era: Way["era"],
  { id, method, params }: { id: unknown; method: string; params: object },
) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const message = { jsonrpc: "2.0", id, method };
  if (era === "legacy") return { headers, body: JSON.stringify({ ...message, params }) };
  const { uri, name = uri } = params as { uri?: string; name?: string };
  const encoded =
    name !== undefined && /[^ -~]/.test(name) ? `=?base64?${Buffer.from(name).toString("base64")}?=` : name;
  return {
    headers: {
      ...{ ...headers, "mcp-protocol-version": "2026-07-28", "mcp-method": method },
      ...(encoded === undefined ? {} : { "mcp-name": encoded }),
    },
    body: JSON.stringify({ ...message, params: { ...params, _meta: MODERN_META } }),
  };
}

function overHttp(url: string, era: Way["era"], bearer: string): Way {
  return {
    era,
    async ask(method, params = {}) {
      const { headers, body } = httpRequestOf(era, { id: 1, method, params });
      const authorization = bearer === "" ? {} : { authorization: `Bearer ${bearer}` };
      const response = await fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, ...authorization }, body });
      return (await response.json()) as Message;
    },
    close: async () => {},
  };
}

/** A connection over stdio; `messages`: all that came, in order. */
export interface StdioWay extends Way {
  readonly messages: readonly Message[];
  send(message: object): void;
  /** Waits for a message. */
  until(isMeant: (message: Message) => boolean): Promise<Message>;
}

export function overStdio(venue: Pick<OpenVenue, "mcpHost">, era: Way["era"], caps?: unknown): StdioWay {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  createInterface(output).on("line", (line) => {
    messages.push(JSON.parse(line) as Message);
    for (const look of waiting) look();
  });
  const served = serveMcpStdio(venue.mcpHost(caps), {
    ...{ input, output, onError: () => {}, maxMessageBytes: 1e6, maxHeldBytes: 1e8 },
  });
  const send = (message: object) => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const until = (isMeant: (message: Message) => boolean) =>
    new Promise<Message>((resolve) => {
      const look = (): void => {
        const found = messages.find(isMeant);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  let last = 0;
  if (era === "legacy") {
    const clientInfo = { name: "test", version: "1" };
    send({
      id: "hello",
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    });
    send({ method: "notifications/initialized" });
  }
  return {
    ...{ era, messages, send, until },
    ask(method, params = {}) {
      last += 1;
      const id = last;
      send({ id, method, params: era === "modern" ? { ...params, _meta: MODERN_META } : params });
      return until((message) => message.id === id && message.method === undefined);
    },
    async close() {
      input.end();
      await served;
    },
  };
}
