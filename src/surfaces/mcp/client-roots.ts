// Asks a client for its roots, between the handshake and the first call. Judges nothing: the folders are checked where
// the venue is opened.

import { fieldsOf, isObject } from "../../core/unknown.js";
import type { LineTransport } from "./line-transport.js";
import type { Message } from "./wire.js";

/** Answer of a client to `roots/list`. */
export interface ClientRoots {
  /** URIs as the client sent them, unchecked; an empty string for what is none. At most {@link MAX_ROOTS}. */
  readonly uris: readonly string[];
  /** Length of the client's list, which may be longer. */
  readonly total: number;
  /** Why there are none, for the operator; absent where there are some. */
  readonly reason?: string;
}

/** Roots of a client that are looked at, in its order. */
const MAX_ROOTS = 32;

/** How the question ends where no answer comes. */
export interface Patience {
  /** Time from the first message to the answer, in milliseconds. */
  readonly answerMs: number;
  /** Resolves when no more input can come. */
  readonly ended: Promise<void>;
}

/** Id of the question; those to users are counted in numbers. */
const ID = "venue-files/roots";

/**
 * Asks for the roots of the client once it has said that it is initialized.
 *
 * @param first message of the connection: whether it has a handshake, and what the client can do
 * @returns never rejects: whatever a client does, it has roots or it has none
 */
export async function askForRoots(
  transport: LineTransport,
  first: Message,
  { answerMs, ended }: Patience,
): Promise<ClientRoots> {
  if (!("method" in first) || first.method !== "initialize")
    return noRoots("its protocol has no roots of a connection");
  if (!isObject(fieldsOf(fieldsOf(first.params)["capabilities"])["roots"])) return noRoots("it does not offer any");
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      answerOf(transport),
      ended.then(() => noRoots("it has gone")),
      new Promise<ClientRoots>((resolve) => {
        timer = setTimeout(() => resolve(noRoots("it did not answer in time")), answerMs);
      }),
    ]);
  } finally {
    clearTimeout(timer);
    transport.intercept = undefined;
  }
}

/** Sends the question after the handshake, as the protocol wants it, and takes the answer off the connection. */
function answerOf(transport: LineTransport): Promise<ClientRoots> {
  return new Promise((resolve) => {
    let isAsked = false;
    transport.intercept = (message) => {
      if ("method" in message) {
        if (message.method !== "notifications/initialized" || isAsked) return false;
        isAsked = true;
        // Behind the answer to the handshake, which may still be on its way.
        setImmediate(() => void transport.send({ jsonrpc: "2.0", id: ID, method: "roots/list" }));
        return false;
      }
      if (!isAsked || message.id !== ID) return false;
      resolve("result" in message ? parseRoots(fieldsOf(message.result)) : noRoots("it answered with an error"));
      return true;
    };
  });
}

function parseRoots({ roots }: Readonly<Record<string, unknown>>): ClientRoots {
  if (!Array.isArray(roots)) return noRoots("its answer is no list");
  if (roots.length === 0) return noRoots("its list is empty");
  const uris = roots.slice(0, MAX_ROOTS).map((root: unknown) => {
    const { uri } = fieldsOf(root);
    return typeof uri === "string" ? uri : "";
  });
  return { uris, total: roots.length };
}

const noRoots = (reason: string): ClientRoots => ({ uris: [], total: 0, reason });
