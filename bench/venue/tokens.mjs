// A call with the token of an outside issuer that the venue has verified before, beside the same call with a static token.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expectThat } from "../expect.mjs";
import { shown } from "../harness.mjs";
import { fire, invocation, JSON_TYPE } from "../http.mjs";
import { temporaryDirectory } from "../lifetime.mjs";
import { startVenue } from "../processes.mjs";
import { inTurns, median, ratios } from "../timing.mjs";

const CAPS = [{ with: "file://docs/", can: "crud/read" }];

export const tokensPart = { name: "tokens", run: measureTokens };

async function measureTokens({ quick, row }) {
  const [rounds, duration, warmUp] = quick ? [3, 2, 3] : [15, 2, 10];
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "ES256", use: "sig" }] });
  const server = createServer((_request, response) => response.end(jwks));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const venue = await startVenue({
    auth: {
      public: { enabled: false },
      issuers: [{ issuer, jwks: `${issuer}/jwks`, audience: ["bench"], map: [{ when: {}, caps: CAPS }] }],
    },
    file: { roots: { docs: temporaryDirectory({ "a.txt": "alpha" }) } },
  });
  const claims = { sub: "ann", scope: "files:read", jti: "1", client_id: "bench", email: "ann@bench.example" };
  const token = await new SignJWT({ ...claims, iss: issuer, aud: "bench" })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "1" })
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(privateKey);
  const url = `${venue.url}/api/v1/invoke`;
  const body = invocation("stat", { root: "docs", path: "a.txt" });
  const callBy = (bearer) => ({ headers: { ...JSON_TYPE, authorization: `Bearer ${bearer}` }, body });
  for (const bearer of [venue.token, token]) {
    const answer = await fetch(url, { method: "POST", ...callBy(bearer) });
    expectThat(/"size":\s*5/.test(await answer.text()), "Wrong answer");
    await fire(url, { ...callBy(bearer), duration: warmUp });
  }
  const { byIssuer, byStatic } = await inTurns(rounds, {
    byIssuer: () => fire(url, { ...callBy(token), duration }),
    byStatic: () => fire(url, { ...callBy(venue.token), duration }),
  });
  await venue.stop();
  server.close();
  const [issued, known] = [byIssuer, byStatic].map((found) => found.map(({ perSecond }) => perSecond));
  row({
    what: "`file:stat` with a known token of an outside issuer, of the time with a static token",
    beside: `${shown(median(issued))} a second, with a static token ${shown(median(known))}`,
    ...{ value: median(ratios(known, issued)), unit: "x", most: 1.3 },
  });
}
