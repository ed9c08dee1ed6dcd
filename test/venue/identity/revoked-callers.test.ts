import { createHash } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { VenueConfigInput } from "../../../src/index.js";
import { run } from "../../surfaces/http/client.js";
import { alice, bob, type Signer, venue as venueKey } from "../../ucan/tokens.js";
import { DOCS, idOf, operator, UcanVenue } from "./ucan-venue.js";

let here: UcanVenue;
beforeEach(() => {
  here = new UcanVenue();
});
afterEach(async () => {
  await here.close();
});

const ucan: UcanVenue["ucan"] = (...parts) => here.ucan(...parts);
const identity: UcanVenue["identity"] = (...parts) => here.identity(...parts);

describe("what is revoked while the venue runs", () => {
  const revoke = (entry: string) => appendFileSync(join(here.base, "revoked.txt"), `${entry}\n`);
  beforeEach(async () => {
    writeFileSync(join(here.base, "revoked.txt"), "");
    await here.open({ auth: { ucan: { revocations: "revoked.txt" } } });
  });

  test.each<[string, (by: Signer) => string]>([
    ["an identity token", identity],
    ["a UCAN", ucan],
  ])("is refused at the next request: %s as bearer, by its id or its issuer's DID", async (_what, make) => {
    const [bearer, other] = [make(alice), identity(alice, { jti: "other" })];
    expect(await here.outcome({ bearer, root: "owned" })).toBe("of owned");
    revoke(idOf(bearer));
    expect(await here.outcome({ bearer, root: "owned" })).toBe(401);
    expect(await here.outcome({ bearer: other, root: "owned" })).toBe("of owned");
    revoke(alice.did);
    expect(await here.outcome({ bearer: other, root: "owned" })).toBe(401);
  });

  test("gives nothing any more, also what rests on it", async () => {
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    const bearer = ucan(bob, { att: [DOCS], prf: [grant] });
    expect(await here.outcome({ bearer })).toBe("of docs");
    revoke(idOf(grant));
    expect(await here.outcome({ bearer })).toEqual(["CAPABILITY_DENIED", "revoked"]);
  });

  test("names nobody", async () => {
    const token = ucan(alice);
    expect(await here.outcome({ ucans: [token], root: "owned" })).toBe("of owned");
    revoke(idOf(token));
    expect((await here.call({ ucans: [token], root: "owned" })).job.caller).toBe(`${here.venue.did}:public`);
  });

  test("stays revoked when the list becomes malformed", async () => {
    const bearer = ucan(alice);
    revoke(idOf(bearer));
    expect(await here.outcome({ bearer })).toBe(401);
    revoke("bob\n#");
    expect(await here.outcome({ bearer })).toBe(401);
  });
});

describe("a transfer ticket is judged again when it is redeemed", () => {
  const STATIC = "s".repeat(32);
  const TOKEN = { token: { sha256: createHash("sha256").update(STATIC).digest("hex") }, caps: [DOCS] };
  const revoke = (entry: string) => appendFileSync(join(here.base, "revoked.txt"), `${entry}\n`);
  beforeEach(async () => {
    writeFileSync(join(here.base, "revoked.txt"), "");
    const tokens = [
      { ...TOKEN, name: "ci" },
      {
        ...TOKEN,
        name: "named",
        token: { sha256: createHash("sha256").update(`${STATIC}2`).digest("hex") },
        did: bob.did,
      },
    ];
    await here.open({ auth: { tokens, ucan: { revocations: "revoked.txt" } } });
  });

  async function ticketOf(bearer: string, root: string): Promise<string> {
    const response = await run(here.venue.url, "file:transfer", { root, path: "a.txt", direction: "download" }, bearer);
    const { href } = (await response.json()) as { href?: unknown };
    expect(href).toEqual(expect.stringContaining("?ticket="));
    return String(href);
  }

  test.each<[string, string, () => readonly [bearer: string, entry?: string]]>([
    ["the DID of an identity token", "owned", () => [identity(alice), alice.did]],
    ["the identity token by its id", "owned", () => [identity(alice)]],
    ["the DID of a UCAN that is the bearer", "owned", () => [ucan(alice), alice.did]],
    ["a UCAN that is the bearer, by its id", "owned", () => [ucan(alice)]],
    ["a static token by its name", "docs", () => [STATIC, `${here.venue.did}:token:ci`]],
    ["a static token by its name, which has a DID", "docs", () => [`${STATIC}2`, `${here.venue.did}:token:named`]],
    ["the DID of a static token", "docs", () => [`${STATIC}2`, bob.did]],
  ])("and is refused once this was revoked: %s", async (_what, root, make) => {
    const [bearer, entry = idOf(bearer)] = make();
    const href = await ticketOf(bearer, root);
    const before = await fetch(href);
    expect([before.status, await before.text()]).toEqual([200, `of ${root}`]);
    revoke(entry);
    const after = await fetch(href);
    expect(after.status).toBe(401);
    expect(await after.text()).not.toContain(`of ${root}`);
  });

  test("and by a grant that its bearer rests on: it gives nothing any more", async () => {
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    const href = await ticketOf(ucan(bob, { att: [DOCS], prf: [grant] }), "docs");
    expect((await fetch(href)).status).toBe(200);
    revoke(idOf(grant));
    expect((await fetch(href)).status).toBe(403);
  });
});

test("a venue that is revoked under either of its names is revoked", async () => {
  const did = "did:web:example.org";
  for (const [index, revoked] of [did, venueKey.did].entries()) {
    const list = `revoked-${index}.txt`;
    writeFileSync(join(here.base, list), "");
    await here.open({ seed: "01".repeat(32), did, operator: did, auth: { ucan: { revocations: list } } });
    expect(await here.outcome({ bearer: identity(venueKey) })).toBe("of docs");
    writeFileSync(join(here.base, list), `${revoked}\n`);
    for (const token of [identity(venueKey), ucan(venueKey)]) expect(await here.outcome({ bearer: token })).toBe(401);
  }
});

describe("a venue does not start", () => {
  const failure = (config: VenueConfigInput) => here.open(config).catch((error: unknown) => error);

  test("without its revocation list, or with one it cannot understand", async () => {
    const auth = { ucan: { revocations: "revoked.txt" } };
    expect(await failure({ auth })).toMatchObject({ exitStatus: 66 });
    writeFileSync(join(here.base, "revoked.txt"), "\nbob\n");
    expect(await failure({ auth })).toMatchObject({
      exitStatus: 78,
      problems: [
        `'auth.ucan.revocations' cannot be used: line 2 is neither a token id nor a DID: ${here.base}/revoked.txt`,
      ],
    });
  });

  test("when a static token stands for an owner, who is known only once there is the key", async () => {
    const roots = { docs: { path: "docs", owner: `${venueKey.did}:token:ci` } };
    const tokens = [{ name: "ci", token: { sha256: "0".repeat(64) }, caps: [] }];
    expect(await failure({ seed: "01".repeat(32), auth: { tokens }, file: { roots } })).toMatchObject({
      exitStatus: 78,
      problems: ["'auth.tokens[0].did' must not be the owner of root 'docs': a static token only adds capabilities"],
    });
  });
});
