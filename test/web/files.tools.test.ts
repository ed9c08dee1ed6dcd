// Files in a real browser: reading, writing, moving, uploading, by pointer and by keys alone.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { zipOf } from "../backend/archive/zip-bytes.js";
import { editor, entries, entry, inBrowser, openStage, type Stage, typeFirst } from "./browser.js";

let stage: Stage;

inBrowser("files of the page", () => {
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
