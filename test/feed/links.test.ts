// A reader that stays on a path over links is told of the place that they lead to, as file:watch is.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createFileAdapter, createVenue } from "../../src/index.js";
import { inArena } from "../jail/arena.js";
import { ROOT } from "../jail/files.js";

const onLinks = (work: (root: string, outside: string) => Promise<void>): Promise<void> =>
  inArena(async ({ root, outside }) => {
    mkdirSync(join(root, "real/sub"), { recursive: true });
    writeFileSync(join(root, "real/sub/file"), "0");
    symlinkSync("real", join(root, "link"));
    symlinkSync(outside, join(root, "out"));
    await work(root, outside);
  });

test.each(["link", "link/sub", "link/sub/file"])("the library's watch of %s", (path) =>
  onLinks(async (root) => {
    const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, durability: "none" } } });
    try {
      const changes = adapter.watch({ root: ROOT, path })[Symbol.asyncIterator]();
      const next = changes.next();
      await adapter.invoke("file:watch", { root: ROOT, path });
      await adapter.invoke("file:write", { root: ROOT, path: "real/sub/file", content: "1" });
      expect((await next).value).toMatchObject({ type: "modified", path: "real/sub/file" });
      await changes.return?.(undefined);
    } finally {
      await adapter.close();
    }
  }),
);

/** Events of a topic, told by the path in each, while `act` runs; it ends with a change at `end`. */
async function told(
  root: string,
  { topic, caps = ["file://r/"] }: { topic: string; caps?: readonly string[] },
  act: (write: (path: string) => Promise<void>) => Promise<void>,
): Promise<string> {
  const venue = await createVenue({
    ...{ port: 0, file: { roots: { r: { path: root, journal: "off" } } }, assets: { write: "operator" } },
    auth: { public: { enabled: true, caps: caps.map((of) => ({ with: of, can: "crud" })) } },
  });
  try {
    const { url } = await venue.listen();
    const stop = new AbortController();
    const stream = await fetch(`${url}/api/v1/events?topic=${topic}&topic=files:r/end`, { signal: stop.signal });
    const write = async (path: string): Promise<void> => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${venue.localToken}` };
      const body = JSON.stringify({ operation: "file:write", input: { root: "r", path, content: "x", parents: true } });
      const { status } = await fetch(`${url}/api/v1/run`, { method: "POST", headers, body });
      expect(status).toBe(200);
    };
    await act(write);
    await write("end/end");
    let text = "";
    for await (const piece of stream.body ?? []) {
      text += Buffer.from(piece).toString();
      if (text.includes("end/end")) break;
    }
    stop.abort();
    return text;
  } finally {
    await venue.close();
  }
}

test("the events of a venue", () =>
  onLinks(async (root) => {
    expect(await told(root, { topic: "files:r/link" }, (write) => write("real/sub/new"))).toContain("real/sub/new");
  }));

test("who may not read a link is not told by its name what happens where it leads", () =>
  onLinks(async (root) => {
    const caps = ["file://r/real/", "file://r/end/"];
    const text = await told(root, { topic: "files:r/link", caps }, (write) => write("real/sub/new"));
    expect(text).not.toContain("real/sub/new");
  }));

test("a link out of the root tells nothing of what happens there", () =>
  onLinks(async (root, outside) => {
    const text = await told(root, { topic: "files:r/out" }, async () => writeFileSync(join(outside, "new"), "x"));
    expect(text).not.toContain("new");
  }));
