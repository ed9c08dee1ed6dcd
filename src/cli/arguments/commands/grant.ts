// The command line of `grant`, and the options on capabilities that other commands share.

import type { Capability } from "../../../core/call/capability.js";
import { escapeText } from "../../../core/errors/texts.js";
import { parseDuration } from "../duration.js";
import { type Line, refuseArguments } from "../line.js";
import { requiredValue, singleValue, UsageError, type Values } from "../options.js";

/** Parsed `grant` command; keys and tokens are not read yet. */
export interface GrantCommand {
  readonly name: "grant";
  readonly to: string;
  readonly capabilities: readonly Capability[];
  /** `undefined`: the default lifetime. */
  readonly lifetimeSeconds: number | undefined;
  readonly key: string | undefined;
  readonly config: string | undefined;
  readonly proofs: readonly string[];
  readonly profile: "covia" | "ucan-0.8";
  /** A path; `-`: standard output. */
  readonly out: string | undefined;
}

export function parseGrant(line: Line): GrantCommand {
  const { values } = line;
  refuseArguments(line, "grant");
  const key = singleValue(values, "key");
  const config = singleValue(values, "config");
  if (key === undefined && config === undefined) {
    throw new UsageError("'grant' needs who signs: --key, or --config for the key of that venue");
  }
  const to = requiredValue(values, "grant", "to");
  const capabilities = pairCapabilities(line);
  if (capabilities.length === 0) {
    throw new UsageError("'grant' needs what is given: --with file://docs/reports/ --can crud/read");
  }
  return {
    name: "grant",
    ...{ to, capabilities, key, config },
    lifetimeSeconds: parseLifetime(values),
    proofs: values.get("proof") ?? [],
    profile: parseProfile(singleValue(values, "profile")),
    out: singleValue(values, "out"),
  };
}

/**
 * Pairs each `--with` with the `--can` next to it. Two of the same kind in a row are refused, since a wrong guess of
 * what was meant would grant unintended rights.
 */
export function pairCapabilities({ values, order }: Line): readonly Capability[] {
  const turns = order.filter((name) => name === "with" || name === "can");
  if (turns.some((name, index) => index % 2 === 0 && turns[index + 1] === name) || turns.length % 2 !== 0) {
    throw new UsageError("Each --with needs one --can beside it: --with file://docs/reports/ --can crud/read");
  }
  const abilities = values.get("can") ?? [];
  return (values.get("with") ?? []).map((resource, index) => ({ with: resource, can: abilities[index] ?? "" }));
}

export function parseSingleCapability(line: Line): Capability | undefined {
  const [first, ...more] = pairCapabilities(line);
  if (more.length > 0) throw new UsageError("'token inspect' takes one --with and --can");
  return first;
}

function parseProfile(text: string | undefined): GrantCommand["profile"] {
  if (text === undefined || text === "covia") return "covia";
  if (text === "ucan-0.8") return text;
  throw new UsageError(`--profile must be covia or ucan-0.8, not '${escapeText(text)}'`);
}

export function parseLifetime(values: Values): number | undefined {
  const text = singleValue(values, "for");
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(
    `--for takes a whole number and s, m, h or d, such as 90s, 15m, 1h or 7d, not '${escapeText(text)}'`,
  );
}
