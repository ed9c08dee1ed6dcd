// Requests over HTTP, with as little of a client as possible.
import { Agent, request } from "node:http";
import autocannon from "autocannon";

export const JSON_TYPE = { "content-type": "application/json" };
export const CONNECTIONS = 16;

export const keepAlive = () => new Agent({ keepAlive: true });

/**
 * Sends a request and reads its answer.
 *
 * @param options.body a text or a buffer, or a function that writes it to the request
 * @param options.allowed the right statuses; absent: any below 400
 * @returns `{ status, bytes, text }`; `text` only where it is `kept`
 */
export function send(url, { method = "POST", body, headers = {}, allowed, kept = false, ...more } = {}) {
  const length = body === undefined || typeof body === "function" ? {} : { "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...length, ...headers }, ...more }, (response) => {
      const status = response.statusCode;
      const chunks = [];
      let bytes = 0;
      response.on("data", (chunk) => {
        bytes += chunk.length;
        if (kept) chunks.push(chunk);
      });
      response.once("error", reject).once("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isRight = allowed === undefined ? status < 400 : allowed.includes(status);
        if (isRight) resolve({ status, bytes, text });
        else reject(new Error(`${method} ${url}: ${status} ${text.slice(0, 300)}`));
      });
    });
    sent.once("error", reject);
    if (typeof body === "function") body(sent);
    else sent.end(body);
  });
}

/** Sends JSON as the operator and reads JSON. */
export async function sendJson({ url, token }, method, path, value) {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
  const { text } = await send(`${url}${path}`, { method, headers, body: JSON.stringify(value), kept: true });
  return JSON.parse(text);
}

/** What one invocation of an operation of files sends. */
export const invocation = (operation, input) => JSON.stringify({ operation: `v/ops/file/${operation}`, input });

/**
 * Loads a server with one request, over 16 connections.
 *
 * @param options `duration` in seconds, or `amount` of requests, and others of autocannon
 * @returns `{ perSecond, times }`: requests a second until the last answer, and milliseconds of each
 */
export async function fire(url, options) {
  const times = [];
  const started = performance.now();
  let last = started;
  const load = { method: "POST", headers: JSON_TYPE, connections: CONNECTIONS, timeout: 60, ...options, url };
  const { non2xx, errors, requests } = await new Promise((resolve, reject) => {
    const run = autocannon(load, (error, done) => (error ? reject(error) : resolve(done)));
    // Its own percentiles are of whole milliseconds, and it ends at full seconds.
    run.on("response", (_client, _status, _bytes, ms) => {
      times.push(ms);
      last = performance.now();
    });
  });
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} wrong answers, ${errors} errors`);
  return { perSecond: (requests.total * 1000) / (last - started), times };
}
