// Requests that another instance of the venue has to answer: about its jobs, for their list, and cancellations of its calls.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { Page } from "../../../core/call/page.js";
import { attempt } from "../../../core/io.js";
import type { CallerJobs } from "../../../core/ports/job.js";
import { fieldsOf } from "../../../core/unknown.js";
import { readBody } from "../admission/read-body.js";
import { EVENT_HEADERS } from "../plumbing/answer.js";
import { endWithCredential, hangUpOf } from "../plumbing/connection.js";
import type { Exchange } from "../plumbing/exchange.js";
import { invalidForward, peerUnreachable } from "../plumbing/http-error.js";
import {
  createForwardSeal,
  FORWARD_HEADER,
  type ForwardSeal,
  type ForwardSealOptions,
  type PassedOn,
} from "./forward-seal.js";
import { type Peer, PeerClient, type PeerRequest } from "./peer-client.js";
import type { HttpPeers, JobIds, JobPage, Readiness } from "./port.js";

/** How long another instance may take to answer, in milliseconds. */
const HEAD_MS = 2000;
const LIST_MS = 500;
/** Limits of lists and of bodies that are passed on. */
const MAX_LIST_BYTES = 4_194_304;
const MAX_BODY_BYTES = 8192;
const MAX_TOLD_BYTES = 65_536;
/** Up to this size an answer is read before it goes on: two streams would cost more than all the rest. */
const MAX_RECORD_BYTES = 65_536;
const BAD_GATEWAY = 502;
const NO_BODY = Buffer.alloc(0);
/** Length of a job id, and where the number of its instance is in it. */
const ID_CHARS = 32;
const NUMBER_AT = 12;
const NUMBER_END = 16;
/** Headers of an answer that go on to the client; others are of the connection, or of the page that asks. */
const PASSED_HEADERS = [
  ...["content-type", "content-length", "retry-after", "allow", "cache-control"],
  ...["x-content-type-options", "referrer-policy", "x-accel-buffering"],
];

export interface PeersOptions extends ForwardSealOptions, Pick<HttpPeers, "readiness" | "isDegraded"> {
  /** Whether a caller would still be let in as it was. */
  stillHolds(caller: Caller): boolean;
  /** The other instances that are alive, as last seen. */
  live(): readonly Peer[];
  /** Sees again who is alive: one that has just started is not known before. @throws SHARED_STATE_UNAVAILABLE */
  look(): Promise<void>;
  /** Longest time that a cancellation waits for the job to end, in milliseconds. */
  readonly cancelMs: number;
  /** The job of an instance that is gone. @returns `undefined`: nobody kept it; `alive`: its instance is there after all */
  lostJob(id: string): Promise<CallerJobs | "alive" | undefined>;
  /** Ids of the caller's kept jobs of instances that are gone, newest first. */
  lostJobs(caller: Caller, most: number): Promise<JobIds>;
  /** Counts what was passed on, by how it went. */
  readonly count: (outcome: ForwardOutcome) => void;
}

export type ForwardOutcome = "passed" | "failed" | "refused";

/** A request about a job, and how it would be answered here. */
interface Passed {
  readonly id: string;
  readonly body: Buffer;
  readonly serve: Parameters<HttpPeers["job"]>[2];
}

export class PeerRequests implements HttpPeers {
  readonly #options: PeersOptions;
  readonly #seal: ForwardSeal;
  readonly #client: PeerClient;
  readonly #passedOn = new WeakMap<IncomingMessage, PassedOn>();

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#seal = createForwardSeal(options);
    this.#client = new PeerClient(this.#seal);
  }

  isDegraded(): boolean {
    return this.#options.isDegraded();
  }

  readiness(): Readiness {
    return this.#options.readiness();
  }

  admit(request: IncomingMessage): Caller | "refused" | undefined {
    const { method = "", url = "", headers } = request;
    const header = headers[FORWARD_HEADER];
    if (header === undefined) return undefined;
    const passedOn = this.#seal.open(String(header), { method, path: url });
    if (passedOn === undefined) {
      this.#options.count("refused");
      return "refused";
    }
    this.#passedOn.set(request, passedOn);
    return passedOn.caller;
  }

  passedOn(request: IncomingMessage): PassedOn | undefined {
    return this.#passedOn.get(request);
  }

  async job(exchange: Exchange, id: string, serve: Parameters<HttpPeers["job"]>[2]): Promise<FastifyReply> {
    const body = await bodyOf(exchange);
    const passedOn = this.#passedOn.get(exchange.request.raw);
    if (passedOn !== undefined) {
      if (!passedOn.isBody(body)) throw invalidForward();
      // The credential stayed with the other instance, which ends what it has asked for.
      return serve({ body, stillHolds: () => true });
    }
    const own = this.#options.number();
    const owner = id.length === ID_CHARS ? Number.parseInt(id.slice(NUMBER_AT, NUMBER_END), 16) : own;
    if (owner === own) return serve({ body });
    const find = () => this.#options.live().find(({ number }) => number === owner);
    const peer = find() ?? (await this.#options.look().then(find));
    if (peer !== undefined) return this.#pass(peer, exchange, { id, body, serve });
    const jobs = await this.#options.lostJob(id);
    if (jobs === "alive") throw peerUnreachable();
    // Without a row nobody has it, which the own jobs say.
    return serve(jobs === undefined ? { body } : { body, jobs });
  }

  async jobs({ request, caller }: Exchange, page: Page, own: (page: Page) => JobIds): Promise<JobPage> {
    const passedOn = this.#passedOn.get(request.raw);
    // Another instance merges, so it needs all from the first one on.
    if (passedOn !== undefined) {
      const first = { offset: 0, limit: Number(fieldsOf(request.query)["first"]) };
      return { ...first, ...own(first) };
    }
    const most = page.offset + page.limit;
    const first = { offset: 0, limit: most };
    const asked = { method: "GET", path: `/api/v1/jobs?first=${most}`, body: NO_BODY, ...sentBy({ request, caller }) };
    const peers = this.#options.live();
    const answers = peers.map((peer) => this.#list(peer, asked));
    const [lost, ...lists] = await Promise.all([this.#options.lostJobs(caller, most), ...answers]);
    const known = [own(first), lost, ...lists.filter((list) => list !== undefined)];
    const items = known.flatMap(({ items: ids }) => ids).sort((one, other) => (one < other ? 1 : -1));
    const incomplete = peers.flatMap(({ number }, index) => (lists[index] === undefined ? [number] : []));
    return {
      ...page,
      items: items.slice(page.offset, most),
      total: known.reduce((sum, { total }) => sum + total, 0),
      ...(incomplete.length === 0 ? {} : { incomplete }),
    };
  }

  tellAll({ request, caller }: Exchange, messages: readonly object[]): void {
    const body = Buffer.from(JSON.stringify(messages));
    if (this.#passedOn.has(request.raw) || body.length > MAX_TOLD_BYTES) return;
    const asked = { method: "POST", path: "/mcp", body, headMs: HEAD_MS, ...sentBy({ request, caller }) };
    for (const peer of this.#options.live()) {
      this.#client
        .ask(peer, asked)
        .then((response) => response.resume())
        .then(
          () => this.#options.count("passed"),
          () => this.#options.count("failed"),
        );
    }
  }

  checkBody({ request }: Pick<Exchange, "request">): void {
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
    if (this.#passedOn.get(request.raw)?.isBody(body) === false) throw invalidForward();
  }

  close(): void {
    this.#client.close();
  }

  async #pass(peer: Peer, { request, reply, caller }: Exchange, { id, body, serve }: Passed): Promise<FastifyReply> {
    const { method, url: path = "" } = request.raw;
    const headMs = method === "PUT" ? HEAD_MS + this.#options.cancelMs : HEAD_MS;
    const forward = { method: method ?? "GET", path, body, headMs, ...sentBy({ request, caller }) };
    let response: IncomingMessage;
    let whole: Buffer | undefined;
    try {
      response = await this.#client.ask(peer, { ...forward, signal: hangUpOf(reply) });
      const isRecord = method !== "HEAD" && Number(response.headers["content-length"]) <= MAX_RECORD_BYTES;
      if (isRecord) whole = await bytesOf(response, MAX_RECORD_BYTES);
    } catch {
      this.#options.count("failed");
      // The peer may just have stopped, in order; and an end that was written stands wherever it is read.
      const jobs = method === "GET" || method === "HEAD" ? await this.#options.lostJob(id) : undefined;
      if (typeof jobs !== "object") throw peerUnreachable();
      return serve({ body, jobs });
    }
    this.#options.count("passed");
    for (const name of PASSED_HEADERS) {
      const value = response.headers[name];
      if (value !== undefined) reply.header(name, value);
    }
    if (response.headers["content-type"] === EVENT_HEADERS["content-type"]) {
      // Not kept alive: a reusable connection would delay the closing of the venue.
      reply.header("connection", "close");
      endWithCredential(reply.raw, () => this.#options.stillHolds(caller));
    }
    return reply.code(response.statusCode ?? BAD_GATEWAY).send(whole ?? response);
  }

  /** @returns `undefined`: it did not come in time */
  async #list(peer: Peer, asked: Omit<PeerRequest, "headMs" | "signal">): Promise<JobIds | undefined> {
    try {
      const signal = AbortSignal.timeout(LIST_MS);
      const response = await this.#client.ask(peer, { ...asked, headMs: LIST_MS, signal });
      const bytes = await bytesOf(response, MAX_LIST_BYTES);
      const { items, total } = fieldsOf(attempt(() => JSON.parse(bytes.toString())));
      this.#options.count(Array.isArray(items) ? "passed" : "failed");
      return Array.isArray(items) ? { items, total: Number(total) } : undefined;
    } catch {
      this.#options.count("failed");
      return undefined;
    }
  }
}

/** A trace context (W3C), as clients and proxies send it. */
const TRACEPARENT = /^[\da-f]{2}(?:-[\da-f]+){3}$/;

/** Who asked, by which request. */
function sentBy({ request, caller }: Pick<Exchange, "request" | "caller">) {
  const { traceparent } = request.headers;
  const isContext = typeof traceparent === "string" && traceparent.length < 100 && TRACEPARENT.test(traceparent);
  return { caller, requestId: request.id, traceparent: isContext ? traceparent : undefined };
}

async function bodyOf({ request, memory }: Exchange): Promise<Buffer> {
  if (request.method !== "PUT" && request.method !== "POST") return NO_BODY;
  // A body that is too large has never kept a job from being cancelled.
  return readBody(request, { limit: MAX_BODY_BYTES, lease: memory }).catch(() => NO_BODY);
}

/** A body as a whole. */
function bytesOf(response: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > most) response.destroy(new Error("The body is too long"));
      chunks.push(chunk);
    });
    response.once("end", () => resolve(Buffer.concat(chunks)));
    response.once("error", reject);
  });
}
