import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { createVenue, type Venue } from "../../../../src/index.js";
import { basic, sendAsIs } from "../client.js";

/** Static tokens of the venue; `operator` is its local token. */
const TOKENS = { alice: "alice-".repeat(8), bob: "bob-".repeat(12), reader: "reader-".repeat(8) };
const SEED = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";

export type Who = keyof typeof TOKENS | "operator" | "nobody";

export interface Ask {
  readonly as?: Who;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface DavVenue {
  readonly venue: Venue;
  readonly url: string;
  /** Host folder of the root `docs`. */
  readonly docs: string;
  readonly base: string;
  readonly password: (who: Exclude<Who, "nobody">) => string;
  /** Sends one request, its path as it is written. */
  dav(method: string, path: string, ask?: Ask): Promise<Answer>;
  /** Status alone. */
  status(method: string, path: string, ask?: Ask): Promise<number>;
  close(): Promise<void>;
}

const everything = (root: string) => ({ with: `file://${root}/`, can: "crud" });

/**
 * A venue with WebDAV: roots `docs` (host), `tmp` (temp), `ro` (read-only), `home` (drive), `hidden`. Alice and bob may
 * do everything in the first two, reader may read `docs`; nobody but the operator sees `hidden`.
 *
 * @param lay prepares the folder that relative paths of the configuration start from
 */
export async function serveDav(more: VenueConfigInput = {}, lay: (base: string) => void = () => {}): Promise<DavVenue> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-dav-")));
  for (const folder of ["docs", "ro", "hidden"]) mkdirSync(join(base, folder));
  writeFileSync(join(base, "ro/r.txt"), "read me");
  lay(base);
  const tokens = Object.entries(TOKENS).map(([name, token]) => ({
    name,
    token: { sha256: createHash("sha256").update(token).digest("hex") },
    caps: name === "reader" ? [{ with: "file://docs/", can: "crud/read" }] : [everything("docs"), everything("tmp")],
  }));
  const { file, auth, ...others } = more;
  const configuration: VenueConfigInput = {
    port: 0,
    seed: SEED,
    stateDir: join(base, "state"),
    auth: { public: { enabled: true, caps: [{ with: "file://ro/", can: "crud/read" }] }, tokens, ...auth },
    drives: { store: "memory" },
    ...others,
    file: {
      ...file,
      roots: {
        docs: { path: join(base, "docs"), durability: "none" },
        tmp: { temp: true },
        ro: { path: join(base, "ro"), readOnly: true },
        home: { dlfs: "home" },
        hidden: join(base, "hidden"),
        ...file?.roots,
      },
    },
  };
  const venue = await createVenue(configuration, { baseDir: base });
  const { url } = await venue.listen();
  // With a baseUrl the URL is not where it listens.
  const port = configuration.port || new URL(url).port;
  const password = (who: Exclude<Who, "nobody">) => (who === "operator" ? (venue.localToken ?? "") : TOKENS[who]);
  const dav = async (method: string, path: string, { as = "operator", headers, body }: Ask = {}): Promise<Answer> => {
    const credentials = as === "nobody" ? {} : basic(password(as));
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const raw = { method, path, headers: { ...credentials, ...length, ...headers }, body };
    const { body: bytes, ...answer } = await sendAsIs(`http://127.0.0.1:${port}`, raw);
    return { ...answer, text: bytes.toString() };
  };
  return {
    ...{ venue, url, base, docs: join(base, "docs"), password, dav },
    status: async (method, path, ask) => (await dav(method, path, ask)).status,
    async close() {
      await venue.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** The URLs in a multistatus. */
export const hrefs = ({ text }: Answer): string[] =>
  [...text.matchAll(/<D:href>([^<]*)<\/D:href>/g)].map(([, href]) => href ?? "");

/** The text of the first element of a name. */
export const textIn = ({ text }: Answer, name: string): string | undefined =>
  new RegExp(`<${name}[^>]*>([^]*?)</${name}>`).exec(text)?.[1];
