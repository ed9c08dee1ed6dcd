// Large files go to a name of their own, and are moved into place: what is there stays there when the connection breaks or
// the page is loaded anew, and the same file goes on from it.

import { change, read } from "../../api/call.js";
import { holds, offers, takes } from "../../api/catalogue.js";
import { codeOf, isOffline } from "../../api/errors.js";
import { takesParts } from "../../api/features.js";
import { request, whenOnline } from "../../api/http.js";
import { sendFile } from "./sending.js";
import type { Unfinished } from "./unfinished.js";

/** Larger files are sent in parts. */
export const PARTS_FROM = 67_108_864;
/** The end of what is there is compared with the file before it goes on. */
const COMPARED_BYTES = 65_536;
/** A connection that breaks so often is given up, until one tries again. */
const MAX_BREAKS = 5;

interface Sending {
  readonly signal: AbortSignal;
  readonly onSent: (bytes: number) => void;
}

/** Whether a file goes in parts: it is moved at the end, which takes the right to delete the parts' name. */
export const goesInParts = (root: string, path: string, size: number): boolean =>
  size > PARTS_FROM && takesParts.value && offers("file:move") && holds("crud/delete", root, path);

/** Where the parts of a file are gathered: the same for the same file, whenever it is chosen. */
export function partPathOf(path: string, { name, size, lastModified }: File): string {
  let key = 0x811c9dc5;
  for (const char of `${name}/${size}/${lastModified}`) key = Math.imul(key ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return `${path}.${(key >>> 0).toString(36)}.part`;
}

/** Sends the missing bytes. Bytes that arrived before the connection broke stay. @throws ApiError */
export async function sendParts(one: Unfinished, file: File, { signal, onSent }: Sending): Promise<void> {
  let breaks = 0;
  for (let offset = await begunOf(one, file); offset < file.size; offset = await sizeOf(one)) {
    const from = offset;
    onSent(from);
    try {
      await sendFile({
        // A file as it is goes to the venue by a shorter way in the browser than a slice of it.
        ...{ method: "PATCH", root: one.root, path: one.part, signal, body: from === 0 ? file : file.slice(from) },
        headers: { "upload-offset": `${from}`, "upload-length": `${file.size}` },
        onProgress: (bytes) => onSent(from + bytes),
      });
      return;
    } catch (error) {
      // A part of a connection that broke may arrive after its size was asked for.
      const isBreak = isOffline(error) || codeOf(error) === "CONFLICT";
      if (!isBreak || breaks === MAX_BREAKS) throw error;
      breaks += 1;
      await whenOnline(signal);
    }
  }
}

const sizeOf = async ({ root, part }: Unfinished): Promise<number> => {
  const { exists, size = 0 } = await read("file:stat", { root, path: part });
  return exists ? size : 0;
};

/** Bytes of the file that have arrived. Other content at that name is removed. */
async function begunOf(one: Unfinished, file: File): Promise<number> {
  const size = await sizeOf(one);
  if (size === 0) return 0;
  if (size <= file.size && (await endsAs(one, file, size))) return size;
  await dropParts(one);
  return 0;
}

async function endsAs({ root, part }: Unfinished, file: File, size: number): Promise<boolean> {
  const from = Math.max(0, size - COMPARED_BYTES);
  const place = [root, ...part.split("/")].map(encodeURIComponent).join("/");
  const headers = { range: `bytes=${from}-${size - 1}` };
  const there = new Uint8Array(await (await request(`/api/v1/files/${place}`, { headers })).arrayBuffer());
  const own = new Uint8Array(await file.slice(from, size).arrayBuffer());
  return there.length === own.length && own.every((byte, index) => byte === there[index]);
}

/** Puts the sent file in place. @throws ApiError `ALREADY_EXISTS` */
export async function moveIntoPlace(
  { root, path, part }: Unfinished,
  replaced: { hash?: string } | undefined,
): Promise<void> {
  const known = replaced?.hash === undefined ? {} : { ifMatchTo: replaced.hash };
  const condition = replaced === undefined ? { ifNoneMatchTo: "*" } : { overwrite: true, ...known };
  await change("file:move", { root, path: part, to: path, ...condition });
}

/** Removes the sent part of an upload that is given up. */
export async function dropParts({ root, part }: Pick<Unfinished, "root" | "part">): Promise<void> {
  const forGood = takes("file:delete", "permanent") ? { permanent: true } : {};
  await change("file:delete", { root, path: part, ...forGood }).catch((error: unknown) => {
    if (codeOf(error) !== "NOT_FOUND") throw error;
  });
}
