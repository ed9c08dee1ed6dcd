// The options `--host` and `--port`.

import type { ListenerOverride } from "../../config/parse-venue.js";
import { escapeText } from "../../core/errors/texts.js";
import { singleValue, UsageError, type Values } from "./options.js";

/** `--host` and `--port`, if given. @throws UsageError */
export function parseListener(values: Values): ListenerOverride | undefined {
  const hostname = singleValue(values, "host");
  if (hostname !== undefined && !/^[^\s/]+$/.test(hostname)) {
    throw new UsageError(`--host takes a host name or an IP address, not '${escapeText(hostname)}'`);
  }
  const given = { hostname, port: parsePort(singleValue(values, "port")) };
  return given.hostname === undefined && given.port === undefined ? undefined : given;
}

function parsePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535)
    throw new UsageError(`--port must be between 0 and 65535, not '${escapeText(text)}'`);
  return value;
}
