// What pruners have believed of the clock, in the tables of a journal.

import { type AgeLooks, lookAgain } from "../core/age-looks.js";
import { decode, encode, type Tables } from "./tables.js";

const LOOKS = Buffer.from("looks");

function looksIn({ meta }: Tables): AgeLooks | undefined {
  const row = meta.get(LOOKS);
  const looks = row === undefined ? "damaged" : decode<AgeLooks>(row);
  return looks === "damaged" ? undefined : looks;
}

/** Where nobody has looked yet. Only inside a transaction, like the next one. */
export function beginLooks(tables: Tables, looks: AgeLooks): void {
  if (looksIn(tables) === undefined) tables.meta.putSync(LOOKS, encode(looks));
}

export function lookInto(tables: Tables, before: AgeLooks, at: { nowMs: number; days: number }): AgeLooks {
  const looks = lookAgain(looksIn(tables) ?? before, at.nowMs, at.days);
  tables.meta.putSync(LOOKS, encode(looks));
  return looks;
}
