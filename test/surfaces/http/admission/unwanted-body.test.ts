import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { needs } from "../../../needs.js";
import { closeAll, rawRequest, readAnswer, type Served, serve } from "../fixture.js";

const run = promisify(execFile);
const LIMIT = 100_000;
/** More than any buffer between two processes takes. */
const SENT = 12_000_000;
const TEXT = `Request too large: limit ${LIMIT} bytes`;
const JSON_TYPE = { "Content-Type": "application/json" };

let served: Served;
beforeAll(async () => {
  served = await serve({ read: () => 1 }, { http: { maxRequestBytes: LIMIT } });
});
afterAll(closeAll);

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

/** With `node:http`; resolves with the answer, whatever becomes of the sending. */
function viaNode(headers: Record<string, string | number>): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    let answer: { status: number | undefined; body: string } | undefined;
    const sending = request(`${served.url}/api/v1/invoke`, { method: "POST", headers: { ...JSON_TYPE, ...headers } });
    sending.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      response.once("end", () => {
        answer = { status: response.statusCode, body };
        resolve(answer);
      });
    });
    sending.on("error", (error) => (answer === undefined ? reject(error) : undefined));
    sending.end(Buffer.alloc(SENT, " "));
  });
}

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
    for (let round = 0; round < 4; round += 1) {
      expect(await viaNode(headers)).toEqual({ status: 413, body: JSON.stringify({ error: TEXT }) });
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
