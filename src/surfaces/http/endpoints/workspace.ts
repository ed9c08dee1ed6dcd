// The workspace page: the document, the sandboxed preview and their assets. Nothing here needs a credential.

import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { HttpHost, WorkspacePage } from "../host.js";
import type { Endpoint } from "../openapi/endpoint.js";
import { publicPath } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { echo, endpointNotFound } from "../plumbing/http-error.js";

export const WORKSPACE_PATH = "/workspace";

/** Bytes of randomness of a nonce. */
const NONCE_BYTES = 16;
const PREVIEW = "preview";
const ASSETS = "assets/";

/** On every answer below `/workspace/`. */
const COMMON = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Features that the page, and whatever it frames, never gets. The clipboard may be written: "copy" buttons. */
const OFF = ["camera", "microphone", "geolocation", "display-capture", "clipboard-read", "payment", "usb", "serial"];
const MORE_OFF = ["hid", "midi", "publickey-credentials-get", "screen-wake-lock", "xr-spatial-tracking"];
const PERMISSIONS = [...[...OFF, ...MORE_OFF].map((name) => `${name}=()`), "clipboard-write=(self)"].join(", ");

const pagePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' blob:",
    "media-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

/** `sandbox` without `allow-same-origin`: an opaque origin, even when it is opened by itself. */
const previewPolicy = (nonce: string): string =>
  [
    "sandbox allow-scripts",
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'unsafe-inline'",
    "img-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types dompurify",
  ].join("; ");

/** None of them is in the document: they are for browsers. */
export function workspaceEndpoints({ workspace }: HttpHost): readonly Endpoint[] {
  if (workspace === undefined) return [];
  const handle: Endpoint["handle"] = (host, exchange) => getWorkspace(host, workspace, exchange);
  return [
    { route: "GET /", handle: redirectToWorkspace, only: ["GET", "HEAD"] },
    { route: `GET ${WORKSPACE_PATH}`, handle },
    { route: `GET ${WORKSPACE_PATH}/{file}`, handle, bare: true },
  ];
}

/** `GET /workspace` and below: the page at every path but those of the preview and the assets. */
function getWorkspace(host: HttpHost, page: WorkspacePage, exchange: Exchange): FastifyReply {
  const { target, request, reply } = exchange;
  if (target.startsWith(ASSETS)) return sendAsset(page, exchange, target.slice(ASSETS.length));
  if (target === PREVIEW) return sendDocument(reply, page.preview, previewPolicy);
  const base = publicPath(host, request.raw, `${WORKSPACE_PATH}/`);
  reply.headers({
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": PERMISSIONS,
  });
  return sendDocument(reply, (nonce) => page.document(nonce, base), pagePolicy);
}

/** `GET /` of a browser: leads to the page. Anything else finds nothing there. @throws HttpError 404 */
function redirectToWorkspace(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  const { accept = "" } = request.headers;
  if (!/\btext\/html\b/i.test(accept)) throw endpointNotFound(request.method, echo("/"));
  const location = publicPath(host, request.raw, `${WORKSPACE_PATH}/`);
  return reply
    .code(303)
    .headers({ ...COMMON, "cache-control": "no-store", location })
    .send();
}

function sendDocument(
  reply: FastifyReply,
  document: (nonce: string) => string,
  policy: (nonce: string) => string,
): FastifyReply {
  const nonce = randomBytes(NONCE_BYTES).toString("base64url");
  return reply
    .code(200)
    .headers({ ...COMMON, "cache-control": "no-store", "content-type": "text/html; charset=utf-8" })
    .header("content-security-policy", policy(nonce))
    .send(document(nonce));
}

/** Names hold a hash of the content, so browsers may keep them for good. @throws HttpError 404 */
function sendAsset(page: WorkspacePage, { request, reply, target }: Exchange, name: string): FastifyReply {
  const asset = page.asset(name);
  if (asset === undefined) throw endpointNotFound(request.method, echo(`${WORKSPACE_PATH}/${target}`));
  const takesBrotli = /(?:^|,)\s*br\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i.test(
    String(request.headers["accept-encoding"] ?? ""),
  );
  return reply
    .code(200)
    .headers({ ...COMMON, "cache-control": "public, max-age=31536000, immutable", "content-type": asset.type })
    .headers(takesBrotli ? { "content-encoding": "br", vary: "Accept-Encoding" } : { vary: "Accept-Encoding" })
    .send(takesBrotli ? asset.brotli : asset.plain());
}
