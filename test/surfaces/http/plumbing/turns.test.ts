import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { Connections } from "../../../../src/surfaces/http/admission/connections.js";
import { createNodeServer, DEFAULT_TIMEOUTS } from "../../../../src/surfaces/http/plumbing/node-server.js";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Handling {
  /** How long each request keeps the server busy. */
  readonly busyMs?: () => number;
  /** Sees each request when it arrives. */
  readonly onArrival?: (request: IncomingMessage) => void;
}

/** A client connection: sends requests in one piece, and resolves with what the server noted once all are answered. */
type Send = (names: readonly string[]) => Promise<string[]>;

/** A server that notes when it begins and ends to work on each request, in two steps of a promise. @returns connects to it */
async function serve({ busyMs = () => 0, onArrival = () => {} }: Handling): Promise<(credential?: string) => Send> {
  const notes: string[] = [];
  const server = createNodeServer(
    async (request, response) => {
      notes.push(`begin ${request.url}`);
      const until = performance.now() + busyMs();
      while (performance.now() < until);
      await undefined;
      notes.push(`end ${request.url}`);
      response.end("done");
    },
    { timeouts: DEFAULT_TIMEOUTS, connections: new Connections() },
  );
  server.prependListener("request", onArrival);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return (credential) => {
    const head = `HTTP/1.1\r\nHost: x\r\n${credential === undefined ? "" : `Authorization: ${credential}\r\n`}\r\n`;
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    closing.push(() => socket.destroy());
    return async (names) => {
      notes.length = 0;
      socket.write(names.map((name) => `GET /${name} ${head}`).join(""));
      let text = "";
      while (text.split("done").length <= names.length) {
        text += await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString("latin1"))));
      }
      return [...notes];
    };
  };
}

test("of many, the first is answered before the last begins", async () => {
  const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
  const notes = await (await serve({}))()(names);
  expect(notes.filter((note) => note.startsWith("end"))).toEqual(names.map((name) => `end /${name}`));
  expect(notes.indexOf("end /n0")).toBeLessThanOrEqual(32);
});

test.each([
  ["with its own credential waits for one of each", "Bearer b", [0, 1, 2]],
  ["with the same credential waits for all that came before", "Bearer a", [40]],
])("beside many requests of a client, another's %s", async (_name, credential, places) => {
  const open = await serve({ busyMs: () => 3 });
  const [many, other] = [open("Bearer a"), open(credential)];
  // The connections are open.
  await many(["a"]);
  await other(["b"]);
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  const flood = many(names);
  const beginning = (notes: readonly string[]) => notes.filter((note) => note.startsWith("begin")).indexOf("begin /b");
  expect(places).toContain(beginning(await other(["b"])));
  await flood;
});

test("a request whose client has gone before it is handled harms no other one", async () => {
  const onArrival = ({ url, socket }: IncomingMessage) => void (url === "/gone" && socket.destroy());
  const open = await serve({ onArrival });
  const [gone, other] = [open(), open()];
  void gone(["gone"]);
  for (const name of ["b", "c"]) expect(await other([name])).toContain(`end /${name}`);
});
