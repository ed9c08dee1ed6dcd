import { readFileSync } from "node:fs";
import { ZipFile } from "yazl";
import type { DocumentFault, DocumentKind, DocumentSession, DocumentText } from "../../src/core/call/documents.js";
import { kindByName } from "../../src/documents/kinds.js";

/** One small document of each kind. */
export const DOCUMENTS = [
  ...["python-docx.docx", "xlsxwriter.xlsx", "python-pptx.pptx", "libreoffice.odt", "libreoffice.ods"],
  ...["libreoffice.html", "libreoffice.pdf", "pandoc.xhtml", "nbformat4.ipynb", "nbformat3.ipynb"],
] as const;

export const documentOf = (name: string): Buffer => readFileSync(new URL(`files/${name}`, import.meta.url));

export const readBytes = (
  session: DocumentSession,
  bytes: Buffer,
  kind: DocumentKind | undefined,
  withinMs = 20_000,
): Promise<DocumentText | DocumentFault> =>
  session.read({ source: [bytes], size: bytes.length, kind, maxChars: 100_000, withinMs });

/** A zip of parts. Packing takes longer than reading: empty ones are stored, and others packed at the least level. */
export async function zipOf(parts: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(parts))
    zip.addBuffer(Buffer.from(content), name, content.length > 0 ? { compressionLevel: 1 } : { compress: false });
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

/** The same numbers at every run. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Reads a document cut at every sixteenth, and with some bytes changed. @returns answers that are neither text nor a fault */
export async function damaged(session: DocumentSession, name: string, mutations: number): Promise<unknown[]> {
  const whole = documentOf(name);
  const kind = kindByName(name);
  const odd: unknown[] = [];
  const look = async (bytes: Buffer, what: string) => {
    const found = await readBytes(session, bytes, kind);
    const isFault = "fault" in found && ["damaged", "encrypted", "unsupported", "spent"].includes(found.fault);
    const isText = "parts" in found && found.parts.every(({ text }) => text.isWellFormed());
    if (!isFault && !isText) odd.push({ name, what, found });
  };
  for (let part = 0; part < 16; part++)
    await look(whole.subarray(0, Math.floor((whole.length * part) / 16)), `cut ${part}`);
  const random = numbers(whole.length);
  const next = (below: number): number => Math.floor(Number(random.next().value) * below);
  for (let count = 0; count < mutations; count++) {
    const bytes = Buffer.from(whole);
    for (let changes = 1 + next(8); changes > 0; changes--) bytes[next(bytes.length)] = next(256);
    await look(bytes, `mutation ${count}`);
  }
  return odd;
}
