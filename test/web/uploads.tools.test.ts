// Large uploads in a real browser: they go on after a broken connection and after a reload.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { call, inBrowser, openStage, type Stage } from "./browser.js";

/** Megabytes on a busy machine. */
const PATIENT = { timeout: 60_000 };
const PART = 8_388_608;
const SIZE = 9 * PART + 1000;
let stage: Stage;
let large: string;

inBrowser("large uploads of the page", () => {
  /** From where each request went on. */
  const offsets: number[] = [];
  /** Bytes of a body that pass before its connection breaks, or nothing more comes. */
  let fate: { readonly after: number; readonly end: "break" | "hold"; until?: () => Promise<void> } | undefined;
  let held: () => void = () => {};
  /** Called for each request that does not begin at the start. */
  let goesOn: () => void = () => {};
  let proxy: Server;

  beforeAll(async () => {
    stage = await openStage({}, { file: { roots: { small: { temp: true, quota: { bytes: PART * 3 } } } } });
    large = join(stage.folder, "large.bin");
    writeFileSync(large, Buffer.concat(Array.from({ length: 10 }, () => randomBytes(PART)).concat()).subarray(0, SIZE));
  });
  beforeAll(async () => {
    proxy = createServer((request, response) => {
      const { method, url = "", headers } = request;
      const to = send(new URL(url, stage.venue.url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      to.on("error", () => response.destroy());
      response.on("close", () => to.destroy());
      if (method !== "PATCH") {
        request.pipe(to);
        return;
      }
      const offset = Number(headers["upload-offset"]);
      offsets.push(offset);
      if (offset > 0) goesOn();
      const own = fate;
      let passed = 0;
      request.on("data", (chunk: Buffer) => {
        const room = own === undefined ? chunk.length : Math.max(0, own.after - passed);
        const isFlowing = to.write(chunk.subarray(0, room));
        passed += Math.min(room, chunk.length);
        if (own !== undefined && passed >= own.after) {
          request.pause();
          held();
          if (own.end === "break") void own.until?.().then(() => request.socket.destroy());
        } else if (!isFlowing) {
          request.pause();
          to.once("drain", () => request.resume());
        }
      });
      request.on("end", () => to.end());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await stage.close();
  });
  afterEach(() => {
    fate = undefined;
    goesOn = () => {};
    expect(stage.problems.splice(0)).toEqual([]);
  });

  /** Resolves when the next part is held. */
  const nextHeld = (): Promise<void> =>
    new Promise((resolve) => {
      held = resolve;
    });
  const sumOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
  const choose = (page: Page) => page.locator("input[type=file]").first().setInputFiles(large);
  const tray = (page: Page) => page.getByRole("region", { name: "Uploads" });
  const partOf = (folder: string) => readdirSync(stage.at(folder)).find((name) => name.endsWith(".part"));

  /** Opens a folder through the proxy. */
  async function openFolder(folder: string): Promise<Page> {
    await call(stage.venue, "file:mkdir", { root: "files", path: folder });
    return visit(`files/files/${folder}/`);
  }
  async function visit(path: string): Promise<Page> {
    offsets.length = 0;
    const page = await stage.visit();
    await page.goto(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/workspace/${path}`);
    await page.getByText("This folder is empty").waitFor();
    return page;
  }
  /** Resolves when so many bytes of the upload into a folder are there. */
  const arrived = async (folder: string, bytes: number) => {
    const size = () => statSync(stage.at(`${folder}/${partOf(folder)}`), { throwIfNoEntry: false })?.size ?? 0;
    while (size() < bytes) await new Promise((resolve) => setImmediate(resolve));
  };

  test("after a broken connection it goes on where it was, and nothing is seen under the name before all is there", async () => {
    const page = await openFolder("broken");
    const until = () => arrived("broken", 4 * PART);
    fate = { after: 4 * PART + 1000, end: "break", until };
    let isEarly = true;
    goesOn = () => {
      isEarly = existsSync(stage.at("broken/large.bin"));
      fate = undefined;
    };
    await choose(page);
    await tray(page).getByText("1 of 1 uploaded").waitFor(PATIENT);
    expect(isEarly).toBe(false);
    expect(offsets.at(-1)).toBe(4 * PART);
    expect(sumOf(stage.at("broken/large.bin"))).toBe(sumOf(large));
    expect(readdirSync(stage.at("broken"))).toEqual(["large.bin"]);
    await page.context().close();
  }, 120_000);

  test("after a reload it goes on when the same file is chosen again; another file is refused", async () => {
    const page = await openFolder("reloaded");
    fate = { after: 5 * PART + 1000, end: "hold" };
    const holding = nextHeld();
    await choose(page);
    await holding;
    await arrived("reloaded", 5 * PART);
    await page.reload();
    fate = undefined;
    const hint = tray(page).getByText("41.9 MB of 75.5 MB are there. Choose the file again to go on.");
    expect(await hint.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true);
    const other = join(stage.folder, "other.bin");
    writeFileSync(other, "other");
    const again = tray(page).getByLabel("Choose the file again: large.bin").first();
    await again.setInputFiles(other);
    await page.getByText("That is another file than the one of which parts are there: large.bin.").waitFor();
    await again.setInputFiles(large);
    await tray(page).getByText("1 of 1 uploaded").waitFor(PATIENT);
    expect(offsets).toEqual([0, 5 * PART]);
    expect(sumOf(stage.at("reloaded/large.bin"))).toBe(sumOf(large));
    expect(partOf("reloaded")).toBeUndefined();
    await page.context().close();
  }, 120_000);

  test("it pauses and goes on where it was; what is cancelled leaves nothing", async () => {
    const page = await openFolder("paused");
    fate = { after: 2 * PART + 1000, end: "hold" };
    const holding = nextHeld();
    await choose(page);
    await holding;
    await arrived("paused", 2 * PART);
    await tray(page).getByRole("button", { name: "Pause large.bin" }).click();
    await tray(page).getByText("paused").waitFor();
    fate = { after: PART + 1000, end: "hold" };
    const holdingAgain = nextHeld();
    await tray(page).getByRole("button", { name: "Resume large.bin" }).click();
    await holdingAgain;
    expect(offsets).toEqual([0, 2 * PART]);
    await arrived("paused", 3 * PART);
    await tray(page).getByRole("button", { name: "Cancel large.bin" }).click();
    await tray(page).getByText("cancelled").waitFor();
    // The list may not have shown the part yet, and so say nothing of its end.
    while (readdirSync(stage.at("paused")).length > 0) await new Promise((resolve) => setImmediate(resolve));
    await page.getByText("This folder is empty").waitFor();
    fate = undefined;
    await tray(page).getByRole("button", { name: "Retry large.bin" }).click();
    await tray(page).getByText("1 of 1 uploaded").waitFor(PATIENT);
    expect(sumOf(stage.at("paused/large.bin"))).toBe(sumOf(large));
    await page.context().close();
  }, 120_000);

  test("what stands at the name is asked about before anything is sent, and replaced as a whole", async () => {
    const page = await openFolder("clash");
    writeFileSync(stage.at("clash/large.bin"), "old");
    await choose(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("large.bin exists already").waitFor();
    expect(offsets).toEqual([]);
    await dialog.getByRole("button", { name: "Replace" }).click();
    await tray(page).getByText("1 of 1 uploaded").waitFor(PATIENT);
    expect(sumOf(stage.at("clash/large.bin"))).toBe(sumOf(large));
    await page.context().close();
  }, 120_000);

  test("a quota stops it with what to do next", async () => {
    const page = await visit("files/small/");
    await choose(page);
    await tray(page).getByText("Delete something, or ask the operator for a larger quota.").waitFor(PATIENT);
    await page.context().close();
  }, 120_000);
});
