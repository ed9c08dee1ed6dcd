import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import type { JsonObject } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { type OpenVenue, type OpenVenueOptions, openVenue } from "../../../src/venue/start/open-venue.js";
import { alice, bob, type Signer, signed, venue as venueKey } from "../../ucan/tokens.js";

const DOCS = { with: "file://docs/", can: "crud/read" };
const SEED = "01".repeat(32);

let base: string;
let open: OpenVenue;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-own-")));
  for (const root of ["docs", "owned"]) {
    mkdirSync(join(base, root));
    writeFileSync(join(base, root, "a.txt"), `of ${root}`);
  }
});
afterEach(async () => {
  await open?.close();
  rmSync(base, { recursive: true, force: true });
});

/** A venue that does not listen, with a root of the operator's and one of Alice's. */
async function start(config: VenueConfigInput, options: Partial<OpenVenueOptions> = {}): Promise<OpenVenue> {
  const roots = { docs: "docs", owned: { path: "owned", owner: alice.did } };
  const parsed = parseConfig({ stateDir: "state", file: { roots }, ...config }, { baseDir: base });
  open = await openVenue(parsed, { listens: false, env: {}, log: silentLog, ...options });
  return open;
}

const by = ({ did, multikey, publicKey, privateKey }: Signer, proofs: readonly string[] = []) => ({
  caller: { key: { did, multikey, publicKey, privateKey }, proofs },
});

const token = (from: Signer, claims: Readonly<Record<string, unknown>>): string =>
  signed(
    {
      header: { alg: "EdDSA", typ: "JWT", kid: from.multikey },
      payload: { iss: from.did, ucv: "0.10.0", att: [DOCS], prf: [], exp: inAnHour(), ...claims },
    },
    from.privateKey,
  );
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

const call = (root: string, input: JsonObject = {}, operation = "file:read") =>
  open.host
    .run({ operation, input: { root, path: "a.txt", ...input }, caller: "test", context: open.ownContext() })
    .result.then(
      (output) => (output as { content?: string }).content ?? output,
      (error: unknown) => (error instanceof FileAdapterError ? error.code : error),
    );

describe("who starts a venue that does not listen", () => {
  test("is its operator, who needs no proof", async () => {
    await start({}, { filesOnly: true });
    expect(open.ownContext()).toEqual({});
    expect([await call("docs"), await call("owned")]).toEqual(["of docs", "of owned"]);
  });

  test("with a key is whom that stands for, by whose rights alone everything goes", async () => {
    await start({ auth: { grants: [{ did: bob.did, ...DOCS }], public: { caps: [] } } }, by(bob));
    expect(open.ownContext()).toEqual({ callerDID: bob.did, authentication: "key" });
    expect([await call("docs"), await call("owned")]).toEqual(["of docs", "CAPABILITY_DENIED"]);
    expect(await call("docs", { content: "x" }, "file:write")).toBe("CAPABILITY_DENIED");
    await open.close();
    await start({ auth: { public: { caps: [] } } }, by(alice));
    expect([await call("docs"), await call("owned")]).toEqual(["CAPABILITY_DENIED", "of owned"]);
  });

  test("with a key may do what everybody may", async () => {
    await start({}, by(bob));
    expect(await call("docs")).toBe("of docs");
    expect(await call("docs", { content: "x" }, "file:write")).toBe("CAPABILITY_DENIED");
  });

  test("with the key of the operator is the operator", async () => {
    await start({ operator: bob.did }, by(bob));
    expect([await call("docs"), await call("owned")]).toEqual(["of docs", "of owned"]);
  });

  test("with the key of the venue is the venue, under the name it goes by", async () => {
    await start({ seed: SEED, did: "did:web:example.org" }, by(venueKey));
    expect(open.ownContext()).toMatchObject({ callerDID: "did:web:example.org" });
    expect(await call("owned")).toBe("of owned");
  });
});

describe("proofs go with every call", () => {
  const noPublic = { auth: { public: { caps: [] } } };

  test("and count for the key they are for", async () => {
    const grant = token(venueKey, { aud: bob.did });
    await start({ seed: SEED, ...noPublic }, by(bob, [grant]));
    expect(open.ownContext()).toEqual({ callerDID: bob.did, authentication: "key", ucans: [grant] });
    expect(await call("docs")).toBe("of docs");
    await open.close();
    await start({ seed: SEED, ...noPublic }, by(alice, [grant]));
    expect(await call("docs")).toBe("CAPABILITY_DENIED");
  });

  test("and count in the roots of others also without a key of the venue's own", async () => {
    const grant = token(alice, { aud: bob.did, att: [{ with: "file://owned/", can: "crud/read" }] });
    await start(noPublic, by(bob, [grant]));
    expect(open.access.key).toBeUndefined();
    expect(await call("owned")).toBe("of owned");
  });

  test("and count no more once they are revoked", async () => {
    writeFileSync(join(base, "revoked.txt"), "");
    const auth = { ...noPublic.auth, ucan: { revocations: "revoked.txt" } };
    await start({ seed: SEED, auth }, by(bob, [token(venueKey, { aud: bob.did })]));
    expect(await call("docs")).toBe("of docs");
    await open.access.revocations.add([venueKey.did]);
    expect(await call("docs")).toBe("CAPABILITY_DENIED");
    expect(readFileSync(join(base, "revoked.txt"), "utf8")).toBe(`${venueKey.did}\n`);
  });

  test("over MCP together with those of the call", async () => {
    const owned = token(alice, { aud: bob.did, att: [{ with: "file://owned/", can: "crud/read" }] });
    await start({ seed: SEED, ...noPublic }, by(bob, [token(venueKey, { aud: bob.did })]));
    const mcp = open.mcpHost();
    const read = (root: string, ucans: unknown) =>
      mcp
        .submit({ operation: "file:read", input: { root, path: "a.txt" }, ucans }, new AbortController().signal)
        .result.then(
          (output) => (output as { content: string }).content,
          (error: FileAdapterError) => error.code,
        );
    expect(await read("docs", undefined)).toBe("of docs");
    expect(await read("owned", undefined)).not.toBe("of owned");
    expect([await read("owned", [owned]), await read("docs", [owned])]).toEqual(["of owned", "of docs"]);
    expect(await read("docs", "token")).toBe("CAPABILITY_DENIED");
    expect(await read("docs", [token(alice, { aud: "did:x:y" })])).toBe("of docs");
  });

  test("and a caps list narrows them over MCP", async () => {
    await start({ seed: SEED, ...noPublic }, by(bob, [token(venueKey, { aud: bob.did })]));
    const submit = (caps: unknown) =>
      open
        .mcpHost(caps)
        .submit(
          { operation: "file:read", input: { root: "docs", path: "a.txt" }, ucans: undefined },
          new AbortController().signal,
        ).result;
    expect(await submit(undefined)).toMatchObject({ content: "of docs" });
    await expect(submit([])).rejects.toMatchObject({ code: "CAPABILITY_DENIED" });
  });
});

describe("a venue that does not listen", () => {
  test("is who it will be when it does", async () => {
    expect((await start({ seed: SEED })).access).toMatchObject({ did: venueKey.did, operator: venueKey.did });
    expect(open.access.key).toMatchObject({ did: venueKey.did, multikey: venueKey.multikey });
    await open.close();
    writeFileSync(join(base, "venue.seed"), `${SEED}\n`, { mode: 0o600 });
    expect((await start({ seedFile: "venue.seed" })).access.key?.did).toBe(venueKey.did);
  });

  test("makes no key and no list, and leaves nothing behind", async () => {
    await start({ seedFile: "venue.seed" });
    expect(open.access.key).toBeUndefined();
    expect(existsSync(join(base, "venue.seed"))).toBe(false);
    expect(existsSync(join(base, "state"))).toBe(false);
  });

  test("and runs only file operations looks at neither", async () => {
    const auth = { ucan: { revocations: "none.txt" } };
    const { access, host } = await start({ seedFile: "docs", auth }, { filesOnly: true });
    expect([access.did, access.key]).toEqual(["operator", undefined]);
    expect(host.catalogue.adapters.map(({ name }) => name)).toEqual(["file"]);
    expect(await call("docs")).toBe("of docs");
  });

  test("but not when somebody else than the operator calls", async () => {
    const auth = { ucan: { revocations: "none.txt" } };
    await expect(start({ auth }, { filesOnly: true, ...by(bob) })).rejects.toMatchObject({ exitStatus: 66 });
  });
});
