import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { EdKeypair } from "ucans";
import { zipOf } from "../backend/archive/zip-bytes.js";
import { needs } from "../needs.js";
import { invoke, send as sendJson } from "../surfaces/http/client.js";
import { call, editor, entries, entry, inBrowser, openStage, type Stage, TOKENS, typeFirst } from "./browser.js";

/** Megabytes on a busy machine. */
const PATIENT = { timeout: 60_000 };

// Files in a real browser: reading, writing, moving, uploading, by pointer and by keys alone.
inBrowser("files of the page", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage(
      {
        "readme.md": "# Title\n\nSome *text* and [a link](docs/guide.md).\n\n![pixel](pixel.png)\n",
        "docs/guide.md": "guide\n",
        "crlf.txt": "one\r\ntwo\r\n",
        "bom.txt": "\ufeffone\ntwo\n",
        "mixed.txt": "one\r\ntwo\nthree\r\n",
        "utf16.txt": Buffer.from("\ufeffgrüße\r\n", "utf16le"),
        "data.bin": Buffer.from([0, 1, 2, 250, 251, 252, 0, 0, 9]),
        "long.txt": Array.from({ length: 1000 }, (_, index) => `line ${index + 1}\n`).join(""),
        "paper.pdf": "%PDF-1.4 and what follows, which is shown as bytes\n",
        "pixel.png": Buffer.from(
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
          "base64",
        ),
        "pack.zip": zipOf([
          { name: "docs/inside.txt", content: "packed\n" },
          { name: "other.zip", content: zipOf([]) },
        ]),
        "move/me.txt": "moved\n",
        "clash/same.txt": "old\n",
        "clash/into/same.txt": "theirs\n",
        "keys/one.txt": "1\n",
        "keys/two.txt": "2\n",
      },
      {
        file: {
          roots: {
            other: { temp: true },
            small: { temp: true, quota: { bytes: 100 } },
            fixed: { temp: true, readOnly: true },
          },
        },
      },
    );
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("roots lead to folders, folders to files, and each state has an address", async () => {
    const page = await stage.visit();
    await page.getByRole("link", { name: "files" }).filter({ hasText: "Folder" }).click();
    await entry(page, "docs").getByRole("link").click();
    await entry(page, "guide.md").getByRole("link").click();
    expect(page.url()).toBe(`${stage.venue.url}/workspace/files/files/docs/guide.md`);
    await editor(page).getByText("guide").waitFor();
    await page.goBack();
    await entry(page, "guide.md").waitFor();
    await page.reload();
    await entry(page, "guide.md").waitFor();
    await page.context().close();
  });

  test.each([
    ["crlf.txt", "x", "xone\r\ntwo\r\n"],
    ["bom.txt", "x", "\ufeffxone\ntwo\n"],
    ["mixed.txt", "x", "xone\r\ntwo\nthree\r\n"],
  ])("saving %s keeps line ends and byte order mark", async (name, typed, expected) => {
    const page = await stage.visit(`files/files/${name}`);
    await typeFirst(page, typed);
    await page.getByText("Not saved").waitFor();
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readFileSync(stage.at(name), "utf8")).toBe(expected);
    await page.context().close();
  });

  test("saving UTF-16 keeps the encoding", async () => {
    const page = await stage.visit("files/files/utf16.txt");
    await typeFirst(page, "ä");
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readFileSync(stage.at("utf16.txt")).toString("utf16le")).toBe("\ufeffägrüße\r\n");
    await page.context().close();
  });

  test("markdown is shown beside its source, with its images, and its links lead to files", async () => {
    const page = await stage.visit("files/files/readme.md");
    const frame = page.frameLocator("iframe.preview");
    await frame.getByRole("heading", { name: "Title" }).waitFor();
    await frame.locator("img[src^='blob:']").waitFor();
    expect((await frame.locator("img").boundingBox())?.width).toBe(1);
    await typeFirst(page, "New ");
    await frame.getByText("New # Title").waitFor();
    await frame.getByRole("link", { name: "a link" }).click();
    await page.waitForURL(/docs\/guide\.md$/);
    await page.context().close();
  });

  test.each([
    ["query.sql", "select a from t\n", "select"],
    ["main.c", "int main(void) { return 0; }\n", "return"],
    ["main.cpp", "template <class T> int f();\n", "template"],
    ["A.java", "public class A {}\n", "public"],
    ["A.cs", "namespace A {}\n", "namespace"],
    ["main.kt", "fun main() {}\n", "fun"],
  ])("%s is coloured by its language", async (name, text, word) => {
    writeFileSync(stage.at(name), text);
    const page = await stage.visit(`files/files/${name}`);
    await editor(page).locator("span", { hasText: word }).first().waitFor();
    await page.context().close();
  });

  test("bytes are shown in hexadecimal, with size and hash", async () => {
    const page = await stage.visit("files/files/data.bin");
    await page.getByText("00 01 02 fa fb fc 00 00 09").waitFor();
    await page.getByText(/^[0-9a-f]{64}$/).waitFor();
    await page.context().close();
  });

  test("an archive opens as a folder, in which nothing is offered that changes it", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "pack.zip").getByRole("link").click();
    await page.waitForURL(/files\/pack\.zip!\/$/);
    await entry(page, "docs").waitFor();
    for (const name of ["Upload", "New file"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    await entry(page, "docs").click();
    for (const name of ["Move", "Copy", "Delete"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    await entry(page, "docs").getByRole("link").click();
    await entry(page, "inside.txt").getByRole("link").click();
    await editor(page).getByText("packed").waitFor();
    await page.getByText("read-only", { exact: true }).waitFor();
    await page.goBack();
    await page.goBack();
    await entry(page, "other.zip").getByRole("link").click();
    await page.waitForURL(/files\/pack\.zip!\/other\.zip$/);
    await page.context().close();
  });

  test("a PDF file without text is not opened: its first bytes are shown a line each, as of any other file", async () => {
    const page = await stage.visit("files/files/paper.pdf");
    const lines = (await page.locator(".hex pre").innerText()).split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^00000000 {2}25 50 44 46 .*%PDF-1\.4 and wha$/);
    await page.context().close();
  });

  test("a long text opens at its line, in view, and scrolls", async () => {
    const page = await stage.visit("files/files/long.txt?line=500");
    const line = (number: number) => editor(page).getByText(`line ${number}`, { exact: true });
    const isInView = async (number: number) => {
      await line(number).waitFor();
      const { y = -1 } = (await line(number).boundingBox()) ?? {};
      return y > 0 && y < 800;
    };
    expect(await isInView(500)).toBe(true);
    await page.locator(".cm-scroller").hover();
    await page.mouse.wheel(0, -100_000);
    expect(await isInView(1)).toBe(true);
    await page.context().close();
  });

  test("a download is an attachment by a ticket", async () => {
    const page = await stage.visit("files/files/data.bin");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("data.bin");
    expect(readFileSync((await download.path()) ?? "")).toEqual(readFileSync(stage.at("data.bin")));
    await page.context().close();
  });

  test("files and folders are made, renamed and deleted by keys alone", async () => {
    const page = await stage.visit("files/files/keys/");
    await page.locator(".entry").nth(1).waitFor();
    await entries(page).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("F2");
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("renamed");
    await page.keyboard.press("Enter");
    await entry(page, "renamed.txt").waitFor();
    expect(readdirSync(stage.at("keys")).sort()).toEqual(["one.txt", "renamed.txt"]);
    await entries(page).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("2 items deleted.").waitFor();
    expect(readdirSync(stage.at("keys")).filter((name) => !name.startsWith("."))).toEqual([]);
    await page.context().close();
  });

  test("a folder opens by Enter and closes by Backspace; a file opens with the focus of its text reachable by Tab", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "docs").waitFor();
    await entries(page).focus();
    const names = await entries(page).getByRole("row").allInnerTexts();
    const at = names.slice(1).findIndex((name) => name.startsWith("docs"));
    for (let step = 0; step < at; step += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/$/);
    await entry(page, "guide.md").waitFor();
    await entries(page).focus();
    await page.keyboard.press("Backspace");
    await page.waitForURL(/files\/files\/$/);
    await page.context().close();
  });

  test("letters go to names, in the list, the tree, a menu and a folder picker, and act on nothing", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "docs").waitFor();
    await entries(page).focus();
    const chosen = entries(page).locator("[aria-selected=true]");
    /** Types until it leads there: on a busy machine a pause between two keys may end the word. */
    const type = async (word: string, isThere: () => Promise<boolean>) => {
      for (let tries = 0; tries < 20 && !(await isThere()); tries += 1) {
        await page.keyboard.press("End");
        await page.keyboard.type(word);
      }
      expect([word, await isThere()]).toEqual([word, true]);
    };
    for (const [typed, name] of [
      ["m", "move"],
      ["mi", "mixed.txt"],
      ["c", "clash"],
      ["cr", "crlf.txt"],
    ] as const)
      await type(typed, async () => (await chosen.allInnerTexts()).join().startsWith(name));
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("tree").focus();
    const active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent";
    await type("ke", async () => (await page.evaluate(active)) === "keys");
    await entries(page).focus();
    await page.keyboard.press("Alt+m");
    const dialog = page.getByRole("dialog", { name: "Move 1 item" });
    await dialog.getByRole("button", { name: "move", exact: true }).focus();
    await page.keyboard.type("d");
    await dialog.locator("button:focus", { hasText: "docs" }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await entries(page).focus();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "More" }).click();
    await page.locator("[role=menuitem]:focus").waitFor();
    await page.keyboard.type("u");
    await page.locator("[role=menuitem]:focus", { hasText: "Upload a folder" }).waitFor();
    await page.context().close();
  });

  test("a name that is typed is found though its part of the list has not come yet", async () => {
    mkdirSync(stage.at("many"), { recursive: true });
    for (let index = 0; index < 1500; index += 1) writeFileSync(stage.at(`many/n${index + 1000}`), "");
    writeFileSync(stage.at("many/zebra"), "");
    const page = await stage.visit();
    let letGo = () => {};
    const later = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route("**/api/v1/run", async (route) => {
      const { operation, input } = route.request().postDataJSON();
      // The tree asks for folders alone, from the start.
      if (operation === "file:list" && (input.offset > 0 || input.after !== undefined)) await later;
      return route.fallback();
    });
    await page.goto(`${stage.venue.url}/workspace/files/files/many/`);
    await page.getByText(/^1,000 of 1,501 entries/).waitFor();
    await entries(page).focus();
    await page.keyboard.type("ze");
    expect(await entries(page).locator("[aria-selected=true]").count()).toBe(0);
    letGo();
    await page.getByText("1,501 entries", { exact: true }).waitFor();
    await entries(page).locator("[aria-selected=true]").getByText("zebra").waitFor();
    await page.context().close();
  });

  test("an entry moves between roots by the menu of the folder", async () => {
    const page = await stage.visit("files/files/move/");
    await entry(page, "me.txt").click();
    await page.keyboard.press("Alt+m");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: ".." }).click();
    await dialog.getByRole("button", { name: ".." }).click();
    await dialog.getByRole("button", { name: "other" }).click();
    await dialog.getByRole("button", { name: "Move here" }).click();
    await page.getByText("1 item moved.").waitFor();
    expect(existsSync(stage.at("move/me.txt"))).toBe(false);
    await page.goto(`${stage.venue.url}/workspace/files/other/`);
    await entry(page, "me.txt").waitFor();
    await page.context().close();
  });

  test("nothing is replaced unasked: keep both, skip, replace", async () => {
    const page = await stage.visit("files/files/clash/");
    const copy = async (answer: string) => {
      await entry(page, "same.txt").click();
      await page.keyboard.press("Alt+c");
      await page.getByRole("dialog").getByRole("button", { name: "into" }).click();
      await page.getByRole("dialog").getByText("files/clash/into").waitFor();
      await page.getByRole("button", { name: "Copy here" }).click();
      await page.getByRole("dialog", { name: "same.txt exists already" }).getByRole("button", { name: answer }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await copy("Skip");
    expect(readFileSync(stage.at("clash/into/same.txt"), "utf8")).toBe("theirs\n");
    await copy("Keep both");
    await page.getByText("1 item copied.").waitFor();
    expect(readFileSync(stage.at("clash/into/same (2).txt"), "utf8")).toBe("old\n");
    expect(readFileSync(stage.at("clash/into/same.txt"), "utf8")).toBe("theirs\n");
    await copy("Replace");
    await page.getByText("1 item copied.").nth(1).waitFor();
    expect(readFileSync(stage.at("clash/into/same.txt"), "utf8")).toBe("old\n");
    await page.context().close();
  });

  test("files are uploaded; a failure names its file and is tried again alone", async () => {
    const page = await stage.visit("files/small/");
    await page.getByText("This folder is empty").waitFor();
    await page
      .locator("input[type=file]")
      .first()
      .setInputFiles([
        { name: "fits.txt", mimeType: "text/plain", buffer: Buffer.from("fits") },
        { name: "huge.txt", mimeType: "text/plain", buffer: Buffer.alloc(5000, "x") },
      ]);
    const tray = page.getByRole("region", { name: "Uploads" });
    await tray.getByText("1 of 2 uploaded").waitFor();
    await tray.getByText(/quota/i).waitFor();
    await entry(page, "fits.txt").waitFor();
    const sent: string[] = [];
    page.on("request", (request) => request.method() === "PUT" && sent.push(request.url()));
    await tray.getByRole("button", { name: "Retry failed" }).click();
    await tray.getByText(/quota/i).waitFor();
    expect(sent.map((url) => url.split("?")[0]?.split("/").at(-1))).toEqual(["huge.txt"]);
    await page.context().close();
  });

  test("a read-only root offers no change, and a reader none anywhere", async () => {
    const page = await stage.visit();
    // The roots come last: nothing is offered before it is known what may be changed.
    await page.route("**/api/v1/run", async (route) => {
      if (route.request().postDataJSON().operation === "file:roots")
        await page.getByRole("button", { name: "Refresh" }).waitFor();
      return route.fallback();
    });
    await page.goto(`${stage.venue.url}/workspace/files/fixed/`);
    await page.getByRole("button", { name: "Refresh" }).waitFor();
    expect(await page.getByRole("button", { name: "New file" }).count()).toBe(0);
    await page.getByText("This folder is empty").waitFor();
    expect(await page.getByRole("button", { name: "New file" }).count()).toBe(0);
    await page.context().close();
    const reader = await stage.visit("files/files/docs/guide.md", { as: "reader" });
    await editor(reader).getByText("guide").waitFor();
    expect(await reader.getByRole("button", { name: "Save" }).count()).toBe(0);
    await editor(reader).click();
    await reader.keyboard.type("x");
    await editor(reader).getByText("guide", { exact: true }).waitFor();
    await reader.context().close();
  });

  test("search finds names and lines, says what it left out, and a hit opens at its line", async () => {
    const page = await stage.visit("files/files/?search=");
    await page.getByRole("searchbox").fill("guide");
    await page.getByRole("link", { name: "docs/guide.md", exact: true }).waitFor();
    await page.getByRole("link", { name: /readme\.md:3/ }).click();
    await page.waitForURL(/readme\.md\?line=3$/);
    await editor(page).waitFor();
    await page.context().close();
  });
});

// Large uploads in a real browser: they go on after a broken connection and after a reload.
const PART = 8_388_608;
const SIZE = 9 * PART + 1000;
let large: string;

inBrowser("large uploads of the page", () => {
  let stage: Stage;

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
  });

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
  });

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
  });

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
  });

  test("a quota stops it with what to do next", async () => {
    const page = await visit("files/small/");
    await choose(page);
    await tray(page).getByText("Delete something, or ask the operator for a larger quota.").waitFor(PATIENT);
    await page.context().close();
  });
});

// What people do with the pointer in a real browser: dragging, picking folders, pictures compared, jobs cancelled, rights for a DID.
/** A GIF of one pixel. */
function pixel(red: number): Buffer {
  const image = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
  image[13] = red;
  return image;
}

inBrowser("gestures", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage(
      {
        "pixel.gif": pixel(0),
        "one.txt": "1\n",
        "two.txt": "2\n",
        "three.txt": "3\n",
        "into/here.txt": "",
        "deep/below/here.txt": "",
      },
      { auth: { localToken: true }, file: { roots: { other: { temp: true } } } },
    );
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("an entry is dragged into a folder of the list, and into one of the tree", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "one.txt").dragTo(entry(page, "into"));
    await page.getByText("1 item moved.").waitFor();
    expect(readFileSync(stage.at("into/one.txt"), "utf8")).toBe("1\n");
    await entry(page, "two.txt").dragTo(page.getByRole("treeitem", { name: "deep" }));
    await entry(page, "two.txt").waitFor({ state: "detached" });
    expect(readFileSync(stage.at("deep/two.txt"), "utf8")).toBe("2\n");
    await page.context().close();
  });

  test("a folder is picked and uploaded with what is in it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "venue-files-picked-"));
    mkdirSync(join(folder, "album/inner"), { recursive: true });
    writeFileSync(join(folder, "album/a.txt"), "a\n");
    writeFileSync(join(folder, "album/inner/b.txt"), "b\n");
    const page = await stage.visit("files/files/into/");
    await entry(page, "here.txt").waitFor();
    await page.locator("input[webkitdirectory]").setInputFiles(join(folder, "album"));
    await entry(page, "album").waitFor();
    await entry(page, "album").getByRole("link").click();
    await entry(page, "a.txt").waitFor();
    await entry(page, "inner").getByRole("link").click();
    await entry(page, "b.txt").waitFor();
    expect(readFileSync(stage.at("into/album/a.txt"), "utf8")).toBe("a\n");
    expect(readFileSync(stage.at("into/album/inner/b.txt"), "utf8")).toBe("b\n");
    rmSync(folder, { recursive: true });
    await page.context().close();
  });

  test("of a picture that was replaced, both versions stand beside each other", async () => {
    const bytes = pixel(255).toString("base64");
    await call(stage.venue, "file:write", { root: "files", path: "pixel.gif", bytes });
    const page = await stage.visit("changes/files/pixel.gif");
    const figures = page.locator("figure").filter({ has: page.locator("img") });
    await figures.nth(1).waitFor();
    expect(await figures.locator("figcaption").allInnerTexts()).toEqual(["Before", "After"]);
    const images = await figures.locator("img").all();
    const sources = await Promise.all(images.map((image) => image.getAttribute("src")));
    expect(new Set(sources).size).toBe(2);
    await page.context().close();
  });

  /** Starts a job that ends only when something changes. @returns its URL */
  async function startWaiting(): Promise<string> {
    const { cursor } = (await call(stage.venue, "file:watch", { root: "files", waitMs: 0 }, TOKENS.alice)) as {
      cursor: string;
    };
    const watching = { operation: "file:watch", input: { root: "files", cursor, waitMs: 30_000 } };
    const started = await invoke(stage.venue.url, watching, TOKENS.alice);
    const { id } = (await started.json()) as { id: string };
    return `${stage.venue.url}/api/v1/jobs/${id}`;
  }
  const statusOf = async (url: string): Promise<unknown> => (await sendJson(url, { token: TOKENS.alice })).json();

  test("a job that runs is cancelled", async () => {
    const url = await startWaiting();
    const page = await stage.visit("status");
    const job = page.locator(".jobs li").filter({ hasText: "file:watch" });
    await job.getByRole("button", { name: "Cancel" }).click();
    await job.getByText("cancelled", { exact: true }).waitFor();
    expect(await statusOf(url)).toMatchObject({ status: "CANCELLED" });
    await page.context().close();
  });

  test("a job is shown among the activity as soon as it runs, and cancelled there", async () => {
    const page = await stage.visit("activity");
    await page.getByText("Live", { exact: true }).waitFor();
    const running = page.getByRole("region", { name: "Running jobs" });
    expect(await running.count()).toBe(0);
    const url = await startWaiting();
    await running.getByRole("button", { name: "Cancel file:watch" }).click();
    await running.waitFor({ state: "detached" });
    expect(await statusOf(url)).toMatchObject({ status: "CANCELLED" });
    await page.context().close();
  });

  /** Opens the place "Access" with a token. */
  async function openAccess(token: string): Promise<Page> {
    const page = await stage.visit("", { as: "nobody" });
    await page.evaluate(`sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(token)})`);
    await page.goto(`${stage.venue.url}/workspace/access`);
    await page.getByRole("button", { name: "By path" }).waitFor();
    return page;
  }

  test("who came by a token or its session is offered no UCAN, and is told who can give one", async () => {
    const issue = (input: object) => call(stage.venue, "auth:issue", { label: "guest", ...input }, TOKENS.alice);
    const { token: session } = (await issue({})) as { token: string };
    for (const token of [TOKENS.alice, session]) {
      const page = await openAccess(token);
      await page.getByRole("button", { name: "Give access" }).click();
      await page.getByRole("dialog").getByText("A UCAN for a DID needs rights of your own").waitFor();
      expect(await page.getByRole("radio").count()).toBe(2);
      await page.context().close();
    }
    const caps = [{ with: "file://files/", can: "crud/read" }];
    const { token: narrow } = (await issue({ caps })) as { token: string };
    const page = await openAccess(narrow);
    await page.getByText("This access token cannot pass on what it holds").waitFor();
    expect(await page.getByRole("button", { name: "Give access" }).count()).toBe(0);
    await page.context().close();
  });

  test("a DID is given a UCAN for one folder", async () => {
    const did = (await EdKeypair.create()).did();
    const page = await openAccess(stage.venue.localToken ?? "");
    await page.getByRole("button", { name: "Give access" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("A DID (UCAN)").check();
    await dialog.getByLabel("DID", { exact: true }).fill(did);
    await dialog.getByRole("button", { name: "files" }).click();
    await dialog.getByRole("button", { name: "into" }).click();
    await dialog.getByRole("button", { name: "Give", exact: true }).click();
    await page.getByText("it is not shown again").waitFor();
    const [, payload = ""] = (await page.locator(".secret pre").first().innerText()).trim().split(".");
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toMatchObject({
      aud: did,
      att: [{ with: "file://files/into", can: "crud/read" }],
    });
    await page.context().close();
  });
});

// Uploads for which there is no room, in a real browser: over the limit of the venue, and on a disk that is really full.
const MB = 1_000_000;
const LIMIT = 12 * MB;

/** A file system of 2 MiB. @returns whether there is one now */
const mountSmall = (folder: string): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]).status === 0;
const unmount = (folder: string): unknown => spawnSync("umount", [folder]);

function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "venue-files-mount-"));
  const may = mountSmall(folder);
  if (may) unmount(folder);
  rmdirSync(folder);
  return may;
}
let disk: string;

inBrowser("uploads for which there is no room", () => {
  let stage: Stage;

  beforeAll(async () => {
    disk = mkdtempSync(join(tmpdir(), "venue-files-full-"));
    mountSmall(disk);
    mkdirSync(join(disk, "root"));
    const roots = { full: { path: join(disk, "root") } };
    stage = await openStage({}, { file: { roots, limits: { maxUploadBytes: LIMIT } } });
  });
  afterAll(async () => {
    await stage.close();
    unmount(disk);
    rmSync(disk, { recursive: true, force: true });
  });
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  /** Makes a file of zeros to choose. */
  function makeFile(name: string, bytes: number): string {
    const path = join(stage.folder, name);
    writeFileSync(path, "");
    truncateSync(path, bytes);
    return path;
  }
  async function upload(root: string, path: string): Promise<Page> {
    const page = await stage.visit(`files/${root}/`);
    await page.getByText("This folder is empty").waitFor();
    await page.locator("input[type=file]").first().setInputFiles(path);
    return page;
  }
  const tray = (page: Page) => page.getByRole("region", { name: "Uploads" });
  const visible = (folder: string) => readdirSync(folder).filter((name) => name !== ".venue-files");

  test.each([
    ["in one piece", 20 * MB],
    ["in parts", 80 * MB],
  ])("one over the limit says what the limit is and who can raise it: %s", async (name, bytes) => {
    const page = await upload("files", makeFile(`${name}.bin`, bytes));
    const told = `Content too large: ${bytes} bytes, limit ${LIMIT}. Ask the operator for a larger limit`;
    await tray(page).getByText(told).waitFor(PATIENT);
    await tray(page).getByText("0 of 1 uploaded").waitFor();
    expect(visible(stage.at(""))).toEqual([]);
    await tray(page)
      .getByRole("button", { name: `Retry ${name}.bin` })
      .waitFor();
    await page.context().close();
  });

  const onDisk = needs(mayMount(), "nothing may be mounted here, so no disk can be full");
  onDisk("one that fills the disk leaves nothing, and is retried once there is room", async () => {
    writeFileSync(join(disk, "filler"), Buffer.alloc(MB));
    const page = await upload("full", makeFile("photo.bin", 1.5 * MB));
    await tray(page).getByText("The disk of the venue is full.").waitFor(PATIENT);
    expect(visible(join(disk, "root"))).toEqual([]);
    rmSync(join(disk, "filler"));
    await tray(page).getByRole("button", { name: "Retry photo.bin" }).click();
    await tray(page).getByText("1 of 1 uploaded").waitFor(PATIENT);
    expect(statSync(join(disk, "root/photo.bin")).size).toBe(1.5 * MB);
    await page.context().close();
  });
});
