// One venue, asked over both transports and in both eras, by messages as they stand on the wire.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../../../src/config/load.js";
import { silentLog } from "../../../../src/core/ports/log.js";
import type { VenueConfigInput } from "../../../../src/index.js";
import { signingKeyFromSeed } from "../../../../src/ucan/mint/signing-key.js";
import { type OpenVenue, openVenue } from "../../../../src/venue/start/open-venue.js";
import { ask, type Era, type Message, overStdio } from "../raw.js";

/** Asks in one era over one transport. */
export interface Way {
  readonly era: Era;
  ask(method: string, params?: object): Promise<Message>;
  close(): Promise<void>;
}

export interface McpGround {
  readonly home: string;
  readonly venue: OpenVenue;
  readonly url: string;
  /** The configuration without its files. */
  readonly given: object;
  /** @param bearer of HTTP; default: the operator's, who is asked for on stdio too */
  way(name: WayName, bearer?: string): Way;
  close(): Promise<void>;
}

export const WAYS = ["modern over HTTP", "legacy over HTTP", "modern over stdio", "legacy over stdio"] as const;
export type WayName = (typeof WAYS)[number];

/** Of the venue, whose own key is the caller over stdio: the same as the operator over HTTP. */
const SEED = Buffer.alloc(32, 7);

export async function openMcpGround(
  more: Omit<VenueConfigInput, "file"> & { readonly roots: (home: string) => object },
): Promise<McpGround> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  const { roots, ...others } = more;
  const given = { port: 0, seed: SEED.toString("hex"), stateDir: join(home, "state"), ...others };
  const all = { ...given, file: { roots: roots(home) } } as VenueConfigInput;
  const config = parseConfig(all, { baseDir: home, isGrant: () => true });
  const caller = { key: signingKeyFromSeed(SEED), proofs: [] };
  const venue = await openVenue(config, { listens: true, env: {}, log: silentLog, caller });
  const { url } = await venue.host.listen();
  const open: Way[] = [];
  return {
    ...{ home, venue, url, given },
    way(name, bearer = venue.access.localToken ?? "") {
      const era = name.startsWith("modern") ? "modern" : "legacy";
      const way = name.endsWith("HTTP") ? overHttp(url, era, bearer) : overStdio(venue.mcpHost(), era);
      open.push(way);
      return way;
    },
    async close() {
      await Promise.all(open.map((way) => way.close()));
      await venue.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const overHttp = (url: string, era: Era, token: string): Way => ({
  era,
  ask: (method, params) => ask(url, { method, ...(params && { params }) }, era, token === "" ? {} : { token }),
  close: async () => {},
});
