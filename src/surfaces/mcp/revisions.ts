// Revisions of the protocol, and what a request tells of its own. Up to 2025-11-25 a connection begins with a handshake ("legacy");
// since 2026-07-28 each request has an envelope in its `_meta` ("modern").

import {
  BOOLEAN,
  faultIn,
  INVALID_PARAMS,
  metaOf,
  OBJECT,
  objectOf,
  optional,
  RequestFault,
  type Shape,
  TEXT,
} from "./wire.js";

export type Era = "legacy" | "modern";

/** The first is offered to who asks for another. */
export const LEGACY_REVISIONS: readonly unknown[] = [
  ...["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
];
const MODERN = "2026-07-28";
export const MODERN_REVISIONS: readonly unknown[] = [MODERN];

const UNSUPPORTED_REVISION = -32022;

const NAMES = "io.modelcontextprotocol/";
const REVISION = `${NAMES}protocolVersion`;
const CAPABILITIES = `${NAMES}clientCapabilities`;
export const SERVER_INFO = `${NAMES}serverInfo`;
export const SUBSCRIPTION_ID = `${NAMES}subscriptionId`;

const RECORD: Shape = { type: "object", each: OBJECT };
const FORMS = objectOf(["applyDefaults", optional(BOOLEAN)]);
const CLIENT_CAPABILITIES = objectOf(
  ["experimental", optional(RECORD)],
  ["sampling", optional(objectOf(["context", optional(OBJECT)], ["tools", optional(OBJECT)]))],
  ["elicitation", optional(objectOf(["form", optional(FORMS)], ["url", optional(OBJECT)]))],
  ["roots", optional(objectOf(["listChanged", optional(BOOLEAN)]))],
  ["extensions", optional(RECORD)],
);
const ICON = objectOf(["src", TEXT], ["mimeType", optional(TEXT)]);
const CLIENT_INFO = objectOf(
  ["name", TEXT],
  ["title", optional(TEXT)],
  ["icons", { type: "array", each: ICON, isOptional: true }],
  ["version", TEXT],
  ["websiteUrl", optional(TEXT)],
  ["description", optional(TEXT)],
);
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const ENVELOPE = objectOf(
  [REVISION, TEXT],
  [CAPABILITIES, CLIENT_CAPABILITIES],
  [`${NAMES}clientInfo`, optional(CLIENT_INFO)],
  [`${NAMES}logLevel`, { type: "string", values: LEVELS, isOptional: true }],
);

/** Parameters of `initialize`. Capabilities are looked at where they are used. */
export const HANDSHAKE = objectOf(
  ["_meta", optional(OBJECT)],
  ["protocolVersion", TEXT],
  ["capabilities", OBJECT],
  ["clientInfo", objectOf(["name", TEXT], ["version", TEXT])],
);

/** Whether a request claims to have an envelope: one that is wrong is never taken for a request of before. */
export const hasEnvelope = (params: unknown): boolean => REVISION in (metaOf(params) ?? {});

/** The revision that an envelope names; absent: there is none, or it names none. */
export function revisionOf(params: unknown): string | undefined {
  const revision = metaOf(params)?.[REVISION];
  return typeof revision === "string" ? revision : undefined;
}

export const isModern = (revision: string | undefined): boolean => revision !== undefined && revision >= MODERN;

/** Capabilities of a client of 2026-07-28. */
export const capabilitiesIn = (params: unknown): unknown => metaOf(params)?.[CAPABILITIES];

/** The fields of an envelope that are not there. */
export function missingIn(params: unknown): readonly string[] {
  const meta = metaOf(params);
  return meta === undefined ? ["_meta"] : [REVISION, CAPABILITIES].filter((key) => !(key in meta));
}

/** @throws RequestFault: the envelope is wrong */
export function checkEnvelope(params: unknown): void {
  const fault = faultIn(metaOf(params) ?? {}, ENVELOPE);
  if (fault === undefined) return;
  const { at: key } = fault;
  const problem = missingIn(params).some((one) => one === key || one === "_meta") ? "missing" : fault.problem;
  const text = `Invalid _meta envelope for protocol revision ${MODERN}: ${key}: ${problem}`;
  throw new RequestFault(INVALID_PARAMS, text, { envelope: { key, problem } });
}

/** @throws RequestFault: the revision is not served */
export function checkRevision(revision: unknown): void {
  if (!MODERN_REVISIONS.includes(revision)) throw unsupportedRevision(revision);
}

/** @param requested what a request names; anything but a text: it names none */
export function unsupportedRevision(requested: unknown): RequestFault {
  const named = typeof requested === "string" ? requested : "the request did not name a protocol version";
  const data = { supported: MODERN_REVISIONS, requested };
  return new RequestFault(UNSUPPORTED_REVISION, `Unsupported protocol version: ${named}`, data);
}

/** Whether a request is a handshake. With an envelope it is just a request of a method that is not there. */
export const isHandshake = ({ method, params }: { readonly method: string; readonly params?: unknown }): boolean =>
  method === "initialize" && !isModern(revisionOf(params));
