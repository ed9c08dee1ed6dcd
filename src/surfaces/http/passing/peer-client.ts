// Requests to other instances of the venue, over connections that are kept.

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { fieldsOf } from "../../../core/unknown.js";
import { FORWARD_HEADER, type Forward, type ForwardSeal } from "./forward-seal.js";

/** More than there can be streams of jobs, each of which takes a connection. */
const MAX_SOCKETS = 640;
const MAX_IDLE_SOCKETS = 8;
/** Shorter than a venue keeps idle connections, so that ours are seldom cut; longer than a stream is silent. */
const IDLE_MS = 30_000;
const CONNECTIONS = { keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: MAX_IDLE_SOCKETS, timeout: IDLE_MS };

/** Another instance that is alive. */
export interface Peer {
  readonly number: number;
  /** URL at which it is reached. */
  readonly advertise: string;
}

export interface PeerRequest extends Omit<Forward, "target"> {
  /** Trace context of the client's request. */
  readonly traceparent: string | undefined;
  /** How long the head of the answer may take, in milliseconds. */
  readonly headMs: number;
  readonly signal?: AbortSignal | undefined;
}

export class PeerClient {
  readonly #seal: ForwardSeal;
  readonly #agents = { "http:": new HttpAgent(CONNECTIONS), "https:": new HttpsAgent(CONNECTIONS) };

  constructor(seal: ForwardSeal) {
    this.#seal = seal;
  }

  /**
   * The answer of another instance, whose body is still to be read. All that is passed on can be done twice, so a kept connection that
   * turns out to be closed costs one more try.
   *
   * @throws the system's error, or an error for a head that does not come in time
   */
  async ask(peer: Peer, request: PeerRequest): Promise<IncomingMessage> {
    try {
      return await this.#send(peer, request);
    } catch (error) {
      if (fieldsOf(error)["isStale"] !== true) throw error;
      return this.#send(peer, request);
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #send(peer: Peer, { traceparent, headMs, signal, ...forward }: PeerRequest): Promise<IncomingMessage> {
    const { method, path, body } = forward;
    const base = new URL(peer.advertise);
    const isTls = base.protocol === "https:";
    const options: RequestOptions = {
      method,
      agent: this.#agents[isTls ? "https:" : "http:"],
      path: `${base.pathname.replace(/\/+$/, "")}${path}`,
      headers: {
        [FORWARD_HEADER]: this.#seal.seal({ ...forward, target: peer.number }),
        ...(traceparent === undefined ? {} : { traceparent }),
        ...(body.length === 0 ? {} : { "content-type": "application/json", "content-length": body.length }),
      },
      signal,
    };
    return new Promise((resolve, reject) => {
      const sent = (isTls ? httpsRequest : httpRequest)(base, options);
      const timer = setTimeout(() => sent.destroy(new Error("The head of the answer did not come in time")), headMs);
      sent.once("response", (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      sent.once("timeout", () => sent.destroy(new Error("The connection is silent")));
      sent.once("error", (error) => {
        clearTimeout(timer);
        const isStale = sent.reusedSocket && fieldsOf(error)["code"] === "ECONNRESET";
        reject(isStale ? Object.assign(error, { isStale }) : error);
      });
      sent.end(body.length === 0 ? undefined : body);
    });
  }
}
