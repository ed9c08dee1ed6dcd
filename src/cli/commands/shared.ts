// Options that several commands have, and what their values mean.

import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { parseDuration } from "../arguments/duration.js";
import { UsageError } from "../arguments/options.js";
import { type ConfigSource, type OwnCalls, reachOf } from "../arguments/remote.js";
import type { Line, Options, Values } from "./command.js";

export const FLAG = { type: "boolean" } as const;
export const VALUE = { type: "string" } as const;
export const MANY = { type: "string", multiple: true } as const;
export const ANY_TEXT = { ...VALUE, anyText: true } as const;
export const flag = (short: string, text: string) => ({ ...FLAG, short, text }) as const;

/** An option with a value. @param name of the value in help @param text help */
export const value = (name?: string, example?: string, text?: string) =>
  ({ type: "string", value: name, example, text }) as const;

/** An option with a value that may be repeated. */
export const list = (name?: string, example?: string, text?: string) =>
  ({ ...value(name, example, text), multiple: true }) as const;

export const CONFIG = value(
  "FILE",
  "venue.json5",
  "JSON5 configuration (see config.example.json5); none is searched for",
);
const ROOT = list(
  "[NAME=]PATH[:ro]",
  "docs=./docs",
  "a root, without any file, named like its folder unless you say; may be repeated; ':ro' makes\nit read-only",
);

/** Where roots come from, and what narrows all of them. */
export const SOURCE = {
  config: CONFIG,
  root: ROOT,
  "read-only": { ...FLAG, text: "no root may be changed" },
  deny: list(
    "GLOB",
    "@secrets",
    `hides names in every root; --protect GLOB keeps them from changes: globs, @secrets, @git,
@clients, @instructions; may be repeated. --no-protect: else .git and settings of MCP
clients in FOLDER and --root may not be changed`,
  ),
  protect: { type: "string", multiple: true, example: "@git" },
  "no-protect": FLAG,
} as const satisfies Options;

export const CAPS = value("FILE", "caps.json5", "JSON5 list of capabilities that narrows every call");
export const KEY = { type: "string", value: "KEY", example: "alice" } as const;
export const PROOF = { type: "string", multiple: true, value: "FILE", example: "grant.ucan" } as const;
export const URL_OPTION = { type: "string", value: "URL", example: "http://localhost:8080" } as const;
export const TOKEN = { type: "string", value: "FILE", example: "grant.ucan" } as const;
export const TO = { type: "string", value: "DID", example: '"$(venue-files key show bob)"' } as const;
export const OUT = { type: "string", value: "FILE", example: "grant.ucan" } as const;
export const FOR = { type: "string", heading: "--for 1h", example: "1h" } as const;
export const PROFILE = { type: "string", value: "NAME", example: "covia" } as const;
export const JSON_OUT = { ...FLAG, text: "one line of JSON for each" } as const;

/** Options that tell the caller, for a venue in this process. */
export const CALLER = {
  caps: CAPS,
  key: { ...KEY, text: "call as who holds this key, in place of the operator: a name, a path or env:NAME" },
  proof: { ...PROOF, text: "tokens that go with each call, one a line; env:NAME too; may be repeated" },
} as const satisfies Options;

/** Options of every command on files. */
export const FILE_OPTIONS = {
  config: { ...VALUE, value: "FILE", text: SOURCE.config.text },
  root: { ...MANY, heading: "--root [NAME=]PATH[:ro]", text: SOURCE.root.text },
  "read-only": SOURCE["read-only"],
  deny: { ...MANY, value: "GLOB", text: SOURCE.deny.text },
  protect: MANY,
  "no-protect": FLAG,
  caps: { ...VALUE, value: "FILE", text: "JSON5 list of capabilities that narrows every call" },
  key: {
    ...VALUE,
    heading: "--key KEY, --proof FILE",
    text: "call as who holds this key, in place of the operator",
  },
  proof: MANY,
  url: {
    ...VALUE,
    heading: "--url URL, --token FILE",
    text: "a venue that runs elsewhere, in place of --config and --root, and the bearer token for it",
  },
  token: VALUE,
  color: {
    ...{ ...FLAG, value: "WHEN" },
    oneOf: ["always", "auto", "never"],
    text: "always, auto (on a terminal, unless NO_COLOR is set) or never",
  },
  json: { ...FLAG, text: "the answers of the operations as JSON, one a line; failures too, on standard error" },
} as const satisfies Options;

/** A capability. */
export const WANTED = {
  with: { type: "string", multiple: true, value: "RESOURCE", example: "file://docs/reports/" },
  can: { type: "string", multiple: true, value: "ABILITY", example: "crud/read" },
} as const satisfies Options;

/** The configuration that the options name. */
export function sourceOf(values: Values<typeof SOURCE>): ConfigSource {
  const { config: file, root: roots, deny, protect, "no-protect": noProtect, "read-only": readOnly } = values;
  const isGuarded = noProtect || readOnly || deny.length > 0 || protect.length > 0;
  return { file, roots, ...(isGuarded ? { noProtect, guards: { deny, protect, readOnly } } : {}) };
}

/** Where a command calls, and as whom. @throws UsageError for options that do not fit each other */
export function ownCallsOf(
  values: Values<typeof SOURCE & typeof CALLER> & {
    readonly url?: string | undefined;
    readonly token?: string | undefined;
  },
): OwnCalls {
  const { caps, key, proof: proofs, url, token } = values;
  const local = (["config", "root", "deny", "protect", "no-protect", "read-only"] as const).filter((name) => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  return { source: sourceOf(values), capsFile: caps, ...reachOf({ url, token, key, proofs, local }) };
}

/**
 * Pairs each `--with` with the `--can` next to it. Two of the same kind in a row are refused, since a wrong guess of
 * what was meant would grant unintended rights.
 * @throws UsageError
 */
export function pairCapabilities({ values, order }: Line<typeof WANTED>): readonly Capability[] {
  const turns = order.filter((name) => name === "with" || name === "can");
  if (turns.some((name, index) => index % 2 === 0 && turns[index + 1] === name) || turns.length % 2 !== 0) {
    throw new UsageError("Each --with needs one --can beside it: --with file://docs/reports/ --can crud/read");
  }
  return values.with.map((resource, index) => ({ with: resource, can: values.can[index] ?? "" }));
}

/** The seconds of `--for`. @throws UsageError */
export function lifetimeOf(text: string | undefined): number | undefined {
  const seconds = text === undefined ? undefined : parseDuration(text);
  if (text === undefined || seconds !== undefined) return seconds;
  throw new UsageError(
    `--for takes a whole number and s, m, h or d, such as 90s, 15m, 1h or 7d, not '${escapeText(text)}'`,
  );
}

/** @throws UsageError for a word that is none of these */
export function choiceOf<T extends string>(
  option: string,
  text: string | undefined,
  known: readonly T[],
): T | undefined {
  const found = known.find((one) => one === text);
  if (text === undefined || found !== undefined) return found;
  throw new UsageError(`--${option} must be ${known.join(", ")}, not '${escapeText(text)}'`);
}
