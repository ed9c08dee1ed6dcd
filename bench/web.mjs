#!/usr/bin/env node
// The bars of the workspace page, in Chromium: first paint, large folders, scrolling, large texts, differences, events, uploads,
// heap. Medians of 5, or of 1 with --quick.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { createVenue } from "venue-files";
import { runBench } from "./harness.mjs";
import { JSON_TYPE, sendJson } from "./http.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { inTurns, median, percentile, ratios, timed } from "./timing.mjs";
import { diff, events } from "./web/changes.mjs";

const run = promisify(execFile);
const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 5;
const UPLOAD_MB = quick ? 256 : 1024;
const SCROLL_MS = 5000;
const TOKEN = "token-of-the-benchmark-0123456789";
const FOLDERS = { ten: 10_000, hundred: 100_000, few: 50 };

const folder = temporaryDirectory();
const at = (path) => join(folder, "files", path);

function fill(name) {
  if (existsSync(at(name))) return;
  mkdirSync(at(name), { recursive: true });
  for (let index = 0; index < FOLDERS[name]; index++) {
    const text = name === "few" ? `${index}\n`.repeat(2000) : "";
    writeFileSync(at(`${name}/file-${String(index).padStart(6, "0")}.txt`), text);
  }
}

fill("few");
mkdirSync(join(folder, "kept"));
const line = (_, index) => `${String(index).padStart(8, "0")} ${"x".repeat(40)}\n`;
writeFileSync(at("large.txt"), Array.from({ length: 100_000 }, line).join(""));
writeFileSync(join(folder, "upload.bin"), Buffer.alloc(UPLOAD_MB * 1024 * 1024, 7));

const venue = await createVenue(
  {
    ...{ hostname: "127.0.0.1", port: 0, stateDir: "state", seed: "44".repeat(32), audit: { file: "audit.jsonl" } },
    auth: {
      public: { caps: [] },
      tokens: [{ name: "bench", token: { env: "TOKEN" }, caps: [{ with: "file://", can: "crud" }] }],
    },
    file: {
      limits: { maxUploadBytes: 4_294_967_296 },
      roots: {
        files: { path: "./files", journal: "off", durability: "none" },
        kept: { path: "./kept", durability: "none" },
      },
    },
  },
  { baseDir: folder, env: { TOKEN } },
);
await venue.listen();
const headers = { ...JSON_TYPE, authorization: `Bearer ${TOKEN}` };
const call = (operation, input) =>
  sendJson({ url: venue.url, token: TOKEN }, "POST", "/api/v1/run", { operation, input });

/** Milliseconds that calls take one after the other in the same browser, without the page: as noisy as what is beside them. */
const timeCalls = (page, inputs) =>
  page.evaluate(`(async () => {
    const began = performance.now();
    for (const input of ${JSON.stringify(inputs)}) {
      const body = JSON.stringify({ operation: "file:list", input: { root: "files", ...input } });
      await (await fetch("/api/v1/run", { method: "POST", headers: ${JSON.stringify(headers)}, body })).json();
    }
    return performance.now() - began;
  })()`);

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-precise-memory-info", "--js-flags=--expose-gc"],
});

/** A page of a fresh profile: nothing is cached. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const isPage = "location.pathname.startsWith('/workspace/') && self.origin !== 'null'";
  await context.addInitScript({
    content: `if (${isPage}) sessionStorage.setItem("venue-files:/workspace/", "${TOKEN}")`,
  });
  return context.newPage();
}
const visit = (page, path) => page.goto(`${venue.url}/workspace/${path}`, { waitUntil: "commit" });
/** Milliseconds since the navigation began at which a selector is there, as the page sees it. */
const whenShown = (page, condition) =>
  page.evaluate(
    `new Promise((resolve) => { const look = () => (${condition}) ? resolve(performance.now()) : requestAnimationFrame(look); look(); })`,
  );
/** A measurement in a fresh page, once it shows what a path has: `(page, ms)`, in the milliseconds that took. */
async function once(path, condition, measure) {
  const page = await open();
  await visit(page, path);
  const value = await measure(page, await whenShown(page, condition));
  await page.context().close();
  return value;
}
/** Median of as many as there are rounds. */
async function repeat(path, condition, measure) {
  const values = [];
  for (let round = 0; round < ROUNDS; round++) values.push(await once(path, condition, measure));
  return median(values);
}
const CARD = "document.querySelector('.card')";
const footerIs = (text) => `document.querySelector('.list-footer')?.textContent === '${text}'`;
const heapMb = async (page) => {
  await page.evaluate("gc()");
  return (await page.evaluate("performance.memory.usedJSHeapSize")) / 1e6;
};

async function paint({ report }) {
  const shown = await repeat("files", CARD, (_, ms) => ms);
  const paints = "performance.getEntriesByName('first-contentful-paint')";
  const first = await repeat("files", `${paints}.length > 0`, (page) => page.evaluate(`${paints}[0].startTime`));
  report("first contentful paint, cold cache", first, 300);
  report("signed in, roots shown", shown, 600);
}

/** Goes to a place of the page without loading it. @returns milliseconds until the condition holds */
async function goTo(page, path, condition) {
  const began = await page.evaluate("performance.now()");
  await page.evaluate(
    `history.pushState(null, "", "/workspace/${path}"); dispatchEvent(new PopStateEvent("popstate"))`,
  );
  return (await whenShown(page, condition)) - began;
}

async function folders({ report }) {
  fill("ten");
  fill("hundred");
  /** What a folder takes in the page, and its calls alone, in turns. */
  const beside = (name, condition, inputs, compare) =>
    repeat("files", CARD, async (page) => {
      const before = await timeCalls(page, inputs);
      const shown = await goTo(page, `files/files/${name}/`, condition);
      return compare(shown, (before + (await timeCalls(page, inputs))) / 2);
    });
  const all = [
    { path: "ten", limit: 1000 },
    { path: "ten", offset: 1000, limit: 10_000 },
  ];
  const beyond = await beside("ten", footerIs("10,000 entries"), all, (shown, calls) => shown - calls);
  report("folder of 10,000: rows, beyond the time of the calls", beyond, 150);
  const entry = "document.querySelector('.entry:not(.header)')";
  const page = [{ path: "hundred", limit: 1000 }];
  const ratio = await beside("hundred", entry, page, (shown, calls) => shown / calls);
  report("folder of 100,000: first rows, beside file:list of 1,000", ratio, 1.2, "x");
}

async function scroll({ report }) {
  fill("hundred");
  await once("files/files/hundred/", footerIs("100,000 entries"), async (page) => {
    const { frames, blank, most } = await page.evaluate(`new Promise((resolve) => {
      const list = document.querySelector(".entries");
      const frames = []; let blank = 0, most = 0, last = performance.now(); const end = last + ${SCROLL_MS};
      const step = (now) => {
        frames.push(now - last); last = now;
        list.scrollTop += 700;
        const rows = list.querySelectorAll(".entry:not(.header)");
        most = Math.max(most, rows.length);
        const box = list.getBoundingClientRect();
        if (document.elementFromPoint(box.left + 60, box.top + box.height / 2)?.closest(".entry") === null) blank += 1;
        if (now < end) requestAnimationFrame(step); else resolve({ frames: frames.slice(1), blank, most });
      };
      requestAnimationFrame(step);
    })`);
    report("100,000 rows, 5 s of scrolling: p95 frame", percentile(frames, 95), 20);
    report("the same: frames with a blank row", blank, 0, "frames");
    report("the same: row nodes", most, 100, "nodes");
    report("heap with 100,000 rows", await heapMb(page), 40, "MB");
  });
}

async function text({ report }) {
  const first = await repeat("files/files/large.txt", "document.querySelector('.cm-line')", (_, ms) => ms);
  report("text of 5 MB: first line", first, 1000);
  const isThere = "document.querySelector('.cm-activeLine')?.textContent.startsWith('00049999')";
  const keys = await once("files/files/large.txt?line=50000", isThere, async (page) => {
    await page.locator(".cm-content").focus();
    const found = [];
    for (let index = 0; index < 40; index += 1) {
      await page.evaluate(
        `(() => { self.done = new Promise((resolve) => addEventListener("keydown", () => { const began = performance.now(); requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began))); }, { once: true, capture: true })); })()`,
      );
      await page.keyboard.press("k");
      found.push(await page.evaluate("self.done"));
    }
    return found;
  });
  report("the same: a key in its middle, p95", percentile(keys, 95), 50);
}

/** One after the other in each round, and nothing of one is left when the other begins: both find the disk and the memory alike. */
async function upload({ report }) {
  const file = join(folder, "upload.bin");
  const target = `${venue.url}/api/v1/files/files/curl.bin`;
  const byCurl = () => run("curl", ["-sS", "-T", file, "-H", `Authorization: Bearer ${TOKEN}`, target]);
  const page = await open();
  const heaps = [];
  const curl = async () => {
    const took = await timed(byCurl);
    rmSync(at("curl.bin"));
    return took;
  };
  const byPage = async () => {
    await visit(page, "files/files/few/");
    await whenShown(page, "document.querySelector('input[type=file]') && document.querySelector('.entry')");
    const before = await heapMb(page);
    const took = await timed(async () => {
      await page.locator("input[type=file]").first().setInputFiles(file);
      await whenShown(page, "document.querySelector('.upload-tray')?.textContent.includes('1 of 1 uploaded')");
    });
    heaps.push((await heapMb(page)) - before);
    rmSync(at("few/upload.bin"));
    return took;
  };
  const found = await inTurns(ROUNDS, { byPage, curl });
  report(`upload of ${UPLOAD_MB} MB, beside curl -T`, median(ratios(found.byPage, found.curl)), 1.3, "x");
  report("the same: heap beyond", Math.max(...heaps), 20, "MB");
  await page.context().close();
}

const heap = ({ report }) =>
  once("files", CARD, async (page) => {
    report("heap: roots", await heapMb(page), 15, "MB");
    for (let index = 0; index < 50; index += 1) {
      const path = `files/files/few/file-${String(index).padStart(6, "0")}.txt`;
      await goTo(page, path, `document.querySelector('.cm-line')?.textContent === '${index}'`);
    }
    report("heap: after 50 files", await heapMb(page), 30, "MB");
  });

const parts = { paint, folders, scroll, text, diff, events, upload, heap };
await runBench(
  Object.entries(parts).map(([name, measure]) => ({
    name,
    async run({ row }) {
      const report = (what, value, most, unit = "ms") => row({ what, value, unit, most });
      await measure({ call, headers, open, visit, whenShown, goTo, repeat, report, quick });
    },
  })),
  {
    async finish() {
      await browser.close();
      await venue.close();
    },
  },
);
