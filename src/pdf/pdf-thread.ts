// Entry of the thread that reads one PDF. The thread ends with its process.

import { parentPort, workerData } from "node:worker_threads";
import type { ThreadMessage } from "./messages.js";

/** A run of text. Marks in the text have no `str`. */
interface Piece {
  readonly str?: string;
  readonly hasEOL?: boolean;
}

type Unpdf = typeof import("unpdf");

/** Nothing is fetched, drawn or compiled. */
const OPTIONS = {
  verbosity: 0,
  enableXfa: false,
  disableFontFace: true,
  isImageDecoderSupported: false,
  isOffscreenCanvasSupported: false,
  useWasm: false,
  useWorkerFetch: false,
};

// Control characters that text does not contain, such as form feeds.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

const send = (message: ThreadMessage): void => parentPort?.postMessage(message);

async function load(): Promise<Unpdf | undefined> {
  try {
    return await import("unpdf");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

async function readPages({ getDocumentProxy }: Unpdf, data: Uint8Array): Promise<void> {
  const document = await getDocumentProxy(data, OPTIONS);
  const count = document.numPages;
  let left = (workerData as { readonly maxBytes: number }).maxBytes;
  for (let number = 1; number <= count && left >= 0; number++) {
    const page = await document.getPage(number);
    const { items }: { items: readonly Piece[] } = await page.getTextContent();
    const text = tidy(items.map(({ str = "", hasEOL }) => (hasEOL === true ? `${str}\n` : str)).join(""));
    page.cleanup();
    left -= Buffer.byteLength(text) + 1;
    send({ kind: "page", count, text });
  }
}

const tidy = (text: string): string =>
  text
    .replace(CONTROLS, "")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();

const unpdf = await load();
if (unpdf === undefined) send({ kind: "missing" });
else {
  parentPort?.once("message", (data: Uint8Array) => {
    // A file that cannot be read ends like one that ends there.
    readPages(unpdf, data).then(
      () => send({ kind: "end" }),
      () => send({ kind: "end" }),
    );
  });
}
