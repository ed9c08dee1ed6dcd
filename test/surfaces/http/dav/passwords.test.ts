import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { alice, bob } from "../../../ucan/tokens.js";
import { DOCS, operator, UcanVenue } from "../../../venue/identity/ucan-venue.js";

let here: UcanVenue;
beforeAll(async () => {
  here = new UcanVenue();
  await here.open({ drives: { store: "memory" } });
});
afterAll(() => here.close());

/** Status and body of a request with a password. */
async function ask(method: string, path: string, password: string, user = "anyone"): Promise<[number, string]> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const body = method === "PUT" ? { body: "written" } : {};
  const answer = await fetch(`${here.venue.url}${path}`, { method, headers: { authorization, depth: "1" }, ...body });
  return [answer.status, await answer.text()];
}

test("a UCAN for the venue is a password, and gives what its proofs give", async () => {
  const password = here.ucan(bob, { att: [DOCS], prf: [here.ucan(operator, { aud: bob.did, att: [DOCS] })] });
  expect(await ask("GET", "/dav/docs/a.txt", password)).toEqual([200, "of docs"]);
  expect(await ask("PUT", "/dav/docs/a.txt", password)).toEqual([403, expect.stringContaining("CAPABILITY_DENIED")]);
  expect(await ask("GET", "/dav/owned/a.txt", password)).toEqual([403, expect.stringContaining("CAPABILITY_DENIED")]);
  const forged = `${password.slice(0, -86)}${here.ucan(alice).slice(-86)}`;
  expect(await ask("GET", "/dav/docs/a.txt", forged)).toEqual([401, expect.any(String)]);
});

test("an identity token is the password of its issuer, for roots and drives of its own, whatever the user name", async () => {
  const password = here.identity(alice);
  for (const user of ["alice", "", "domain\\user"]) {
    expect(await ask("GET", "/dav/owned/a.txt", password, user)).toEqual([200, "of owned"]);
  }
  expect(await ask("MKCOL", "/dlfs/notes", password)).toEqual([201, ""]);
  expect(await ask("PUT", "/dlfs/notes/mine", password)).toEqual([201, ""]);
  expect((await ask("GET", "/dlfs/notes/mine", here.identity(bob)))[0]).toBe(404);
  expect((await ask("GET", "/dav/owned/a.txt", here.identity(alice, { aud: bob.did })))[0]).toBe(401);
});
