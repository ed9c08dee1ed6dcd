// Entry of the thread that reads documents, one after the other. The thread ends with its process.

import { parentPort } from "node:worker_threads";
import type { DocumentKind } from "../core/call/documents.js";
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
import type { FileRequest, ThreadMessage } from "./messages.js";
import { Package } from "./package.js";

const send = (message: ThreadMessage): void => parentPort?.postMessage(message);

parentPort?.on("message", ({ request, data }: { readonly request: FileRequest; readonly data: Uint8Array }) => {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  // An error that a reader does not expect is damage too.
  endOf({ request, data: bytes }, new Flow(send, request.maxChars)).then(send, () =>
    send({ is: "fault", fault: "damaged" }),
  );
});

/** A file to read. */
interface ThreadFile {
  readonly request: FileRequest;
  readonly data: Buffer;
}

async function endOf(file: ThreadFile, flow: Flow): Promise<ThreadMessage> {
  try {
    await read(file, flow);
    flow.finish();
    return { is: "end" };
  } catch (error) {
    if (error instanceof Unreadable) return { is: "fault", fault: error.fault, peer: error.peer };
    if (!(error instanceof Ended)) throw error;
    if (error.why === "spent") flow.finish();
    return { is: "end", ends: error.why };
  }
}

type Reader = (file: Pick<ThreadFile, "data"> & Pick<FileRequest, "pages">, flow: Flow) => Promise<void>;

const READERS: Readonly<Record<DocumentKind, Reader>> = {
  // PDF.js takes no buffers of Node.
  pdf: ({ data, pages }, flow) => readPdf(new Uint8Array(data.buffer, data.byteOffset, data.length), pages, flow),
  docx: async ({ data }, flow) => readDocx(await Package.open(data), flow),
  xlsx: async ({ data }, flow) => readXlsx(await Package.open(data), flow),
  pptx: async ({ data, pages }, flow) => readPptx(await Package.open(data), pages, flow),
  odt: async ({ data }, flow) => readOdt(await Package.open(data), flow),
  ods: async ({ data }, flow) => readOds(await Package.open(data), flow),
  html: ({ data }, flow) => readHtml(data, false, flow),
  xhtml: ({ data }, flow) => readHtml(data, true, flow),
  ipynb: async ({ data }, flow) => readNotebook(data, flow),
};

async function read({ request, data }: ThreadFile, flow: Flow): Promise<void> {
  const kind = request.kind ?? (await kindOf(data));
  flow.facts({ kind });
  if (kindOfHead(data) === "compound") throw new Unreadable(data.includes(ENCRYPTED) ? "encrypted" : "unsupported");
  await READERS[kind]({ data, pages: request.pages }, flow);
}

/** Encrypted documents of Office are in files of the format before 2007, as a stream of this name. */
const ENCRYPTED = Buffer.from("EncryptedPackage", "utf16le");

/** Parts that only documents of a kind have. */
const MAIN_PARTS = { "word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx" } as const;

/** The kind of a document by what it holds. @throws Unreadable */
async function kindOf(data: Buffer): Promise<DocumentKind> {
  const head = kindOfHead(data);
  if (head === "pdf" || head === "html") return head;
  if (head !== "zip")
    throw new Unreadable(head === "compound" && data.includes(ENCRYPTED) ? "encrypted" : "unsupported");
  const file = await Package.open(data);
  for (const [part, kind] of Object.entries(MAIN_PARTS)) if (file.has(part)) return kind;
  const mime = file.has("mimetype") ? await file.text("mimetype") : "";
  const found = (["odt", "ods"] as const).find((kind) => mime.startsWith(KINDS[kind].mime));
  if (found === undefined) throw new Unreadable("unsupported");
  return found;
}
