// Uploads for which there is no room, in a real browser: over the limit of the venue, and on a disk that is really full.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { needs } from "../needs.js";
import { inBrowser, openStage, type Stage } from "./browser.js";

const MB = 1_000_000;
const LIMIT = 12 * MB;
/** Uploads of a busy machine. */
const PATIENT = { timeout: 60_000 };

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

let stage: Stage;
let disk: string;

inBrowser("uploads for which there is no room", () => {
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
