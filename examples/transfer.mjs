// A file of any size over HTTP: uploaded as a stream, continued after a broken download, replaced only if nobody else has
// changed it. Run: node examples/transfer.mjs
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createVenue } from "venue-files";

const venue = await createVenue({ port: 0, file: { roots: { tmp: { temp: true } } } });
const { url } = await venue.listen();
const address = `${url}/api/v1/files/tmp/in/video.bin`;
const content = randomBytes(2 ** 21);
try {
  const stored = await fetch(`${address}?parents=true`, { method: "PUT", body: content });
  assert.equal(stored.status, 201);

  const half = content.length / 2;
  const rest = await fetch(address, { headers: { Range: `bytes=${half}-` } });
  console.log(rest.status, rest.headers.get("content-range"));
  assert.deepEqual(Buffer.from(await rest.arrayBuffer()), content.subarray(half));

  const etag = rest.headers.get("etag");
  const replace = () => fetch(address, { method: "PUT", body: "short", headers: { "If-Match": etag } });
  const [first, second] = [await replace(), await replace()];
  console.log(`replaced: ${first.status}, again with the old etag: ${second.status}`);
  assert.deepEqual([first.status, second.status], [204, 412]);
} finally {
  await venue.close();
}
