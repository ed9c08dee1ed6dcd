// Tickets of all instances: a sealed row each, by its id.

import type { Shared } from "../../core/ports/shared.js";
import type { SharedTickets } from "../identity/tickets.js";

const TABLE = "ticket";

/** Expired rows go a few at a time with each new one. */
const PUT = `WITH expired AS (
    DELETE FROM ticket WHERE id IN (SELECT id FROM ticket WHERE expires < now() ORDER BY expires LIMIT 20)
  )
  INSERT INTO ticket (id, sealed, expires) VALUES ($1, $2, to_timestamp($3::float8 / 1000))`;

export function createSharedTickets(shared: Shared): SharedTickets {
  const seal = shared.sealed(TABLE);
  // The id is half of a URL that authorises: the engine knows only its hash.
  const rowOf = shared.mac(TABLE);
  return {
    async put(id, ticket) {
      const row = rowOf(id);
      const sealed = seal.seal(row, Buffer.from(JSON.stringify(ticket)));
      await shared.query(PUT, [row, sealed, ticket.expires]);
    },
    async get(id) {
      const row = rowOf(id);
      const [found] = await shared.query<{ sealed: Uint8Array }>("SELECT sealed FROM ticket WHERE id = $1", [row]);
      const bytes = found && seal.open(row, found.sealed);
      return bytes && JSON.parse(bytes.toString());
    },
  };
}
