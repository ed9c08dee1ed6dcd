import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { contextOf } from "../../../src/core/call/attribute.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { alice, bob, type Signer, signed, venue as venueKey } from "../../ucan/tokens.js";

const DOCS = { with: "file://docs/", can: "crud/read" };
const SEED = "01".repeat(32);

let base: string;
let open: OpenVenue;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-reload-")));
  mkdirSync(join(base, "docs"));
  writeFileSync(join(base, "docs/a.txt"), "alpha");
});
afterEach(async () => {
  await open.close();
  rmSync(base, { recursive: true, force: true });
});

type Auth = NonNullable<VenueConfigInput["auth"]>;

const configOf = (auth: Auth = {}, owner?: string) =>
  parseConfig(
    {
      port: 0,
      seed: SEED,
      stateDir: "state",
      file: { roots: { docs: { path: "docs", ...(owner === undefined ? {} : { owner }) } } },
      auth: { public: { caps: [] }, ...auth },
    },
    { baseDir: base },
  );

async function start(auth?: Auth, owner?: string): Promise<void> {
  open = await openVenue(configOf(auth, owner), { listens: true, env: {}, log: silentLog });
}

const reload = (auth?: Auth, owner?: string) => open.prepareReload(configOf(auth, owner)).commit();

/** What a caller with some UCANs reads, or why it cannot. */
async function read(did: string, ucans: readonly string[] = [], more: SurfaceContext = {}): Promise<unknown> {
  const context = { callerDID: did, authentication: "identity", ucans, ...more } as const;
  try {
    return (await open.adapter.invoke("file:read", { root: "docs", path: "a.txt" }, context)).content;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    return error.code;
  }
}

const grant = (claims: Readonly<Record<string, unknown>> = {}, by: Signer = venueKey): string =>
  signed(
    {
      header: { alg: "EdDSA", typ: "JWT", kid: by.multikey },
      payload: { iss: by.did, aud: bob.did, ucv: "0.10.0", att: [DOCS], prf: [], exp: inAnHour(), ...claims },
    },
    by.privateKey,
  );
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

describe("a reload applies", () => {
  test("what the configuration gives to a DID", async () => {
    await start();
    expect(await read(alice.did)).toBe("CAPABILITY_DENIED");
    expect(await reload({ grants: [{ did: alice.did, ...DOCS }] })).toEqual([]);
    expect([await read(alice.did), await read(bob.did)]).toEqual(["alpha", "CAPABILITY_DENIED"]);
    await reload();
    expect(await read(alice.did)).toBe("CAPABILITY_DENIED");
  });

  test("what the maker of an access token has lost: so has the token, and it gets it back with its maker", async () => {
    const grants = [{ did: alice.did, with: "file://docs/", can: "crud" }];
    await start({ grants });
    const made = await open.access.accessTokens?.issue({
      ...{ label: "agent", lifetimeMs: 3_600_000, caps: [DOCS] },
      maker: { kind: "identity", did: alice.did },
    });
    const readBy = async () => {
      const known = await open.access.authenticate(`Bearer ${made?.secret}`);
      return "caller" in known ? read(known.caller.did, [], contextOf(known.caller)) : known.refused;
    };
    expect(await readBy()).toBe("alpha");
    await reload({ grants: [{ did: alice.did, with: "file://docs/other/", can: "crud" }] });
    expect([await readBy(), await read(alice.did)]).toEqual(["CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
    await reload({ grants });
    expect(await readBy()).toBe("alpha");
    await reload();
    expect(await readBy()).toBe("CAPABILITY_DENIED");
  });

  test("who owns a root, and with it whose grants count there", async () => {
    await start();
    const grants = [grant()];
    expect([await read(alice.did), await read(bob.did, grants)]).toEqual(["CAPABILITY_DENIED", "alpha"]);
    expect(await reload({}, alice.did)).toEqual([]);
    expect(await read(alice.did)).toBe("alpha");
    expect(await read(bob.did, grants)).not.toBe("alpha");
    expect(await read(bob.did, [grant({}, alice)])).toBe("alpha");
  });

  test("how UCANs are judged", async () => {
    await start();
    const lasting = [grant({ exp: null })];
    expect([await read(bob.did, lasting), await read(bob.did, [grant()])]).toEqual(["CAPABILITY_DENIED", "alpha"]);
    expect(await reload({ ucan: { allowNoExpiry: true, maxLifetime: 60 } })).toEqual([]);
    expect([await read(bob.did, lasting), await read(bob.did, [grant()])]).toEqual(["alpha", "CAPABILITY_DENIED"]);
  });

  test("another revocation list, also to what was judged before and to bearers", async () => {
    writeFileSync(join(base, "revoked.txt"), `${alice.did}\n`);
    const ours = grant();
    writeFileSync(join(base, "other.txt"), `${idOf(ours)}\n`);
    await start({ ucan: { revocations: "revoked.txt" } });
    const bearer = `Bearer ${identity(alice)}`;
    expect([await read(bob.did, [ours]), open.access.authenticate(bearer)]).toMatchObject([
      "alpha",
      { refused: "invalid_token" },
    ]);
    expect(await reload({ ucan: { revocations: "other.txt" } })).toEqual([]);
    expect([await read(bob.did, [ours]), open.access.authenticate(bearer)]).toMatchObject([
      "CAPABILITY_DENIED",
      { caller: { did: alice.did } },
    ]);
    expect(open.access.revocations.has(idOf(ours))).toBe(true);
  });

  test("nothing to what was learnt of tokens, when their rules stay", async () => {
    await start();
    const ours = grant();
    await read(bob.did, [ours]);
    await reload({ grants: [{ did: alice.did, ...DOCS }] });
    expect([...(open.access.verifier.issuersOf(idOf(ours)) ?? [])]).toEqual([venueKey.did]);
  });
});

describe("a reload applies nothing when", () => {
  const secret = "s".repeat(40);
  const wrong: readonly [string, Auth, string | undefined][] = [
    ["the revocation list is not there", { ucan: { revocations: "none.txt" } }, undefined],
    ["the revocation list is malformed", { ucan: { revocations: "malformed.txt" } }, undefined],
    ["the revocation list lies in a root", { ucan: { revocations: "docs/a.txt" } }, undefined],
    [
      "a static token stands for the new owner",
      { tokens: [{ name: "ci", token: { env: "T" }, caps: [] }] },
      `${venueKey.did}:token:ci`,
    ],
  ];
  test.each(wrong)("%s", async (_what, auth, owner) => {
    writeFileSync(join(base, "malformed.txt"), "bob\n");
    open = await openVenue(configOf(), { listens: true, env: { T: secret }, log: silentLog });
    const next = configOf({ grants: [{ did: alice.did, ...DOCS }], ...auth }, owner);
    expect(() => open.prepareReload(next)).toThrow(expect.objectContaining({ name: "ConfigError" }));
    expect([await read(alice.did), await read(bob.did, [grant()])]).toEqual(["CAPABILITY_DENIED", "alpha"]);
    expect(open.config.auth.grants).toEqual([]);
  });

  test("it is thought better of", async () => {
    await start();
    await open.prepareReload(configOf({ grants: [{ did: alice.did, ...DOCS }] }, bob.did)).discard();
    expect([await read(alice.did), await read(bob.did)]).toEqual(["CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
  });
});

const idOf = (token: string): string => tokenId(token.slice(0, token.lastIndexOf(".")));

function identity(by: Signer): string {
  const exp = Math.floor(Date.now() / 1000) + 300;
  const payload = { sub: by.did, iss: by.did, aud: venueKey.did, exp };
  return signed({ header: { alg: "EdDSA", typ: "JWT" }, payload }, by.privateKey);
}
