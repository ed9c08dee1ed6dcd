// Where the library that verifies tokens cannot be loaded, nobody's token is called bad.

import { expect, jest, test } from "@jest/globals";

jest.unstable_mockModule("jose", () => {
  throw new Error("Cannot find package");
});
const { verifyToken } = await import("../../../../src/venue/identity/issuers/verify.js");

test("a token that cannot be verified is to be sent again later", async () => {
  const keys = { findFor: async () => [{ kid: "1", text: "", find: () => {} }] };
  const rules = { keys, config: {}, resource: "", clockSkew: 0, now: new Date() };
  await expect(verifyToken("a.b.c", rules as never)).rejects.toMatchObject({
    ...{ name: "KeysGone", retryAfterMs: expect.any(Number) },
  });
});
