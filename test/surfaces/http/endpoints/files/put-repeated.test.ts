import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, type Venue } from "../../../../../src/index.js";
import { send } from "../../client.js";

const TOKENS = { alice: "a".repeat(32), bob: "b".repeat(32) };
const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-repeated-")));
let venue: Venue;
let url: string;

beforeAll(async () => {
  mkdirSync(join(base, "docs"));
  for (const [name, token] of Object.entries(TOKENS))
    writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
  const caps = [{ with: "file://docs/", can: "crud" }];
  venue = await createVenue(
    {
      ...{ port: 0, stateDir: "state", file: { roots: { docs: { path: "docs" } } } },
      auth: {
        tokens: Object.keys(TOKENS).map((name) => ({ name, token: { file: `${name}.token` }, caps })),
        public: { enabled: true, caps },
      },
    },
    { baseDir: base },
  );
  ({ url } = await venue.listen());
});
afterAll(async () => {
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

const inodeOf = (name: string) => statSync(join(base, "docs", name)).ino;

async function put(name: string, body: string, headers: Record<string, string>, caller: keyof typeof TOKENS = "alice") {
  const answer = await send(`${url}/api/v1/files/docs/${name}`, {
    token: TOKENS[caller],
    method: "PUT",
    body,
    headers,
  });
  const text = await answer.text();
  return { status: answer.status, etag: answer.headers.get("etag"), body: text === "" ? undefined : JSON.parse(text) };
}

describe("PUT with Idempotency-Key", () => {
  test("puts the file once, and answers a repeat as the first", async () => {
    const first = await put("a.txt", "one", { "idempotency-key": "k1" });
    const inode = inodeOf("a.txt");
    expect(first.status).toBe(201);
    expect(await put("a.txt", "one", { "idempotency-key": '"k1"' })).toEqual(first);
    expect(inodeOf("a.txt")).toBe(inode);
    expect((await put("a.txt", "one", {})).status).toBe(204);
    expect(inodeOf("a.txt")).not.toBe(inode);
  });

  test("keeps a condition that was true the first time true", async () => {
    const headers = { "idempotency-key": "k2", "if-none-match": "*" };
    expect((await put("b.txt", "one", headers)).status).toBe(201);
    expect((await put("b.txt", "one", headers)).status).toBe(201);
    expect((await put("b.txt", "one", { "if-none-match": "*" })).status).toBe(412);
  });

  test.each([
    ["another body of that length", "c.txt", "two", {}],
    ["a longer body", "c.txt", "one and more", {}],
    ["another file", "d.txt", "one", {}],
    ["a condition", "c.txt", "one", { "if-none-match": "*" }],
  ])("is a conflict for %s", async (_what, name, body, headers) => {
    await put("c.txt", "one", { "idempotency-key": "k3" });
    expect(await put(name, body, { "idempotency-key": "k3", ...headers })).toMatchObject({
      status: 412,
      body: { errorCode: "CONFLICT", errorData: { operationId: "k3" } },
    });
    expect(readFileSync(join(base, "docs/c.txt"), "utf8")).toBe("one");
  });

  test("belongs to its caller, and is refused without one", async () => {
    await put("e.txt", "one", { "idempotency-key": "k4" });
    expect((await put("e.txt", "two", { "idempotency-key": "k4" }, "bob")).status).toBe(204);
    const anonymous = await fetch(`${url}/api/v1/files/docs/e.txt`, {
      ...{ method: "PUT", body: "three", headers: { "idempotency-key": "k4" } },
    });
    expect([anonymous.status, ((await anonymous.json()) as { errorCode: string }).errorCode]).toEqual([
      400,
      "INVALID_INPUT",
    ]);
    expect(readFileSync(join(base, "docs/e.txt"), "utf8")).toBe("two");
  });

  test.each(["", "a b", "x".repeat(65), '"open'])("has a key of a few characters only: %j", async (key) => {
    expect((await put("f.txt", "one", { "idempotency-key": key })).status).toBe(400);
  });

  test("has one effect when equal uploads race", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => put("g.txt", "x".repeat(200_000), { "idempotency-key": "k5" })),
    );
    expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 201 })));
  });

  test("can be made again after a connection that broke in the middle", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const head = ["PUT /api/v1/files/docs/h.txt HTTP/1.1", "Host: 127.0.0.1", `Authorization: Bearer ${TOKENS.alice}`];
    socket.write([...head, "Idempotency-Key: k6", "Content-Length: 3", "", "on"].join("\r\n"));
    const repeat = put("h.txt", "one", { "idempotency-key": "k6" });
    setTimeout(() => socket.destroy(), 50);
    expect((await repeat).status).toBe(201);
    expect(readFileSync(join(base, "docs/h.txt"), "utf8")).toBe("one");
  });
});
