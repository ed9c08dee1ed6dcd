// Options of commands on files.

import type { Options } from "./command.js";
import { SOURCE } from "./shared.js";

export const FLAG = { type: "boolean" } as const;
export const VALUE = { type: "string" } as const;
export const MANY = { type: "string", multiple: true } as const;
export const ANY_TEXT = { ...VALUE, anyText: true } as const;
export const flag = (short: string, text: string) => ({ ...FLAG, short, text }) as const;
export const value = (name: string, text: string) => ({ ...VALUE, value: name, text }) as const;

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
