// Finds files, addresses and directories that two venues of one process would both use.

import { escapeText } from "../../core/errors/texts.js";
import type { DraftVenue } from "../checked-venue.js";
import { bareHost } from "../loopback.js";
import type { ReadVenue } from "../parse-venue.js";
import { placeBelow, quotedPath } from "./check-schema.js";

/** A resource of a venue that only one server can use, as text. */
type Holding = (draft: DraftVenue) => string | undefined;

/** Paths that must differ between venues, since they would overwrite each other's files. */
const OWN_PATHS: readonly { readonly keys: readonly string[]; readonly holding: Holding }[] = [
  { keys: ["listen", "socket"], holding: ({ listen }) => listen?.socket },
  { keys: ["storage", "path"], holding: ({ storage }) => storage?.path },
  { keys: ["drives", "store", "path"], holding: ({ drives }) => pathOf(drives?.store) },
  { keys: ["audit", "file"], holding: ({ audit }) => audit?.file },
];

const pathOf = (store: object | string | undefined): string | undefined => {
  const { path }: { path?: unknown } = typeof store === "object" ? store : {};
  return typeof path === "string" ? path : undefined;
};

/** Reports resources that two venues of one process cannot share. */
export function checkClashes(venues: readonly ReadVenue[], problems: string[]): void {
  for (const { first, second, held } of clashes(venues, addressOf)) {
    problems.push(`${quotedPath(first.place)} and ${quotedPath(second.place)} both listen on ${escapeText(held)}`);
  }
  for (const { keys, holding } of OWN_PATHS) {
    for (const clash of clashes(venues, holding)) {
      const [first, second] = [clash.first, clash.second].map(({ place }) =>
        quotedPath(keys.reduce(placeBelow, place)),
      );
      problems.push(`${first} and ${second} are the same path`);
    }
  }
}

const addressOf: Holding = ({ listen, hostname, port }) => {
  // Port 0 selects a different free port for each venue.
  if (listen !== undefined || hostname === undefined || port === undefined || port === 0) return undefined;
  const host = bareHost(hostname).toLowerCase();
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
};

function* clashes(
  venues: readonly ReadVenue[],
  holding: Holding,
): Generator<{ readonly first: ReadVenue; readonly second: ReadVenue; readonly held: string }> {
  const holders = new Map<string, ReadVenue>();
  for (const second of venues) {
    const held = holding(second.draft);
    if (held === undefined) continue;
    const first = holders.get(held);
    if (first === undefined) holders.set(held, second);
    else yield { first, second, held };
  }
}
