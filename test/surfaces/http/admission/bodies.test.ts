import { execFile, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { MemoryLease } from "../../../../src/core/memory.js";
import { Pace } from "../../../../src/surfaces/http/admission/body-pace.js";
import { linger } from "../../../../src/surfaces/http/admission/connections.js";
import { needs } from "../../../needs.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome, sendAsIs } from "../client.js";
import {
  type Answer,
  as,
  closeAll,
  postInvoke,
  postText,
  rawRequest,
  readAnswer,
  type Served,
  sendRaw,
  serve,
} from "../fixture.js";

afterAll(closeAll);
const JSON_TYPE = { "Content-Type": "application/json" };
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a request body", () => {
  const LIMIT = 200_000;
  let served: Served;
  beforeAll(async () => {
    served = await serve(
      { read: (input) => input },
      {
        http: { maxRequestBytes: LIMIT },
        mcp: async () => ({ serve: async ({ body }) => ({ status: 200, message: Object(body) }) }),
      },
    );
  });

  const raw = (line: string, headers: Record<string, string> = {}, body = ""): Promise<Answer> =>
    sendRaw(served.port, rawRequest(line, headers, body));

  const body = '{"operation":"file:read"}';

  test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", 'application/json;a="b"'])(
    "of %s is read",
    async (type) => {
      expect((await raw("POST /api/v1/invoke", { "Content-Type": type }, body)).status).toBe(201);
    },
  );

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/json5", "application/jsonx", "json", ""])(
    "of %j is 415",
    async (type) => {
      for (const path of ["/api/v1/invoke", "/mcp"]) {
        const answer = await raw(`POST ${path}`, { "Content-Type": type }, body);
        expect([answer.status, answer.body]).toEqual([415, '{"error":"Content-Type must be application/json"}']);
      }
    },
  );

  test("of no type is 415", async () => {
    expect((await raw("POST /api/v1/invoke", {}, body)).status).toBe(415);
  });

  test.each(["gzip", "br", "identity, gzip", "GZIP", "a\tb"])(
    "coded as %j is 415, named, and not read",
    async (coding) => {
      const headers = { "Content-Type": "application/json", "Content-Encoding": coding, "Content-Length": "1000" };
      for (const line of ["POST /api/v1/invoke", "POST /mcp", "PUT /api/v1/assets/00/content"]) {
        const answer = await raw(line, headers);
        expect(answer.status).toBe(415);
        expect(JSON.parse(answer.body)).toEqual({
          error: `Content-Encoding '${coding.replace("\t", "\\u{9}")}' is not supported. Send the body without Content-Encoding`,
        });
        expect(answer.headers.get("accept-encoding")).toBe("identity");
      }
    },
  );

  test.each(["identity", "Identity", "identity, identity"])("coded as %j is read", async (coding) => {
    const headers = { "Content-Type": "application/json", "Content-Encoding": coding };
    expect((await raw("POST /api/v1/invoke", headers, body)).status).toBe(201);
  });

  test.each([
    ["JSON", body],
    ["JSON with white space", `\n ${body} \n`],
    ["JSON5", "{operation: 'file:read', /* why */ input: {hex: 0x10,},}"],
  ])("may be %s", async (_name, text) => {
    expect((await postText(served, "/api/v1/invoke", text)).status).toBe(201);
  });

  test.each([
    ["cut off", '{"operation":', "JSON5: invalid end of input"],
    ["no JSON", "hello", "invalid character 'h' at 1:1"],
    ["two values", "{} {}", "invalid character '{' at 1:4"],
    ["empty", "", "the body is empty"],
    ["white space", "   ", "invalid end of input at 1:4"],
  ])("that is %s is 400 with the reason", async (_name, text, reason) => {
    const answer = await outcome(postText(served, "/api/v1/invoke", text));
    expect(answer.status).toBe(400);
    const { error } = answer.body as { error: string };
    expect(error).toMatch(/^Invalid JSON: \S/);
    expect(error).toContain(reason.replace("JSON5: ", ""));
  });

  test.each(["Infinity", "-Infinity", "NaN", "1e400"])("of JSON5 with %s is 400, and no null", async (number) => {
    const text = `{operation:'file:read', input:{value:[${number}]}}`;
    expect(await outcome(postText(served, "/api/v1/invoke", text))).toEqual({
      status: 400,
      body: { error: "Invalid JSON: Infinity and NaN are no JSON, nor are numbers that large. Send a string" },
    });
  });

  test("is not repaired when it is not UTF-8", async () => {
    const head = rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json", "Content-Length": "4" });
    const answer = await sendRaw(
      served.port,
      Buffer.concat([Buffer.from(head), Buffer.from([0x22, 0xff, 0xfe, 0x22])]),
    );
    expect([answer.status, answer.body]).toEqual([400, '{"error":"Invalid JSON: not valid UTF-8"}']);
  });

  test("over 64 KB is strict JSON only", async () => {
    const padded = (bytes: number) => `{operation: 'file:read'}${" ".repeat(bytes - 24)}`;
    expect((await postText(served, "/api/v1/invoke", padded(65_536))).status).toBe(201);
    expect((await postText(served, "/api/v1/invoke", padded(65_537))).status).toBe(400);
  });

  test("of /mcp is strict JSON only", async () => {
    expect(await outcome(postText(served, "/mcp", '{"a":1}'))).toEqual({ status: 200, body: { a: 1 } });
    const answer = await outcome(postText(served, "/mcp", "{a:1}"));
    expect(answer).toEqual({
      status: 400,
      body: {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: expect.stringMatching(/^Invalid JSON: \S/) },
      },
    });
    expect(await outcome(postText(served, "/mcp", ""))).toMatchObject({
      status: 400,
      body: { error: { code: -32700 } },
    });
  });

  test("of exactly the limit is read, and one byte more is 413", async () => {
    const padded = (bytes: number) => body + " ".repeat(bytes - body.length);
    expect((await postText(served, "/api/v1/invoke", padded(LIMIT))).status).toBe(201);
    const over = await raw("POST /api/v1/invoke", { "Content-Type": "application/json" }, padded(LIMIT + 1));
    expect([over.status, over.body]).toEqual([413, `{"error":"Request too large: limit ${LIMIT} bytes"}`]);
  });

  test("announced too long is 413 before it is sent", async () => {
    const headers = { "Content-Type": "application/json", "Content-Length": `${LIMIT + 1}` };
    for (const path of ["/api/v1/invoke", "/mcp"]) expect((await raw(`POST ${path}`, headers)).status).toBe(413);
  });

  test("that grows too long is 413 while it is being sent", async () => {
    const socket = connect(served.port, "127.0.0.1");
    const headers = { "Content-Type": "application/json", "Transfer-Encoding": "chunked" };
    socket.write(rawRequest("POST /api/v1/invoke", headers));
    const chunk = `${(50_000).toString(16)}\r\n${" ".repeat(50_000)}\r\n`;
    // No last chunk ever: the answer cannot wait for the end.
    for (let i = 0; i < 5; i += 1) socket.write(chunk);
    const answer = await readAnswer(socket);
    expect(answer.status).toBe(413);
    expect(answer.headers.get("connection")).toBe("close");
    socket.destroy();
  });

  test("shorter than announced never becomes a job", async () => {
    const before = served.adapter.calls.length;
    const socket = connect(served.port, "127.0.0.1");
    socket.end(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json", "Content-Length": "99" }, body));
    socket.resume();
    await once(socket, "close");
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    expect(served.adapter.calls.length).toBe(before);
    expect(served.logged).toEqual([]);
  });
});

const RULE = { graceMs: 5000, windowMs: 15_000, bytesPerSecond: 1024 };

/** The look at which a body is found too slow, when so many bytes come between two of them. */
function tooSlowAt(bytesAtLook: (look: number) => number, looks: number): number | undefined {
  const pace = new Pace(RULE);
  let bytes = 0;
  for (let look = 0; look < looks; look += 1) {
    bytes += bytesAtLook(look);
    if (pace.isTooSlow(bytes, true)) return look;
  }
  return undefined;
}

describe("the pace of a body", () => {
  test("is an average: what comes in bursts is not too slow", () => {
    expect(tooSlowAt(() => 1024, 600)).toBeUndefined();
    expect(tooSlowAt((look) => (look % 15 === 0 ? 15 * 1024 : 0), 600)).toBeUndefined();
  });

  test("is judged once a whole window has passed", () => {
    expect(tooSlowAt(() => 0, 600)).toBe(15);
    expect(tooSlowAt(() => 1023, 600)).toBe(15);
  });

  test("is judged over and over: what came in time at first does not help later", () => {
    expect(tooSlowAt((look) => (look < 100 ? 100_000 : 0), 600)).toBe(114);
  });

  test("says nothing of a sender whose bytes are not taken", () => {
    const pace = new Pace(RULE);
    for (let look = 0; look < 100; look += 1) expect(pace.isTooSlow(0, false)).toBe(false);
    for (let look = 0; look < 14; look += 1) expect(pace.isTooSlow(0, true)).toBe(false);
    expect(pace.isTooSlow(0, true)).toBe(true);
  });
});

describe("a body that does not come", () => {
  const timeouts = { pace: { graceMs: 20, windowMs: 60, bytesPerSecond: 1024 } };
  const headers = { "Content-Type": "application/json" };

  test.each([
    ["of announced length", { ...headers, "Content-Length": "100000" }],
    ["in chunks", { ...headers, "Transfer-Encoding": "chunked" }],
  ])("ends its connection with 408: %s", async (_name, announced) => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(rawRequest("POST /api/v1/invoke", announced));
    expect((await readAnswer(socket)).status).toBe(408);
    await once(socket, "close");
  });

  test("ends its connection also where several begin together and some are complete", async () => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const body = JSON.stringify({ operation: "file:read" });
    const send = (sent: string) => {
      const socket = connect(served.port, "127.0.0.1");
      socket.write(`${rawRequest("POST /api/v1/invoke", { ...headers, "Content-Length": `${body.length}` })}${sent}`);
      return readAnswer(socket);
    };
    const answers = await Promise.all(["", body, body.slice(1), "", body].map(send));
    expect(answers.map(({ status }) => status)).toEqual([408, 201, 408, 408, 201]);
  });

  test("is not one that comes as fast as it must, however long it takes", async () => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const socket = connect(served.port, "127.0.0.1");
    const body = JSON.stringify({ operation: "file:read", input: { text: "x".repeat(2000) } });
    socket.write(rawRequest("POST /api/v1/invoke", { ...headers, "Content-Length": `${body.length}` }));
    const answer = readAnswer(socket);
    for (let at = 0; at < body.length; at += 50) {
      socket.write(body.slice(at, at + 50));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await answer).status).toBe(201);
  });
});

describe("a body that is not wanted", () => {
  const run = promisify(execFile);
  const LIMIT = 100_000;
  /** More than any buffer between two processes takes. */
  const SENT = 12_000_000;
  const TEXT = `Request too large: limit ${LIMIT} bytes`;

  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: () => 1 }, { http: { maxRequestBytes: LIMIT } });
  });

  const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
  const PYTHON = needs(has("python3"), "what Python's urllib sees of an answer before its body is whole needs python3");
  const CURL = needs(has("curl"), "what curl sees of an answer before its body is whole needs curl");

  /** Sends everything before it looks for an answer, as many clients do. */
  const URLLIB = `
import sys, urllib.request, urllib.error
url, size = sys.argv[1], int(sys.argv[2])
chunked = len(sys.argv) > 3
data = (b" " * 65536 for _ in range(size // 65536)) if chunked else b" " * size
asked = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"}, method="POST")
try:
    print(urllib.request.urlopen(asked).status)
except urllib.error.HTTPError as error:
    print(error.code, error.headers["Connection"], error.read().decode())
`;

  describe("a body over the limit is answered 413, also for a client that sends on", () => {
    PYTHON.each([
      ["with a length", []],
      ["in chunks", ["chunked"]],
    ])("Python's urllib, %s", async (_name, more) => {
      for (let round = 0; round < 2; round += 1) {
        const { stdout } = await run("python3", ["-c", URLLIB, `${served.url}/api/v1/invoke`, `${SENT}`, ...more]);
        expect(stdout.trim()).toBe(`413 close {"error":"${TEXT}"}`);
      }
    });

    CURL("curl, which asks before it sends, and does not send then", async () => {
      const args = ["-sS", "-o", "-", "-w", "\n%{http_code} %{size_upload}", "--data-binary", "@-"];
      const sending = run("curl", [...args, "-H", "Content-Type: application/json", `${served.url}/api/v1/invoke`]);
      sending.child.stdin?.end(Buffer.alloc(SENT, " "));
      const [body, code] = (await sending).stdout.split("\n");
      expect([body, code]).toEqual([`{"error":"${TEXT}"}`, "413 0"]);
    });

    CURL("curl, which does not ask", async () => {
      const args = ["-sS", "-o", "-", "-w", "\n%{http_code}", "--data-binary", "@-", "-H", "Expect:"];
      const sending = run("curl", [...args, "-H", "Content-Type: application/json", `${served.url}/api/v1/invoke`]);
      sending.child.stdin?.on("error", () => {}).end(Buffer.alloc(SENT, " "));
      const [body, code] = (await sending).stdout.split("\n");
      expect([body, code]).toEqual([`{"error":"${TEXT}"}`, "413"]);
    });

    test.each([
      ["with a length", { "Content-Length": SENT }],
      ["in chunks", { "Transfer-Encoding": "chunked" }],
    ])("node:http, %s", async (_name, headers) => {
      const raw = { path: "/api/v1/invoke", method: "POST", headers: { ...JSON_TYPE, ...headers } };
      for (let round = 0; round < 4; round += 1) {
        const { status, body } = await sendAsIs(served.url, { ...raw, body: Buffer.alloc(SENT, " ") });
        expect([status, body.toString()]).toEqual([413, JSON.stringify({ error: TEXT })]);
      }
    });

    test("fetch", async () => {
      for (let round = 0; round < 4; round += 1) {
        const body = Buffer.alloc(SENT, " ");
        const answer = await fetch(`${served.url}/api/v1/invoke`, { method: "POST", headers: JSON_TYPE, body });
        expect([answer.status, await answer.json()]).toEqual([413, { error: TEXT }]);
      }
    });
  });

  describe("after an answer before the body", () => {
    const announced = { ...JSON_TYPE, "Content-Length": "50000000" };

    test("our side of the connection ends at once, and what still arrives is taken", async () => {
      const socket = connect({ port: served.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.write(rawRequest("POST /api/v1/invoke", announced));
      const ended = once(socket, "end");
      expect((await readAnswer(socket)).status).toBe(413);
      await ended;
      for (let sent = 0; sent < 50_000_000; sent += 500_000) {
        if (!socket.write(Buffer.alloc(500_000, " "))) await once(socket, "drain");
      }
      socket.end();
      await once(socket, "close");
      expect(socket.errored).toBeNull();
    });

    test("nothing is run that comes behind it", async () => {
      const before = served.adapter.calls.length;
      const small = '{"operation":"file:read"}';
      const socket = connect({ port: served.port, host: "127.0.0.1", allowHalfOpen: true });
      const chunked = { ...JSON_TYPE, "Transfer-Encoding": "chunked" };
      socket.write(rawRequest("POST /api/v1/invoke", chunked));
      socket.write(`${(LIMIT + 1).toString(16)}\r\n${" ".repeat(LIMIT + 1)}\r\n`);
      expect((await readAnswer(socket)).status).toBe(413);
      socket.on("error", () => {});
      socket.end(`0\r\n\r\n${rawRequest("POST /api/v1/invoke", JSON_TYPE, small)}`);
      await once(socket, "close");
      expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
      expect(served.adapter.calls.length).toBe(before);
    });

    PYTHON("urllib gets any other refusal too, since it asks for the end of each connection", async () => {
      const { stdout } = await run("python3", ["-c", URLLIB, `${served.url}/nope`, `${SENT}`]);
      expect(stdout.trim()).toBe('404 close {"error":"Endpoint POST /nope not found"}');
    });
  });

  describe("a client that waits for 100-continue", () => {
    const expecting = { ...JSON_TYPE, Expect: "100-continue" };
    const body = '{"operation":"file:read"}';

    /** All that comes on a connection, until it has ended or the text is there. */
    async function readUntil(socket: ReturnType<typeof connect>, text: string): Promise<string> {
      let received = "";
      for await (const chunk of socket.setEncoding("latin1").iterator({ destroyOnReturn: false })) {
        received += chunk;
        if (received.includes(text)) break;
      }
      return received;
    }

    test("is told to go on once it is admitted", async () => {
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest("POST /api/v1/invoke", { ...expecting, "Content-Length": `${body.length}` }));
      expect(await readUntil(socket, "\r\n\r\n")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
      socket.write(body);
      expect(await readUntil(socket, "COMPLETE")).toMatch(/^HTTP\/1\.1 201 /);
      socket.destroy();
    });

    test.each<[string, string, Record<string, string>, number]>([
      ["too much", "POST /api/v1/invoke", { "Content-Length": `${LIMIT + 1}` }, 413],
      ["a bad token", "POST /api/v1/invoke", { "Content-Length": "10", Authorization: "Bearer x" }, 401],
      ["no endpoint", "POST /nope", { "Content-Length": "10" }, 404],
      ["an encoding", "POST /api/v1/invoke", { "Content-Length": "10", "Content-Encoding": "br" }, 415],
      ["a bad type", "POST /api/v1/invoke", { "Content-Length": "10", "Content-Type": "a/b" }, 415],
      ["no asset", "PUT /api/v1/assets/00/content", { "Content-Length": "10" }, 400],
    ])("is not told so when it is refused for %s, and the connection ends", async (_name, line, headers, status) => {
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest(line, { ...expecting, ...headers }));
      const received = await readUntil(socket, "}");
      expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(received.toLowerCase()).toContain("\r\nconnection: close\r\n");
      socket.destroy();
    });
  });
});

const MEBI = 1 << 20;

/** A request whose body does not end. `answer` is what Node does when the last answer of the connection is written. */
function sendingOn() {
  const destroySoon = jest.fn();
  const socket = { destroySoon, end: jest.fn() };
  const body = { complete: false, destroyed: false, headers: { "content-length": "1000000000" }, socket };
  const request = Object.assign(new EventEmitter(), { ...body, resume: jest.fn() });
  const arrive = (mebis: number): void => {
    for (let at = 0; at < mebis; at += 1) request.emit("data", Buffer.alloc(MEBI));
  };
  const seen = () => ({ ended: socket.end.mock.calls.length, closed: destroySoon.mock.calls.length });
  linger(request as unknown as Parameters<typeof linger>[0]);
  return { request, arrive, seen, answer: () => socket.destroySoon() };
}

describe("a body that goes on arriving after the answer", () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  test("is read, with our side ended, for 10 seconds", () => {
    const { request, answer, seen } = sendingOn();
    expect(request.resume).toHaveBeenCalled();
    answer();
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    jest.advanceTimersByTime(9_999);
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    jest.advanceTimersByTime(1);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("is read up to 64 MiB", () => {
    const { answer, arrive, seen } = sendingOn();
    answer();
    arrive(64);
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    arrive(1);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("counts with what came before the answer", () => {
    const { answer, arrive, seen } = sendingOn();
    arrive(65);
    expect(seen()).toEqual({ ended: 0, closed: 0 });
    answer();
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("is over when it ends", () => {
    const { request, answer, seen } = sendingOn();
    answer();
    request.emit("end");
    expect(seen()).toEqual({ ended: 1, closed: 1 });
    jest.advanceTimersByTime(20_000);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });
});

const bodyOf = (bytes: number): string =>
  JSON.stringify({ operation: "file:read", input: { text: "x".repeat(bytes) } });
const invoke = (served: Served, bytes: number) => postInvoke(served, bodyOf(bytes));
/** The same as somebody who has a share of its own. */
const invokeAs = (served: Served, who: Parameters<typeof as>[0], bytes: number) =>
  postText(served, "/api/v1/invoke", bodyOf(bytes), as(who));

/** Sends the beginning of a request and no more. */
async function begin(port: number, headers: Record<string, string>, start: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...headers }, ""));
  socket.write(start);
  return socket;
}

describe("requests that announce much and send nothing", () => {
  test.each([
    ["by a length", { "Content-Length": "16777216" }],
    ["in chunks", { "Transfer-Encoding": "chunked" }],
  ])("keep nobody else out: announced %s", async (_name, announced) => {
    const http = { maxRequestBytes: 16_777_216, maxInFlightBytes: 16_777_216 };
    const served = await serve({ read: () => 1 }, { http });
    const idle = await Promise.all(Array.from({ length: 100 }, () => begin(served.port, announced, "")));
    const statuses = await Promise.all([10, 1000, 60_000, 500_000].map(async (n) => (await invoke(served, n)).status));
    expect(statuses).toEqual([201, 201, 201, 201]);
    for (const socket of idle) socket.destroy();
  });
});

describe("a venue whose memory is taken by requests", () => {
  test("refuses more, before anything is run, until there is room again", async () => {
    const held = gate();
    const started = gate();
    const served = await serve(
      {
        read: () => 1,
        hold: () => {
          started.open(1);
          return held.promise;
        },
      },
      { http: { maxInFlightBytes: 400_000 }, jobs: { inlineWaitMs: 4000 } },
    );
    const body = { operation: "file:hold", input: { text: "x".repeat(80_000) } };
    const first = postInvoke(served, body);
    await started.promise;
    const refused = await invoke(served, 70_000);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
      429,
      "1",
      "close",
    ]);
    expect(served.adapter.calls).toHaveLength(1);
    // What is small goes on, and so do others, who have a share of their own.
    expect((await invoke(served, 60_000)).status).toBe(201);
    expect((await invokeAs(served, "alice", 70_000)).status).toBe(201);
    held.open("done");
    expect((await first).status).toBe(201);
    expect((await invoke(served, 70_000)).status).toBe(201);
  });

  test("lets the newest bodies go that are not whole, and keeps the oldest", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxInFlightBytes: 800_000 } });
    const body = bodyOf(180_000);
    const announced = { "Content-Length": `${body.length}` };
    const oldest = await begin(served.port, announced, body.slice(0, 120_000));
    // Until all that was sent is there, another would be the oldest.
    while ((await invoke(served, 90_000)).status !== 429) await turn();
    const newest = await begin(served.port, announced, body.slice(0, 70_000));
    const answer = readAnswer(oldest);
    oldest.write(body.slice(120_000));
    expect((await answer).status).toBe(201);
    newest.destroy();
  });

  test("has room again when a sender goes away in the middle", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxInFlightBytes: 400_000 } });
    const socket = await begin(served.port, { "Content-Length": "95000" }, "x".repeat(90_000));
    while ((await invoke(served, 70_000)).status !== 429) await turn();
    socket.destroy();
    while ((await invoke(served, 70_000)).status !== 201) await turn();
    expect((await sendRaw(served.port, rawRequest("GET /api/v1/status"))).status).toBe(200);
  });
});

test("a connection without a byte in either direction is ended", async () => {
  const served = await serve({}, { http: { timeouts: { idleMs: 50 } } });
  const socket = connect(served.port, "127.0.0.1");
  socket.resume();
  // What the server has not read when it closes makes it a reset.
  socket.on("error", () => {});
  socket.write("GET /api/v1/status HTTP/1.1\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  expect(socket.bytesRead).toBe(0);
});

/** More than the system takes of an answer that nobody reads. */
const BIG = 16_000_000;
const CONTENT = 'ä"\n'.padEnd(BIG, "x");

/** A venue whose reads hold what they answer, and what has been begun and made there. */
async function serveLarge(): Promise<Served & { made: () => number; begun: () => number }> {
  let made = 0;
  let begun = 0;
  const read = async (_input: unknown, { memory }: { memory?: unknown }) => {
    begun += 1;
    await (memory as MemoryLease).hold(BIG);
    made += 1;
    return { content: CONTENT };
  };
  const served = await serve(
    { read, stat: () => ({ size: 1 }) },
    { http: { maxInFlightBytes: 4 * BIG }, jobs: { maxBytes: 40_000_000, inlineWaitMs: 4000 } },
  );
  return { ...served, made: () => made, begun: () => begun };
}

const CALL = '{"operation":"file:read"}';
const ask = async (port: number) => {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json" }, CALL));
  return socket;
};

describe("a large answer", () => {
  test("is that of the operation, byte for byte, as invoke, run and the record give it", async () => {
    const served = await serveLarge();
    const invoked = await outcome(postInvoke(served, CALL));
    expect(invoked).toMatchObject({ status: 201, body: { status: "COMPLETE", output: { content: CONTENT } } });
    expect(await outcome(postText(served, "/api/v1/run", CALL))).toEqual({ status: 200, body: { content: CONTENT } });
    const { id } = invoked.body as { id: string };
    const kept = await fetch(`${served.url}/api/v1/jobs/${id}`);
    expect(kept.headers.get("content-type")).toBe("application/json");
    expect(await kept.json()).toEqual(invoked.body);
    const head = await fetch(`${served.url}/api/v1/jobs/${id}`, { method: "HEAD" });
    expect([head.status, Number(head.headers.get("content-length"))]).toEqual([
      200,
      Buffer.byteLength(JSON.stringify(invoked.body)),
    ]);
  });

  test("is made only when those before it have been taken, and small ones go on meanwhile", async () => {
    const served = await serveLarge();
    const sockets = await Promise.all(Array.from({ length: 3 }, () => ask(served.port)));
    while (served.begun() < 3) await turn();
    for (let n = 0; n < 50; n += 1) await turn();
    // One sender has a quarter, which is one answer.
    expect(served.made()).toBe(1);
    expect((await postInvoke(served, '{"operation":"file:stat"}')).status).toBe(201);
    for (const socket of sockets) socket.on("data", () => {}).on("end", () => socket.destroy());
    while (served.made() < 3) await turn();
    for (const socket of sockets) socket.destroy();
  });

  test("whose client goes makes room", async () => {
    const served = await serveLarge();
    const first = await ask(served.port);
    while (served.made() < 1) await turn();
    const second = await ask(served.port);
    while (served.begun() < 2) await turn();
    first.destroy();
    const answer = readAnswer(second);
    expect((await answer).status).toBe(201);
    expect(served.made()).toBe(2);
    second.destroy();
  });
});
