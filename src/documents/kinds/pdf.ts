// PDF: page by page, by what PDF.js makes of them.

import type { DocumentMeta, PageRange } from "../../core/call/documents.js";
import { Ended, Unreadable } from "../ending.js";
import type { Flow } from "../flow.js";
import { clamped } from "../kinds.js";
import { tidyMeta } from "./properties.js";

/** A run of text. Marks in the text have no `str`. */
interface Piece {
  readonly str?: string;
  readonly hasEOL?: boolean;
}

type Pdf = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>;

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

/** @throws Unreadable, Ended */
export async function readPdf(data: Buffer, flow: Flow, pages: PageRange | undefined): Promise<void> {
  const { getDocumentProxy } = await import("unpdf");
  // PDF.js takes no buffers of Node.
  const document = await getDocumentProxy(new Uint8Array(data.buffer), OPTIONS).catch((error: Error) => {
    throw new Unreadable(error.name === "PasswordException" ? "encrypted" : "damaged");
  });
  const meta = await metaOf(document);
  flow.facts({ meta, count: document.numPages });
  const { first, last } = clamped(pages, document.numPages);
  let hasText = false;
  try {
    for (let number = first; number <= last; number++) {
      const text = await pageText(document, number, number > first);
      hasText ||= text.trim() !== "";
      flow.unit({ is: "page", at: number });
      flow.lines(text);
      // The next page may end the process.
      flow.finish();
    }
  } finally {
    if (!hasText) flow.facts({ meta: { ...meta, scanned: true } });
  }
}

/** @param isLater pages before are kept where it cannot be read */
async function pageText(document: Pdf, number: number, isLater: boolean): Promise<string> {
  try {
    const page = await document.getPage(number);
    const { items }: { items: readonly Piece[] } = await page.getTextContent();
    page.cleanup();
    return items.map(({ str = "", hasEOL }) => (hasEOL === true ? `${str}\n` : str)).join("");
  } catch {
    throw isLater ? new Ended("spent") : new Unreadable("damaged");
  }
}

async function metaOf(document: Pdf): Promise<DocumentMeta> {
  try {
    const info = (await document.getMetadata()).info as Readonly<Record<string, unknown>>;
    const text = (name: string): string => (typeof info[name] === "string" ? info[name] : "");
    return tidyMeta({ title: text("Title"), author: text("Author"), created: isoOf(text("CreationDate")) });
  } catch {
    return {};
  }
}

/** `D:20240501123000+02'00'` → `2024-05-01T12:30:00+02:00`. */
function isoOf(date: string): string {
  const [, year, month = "01", day = "01", hour = "00", minute = "00", second = "00", zone = ""] =
    /^D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'\d\d)?/.exec(date) ?? [];
  return year === undefined ? "" : `${year}-${month}-${day}T${hour}:${minute}:${second}${zone.replace("'", ":")}`;
}
