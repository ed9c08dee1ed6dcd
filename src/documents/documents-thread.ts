// Entry of the thread that reads documents, one after the other. The thread ends with its process.

import { parentPort } from "node:worker_threads";
import type { DocumentKind, PageRange } from "../core/call/documents.js";
import { attempt } from "../core/io.js";
import { Ended, Unreadable } from "./ending.js";
import { Flow } from "./flow.js";
import { readDocx } from "./kinds/docx.js";
import { readHtml } from "./kinds/html.js";
import { readNotebook } from "./kinds/notebook.js";
import { readOds, readOdt } from "./kinds/opendocument.js";
import { readPdf } from "./kinds/pdf.js";
import { readPptx } from "./kinds/pptx.js";
import { readXlsx } from "./kinds/xlsx.js";
import { KINDS, kindOfHead } from "./kinds.js";
import type { FileRequest, Message } from "./messages.js";
import { Package } from "./package.js";
import { missingPeer } from "./peers.js";

const send = (message: Message): void => parentPort?.postMessage(message);

parentPort?.on("message", ({ request, data }: { readonly request: FileRequest; readonly data: Uint8Array }) => {
  void answer(Buffer.from(data.buffer), request).then(send);
});

async function answer(data: Buffer, request: FileRequest): Promise<Message> {
  const flow = new Flow(send, request.maxChars);
  try {
    await read(data, request, flow);
    flow.finish();
    return { is: "end" };
  } catch (error) {
    if (error instanceof Unreadable) return { is: "fault", fault: error.fault, peer: error.peer };
    // An error that a reader does not expect is damage too.
    if (!(error instanceof Ended)) return { is: "fault", fault: "damaged" };
    if (error.why === "spent") attempt(() => flow.finish());
    return { is: "end", ends: error.why };
  }
}

type Reader = (data: Buffer, flow: Flow, pages: PageRange | undefined) => void | Promise<void>;

const inPackage =
  (read: (file: Package, flow: Flow, pages: PageRange | undefined) => Promise<void>): Reader =>
  async (data, flow, pages) =>
    read(await Package.open(data), flow, pages);

const READERS: Readonly<Record<DocumentKind, Reader>> = {
  pdf: readPdf,
  docx: inPackage(readDocx),
  xlsx: inPackage(readXlsx),
  pptx: inPackage(readPptx),
  odt: inPackage(readOdt),
  ods: inPackage(readOds),
  html: (data, flow) => readHtml(data, flow, { isXml: false }),
  xhtml: (data, flow) => readHtml(data, flow, { isXml: true }),
  ipynb: readNotebook,
};

async function read(data: Buffer, request: FileRequest, flow: Flow): Promise<void> {
  if (kindOfHead(data) === "compound") throw new Unreadable(data.includes(ENCRYPTED) ? "encrypted" : "unsupported");
  const kind = request.kind ?? (await kindOf(data));
  flow.facts({ kind });
  const peer = missingPeer(kind);
  if (peer !== undefined) throw new Unreadable("missing", peer);
  await READERS[kind](data, flow, request.pages);
}

/** Encrypted documents of Office are in files of the format before 2007, as a stream of this name. */
const ENCRYPTED = Buffer.from("EncryptedPackage", "utf16le");

/** Parts that only documents of a kind have. */
const MAIN_PARTS = { "word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx" } as const;

/** The kind of a document by what it holds. @throws Unreadable */
async function kindOf(data: Buffer): Promise<DocumentKind> {
  const head = kindOfHead(data);
  if (head === "pdf" || head === "html" || head === "xhtml") return head;
  if (head !== "zip") throw new Unreadable("unsupported");
  const file = await Package.open(data);
  for (const [part, kind] of Object.entries(MAIN_PARTS)) if (file.has(part)) return kind;
  const mime = file.has("mimetype") ? await file.text("mimetype") : "";
  const found = (["odt", "ods"] as const).find((kind) => mime.startsWith(KINDS[kind].mime));
  if (found === undefined) throw new Unreadable("unsupported");
  return found;
}
