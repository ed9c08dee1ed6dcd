// Encrypts a stream in pieces that are authenticated one by one (STREAM construction with AES-256-GCM): no byte is released before
// it is verified, and a piece that is missing, moved or cut off is found.

import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { works } from "../../core/io.js";

/** First bytes of an encrypted backup, 8 of them. */
export const MAGIC = Buffer.from("VFBACK1\n", "latin1");
const SALT_BYTES = 16;
const TAG_BYTES = 16;
const PIECE_BYTES = 1_048_576;
/** 128 MiB of memory and about half a second for each guess. */
const SCRYPT = { N: 131_072, r: 8, p: 1, maxmem: 268_435_456 } as const;

/** The backup is damaged or cut, or the passphrase is not its own. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
}

const keyOf = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(passphrase.normalize("NFC"), salt, 32, SCRYPT, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

/** 11 bytes of counter, one that marks the last piece. */
function nonceOf(piece: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(piece, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** Header (magic, salt), then pieces of 1 MiB with their tags. */
export async function* sealStream(source: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  const salt = randomBytes(SALT_BYTES);
  const key = await keyOf(passphrase, salt);
  yield Buffer.concat([MAGIC, salt]);
  let number = 0;
  const piece = (plain: Buffer, isLast: boolean): Buffer => {
    const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number++, isLast)).setAAD(salt);
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  };
  for await (const { bytes, isLast } of cutIntoPieces(source, PIECE_BYTES)) yield piece(bytes, isLast);
}

/** @param source begins behind the magic @throws SealBroken */
export async function* unsealStream(source: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  const pieces = cutIntoPieces(source, PIECE_BYTES + TAG_BYTES, SALT_BYTES);
  const first = await pieces.next();
  const salt = first.done === true ? Buffer.alloc(0) : first.value.bytes;
  if (salt.length !== SALT_BYTES) throw new SealBroken("it is cut off");
  const key = await keyOf(passphrase, salt);
  let number = 0;
  let isWhole = false;
  for await (const { bytes, isLast } of pieces) {
    if (bytes.length < TAG_BYTES) throw new SealBroken("it is cut off");
    const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number, isLast)).setAAD(salt);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = decipher.update(bytes.subarray(0, -TAG_BYTES));
    if (!works(() => decipher.final())) {
      throw new SealBroken(
        number === 0 ? "the passphrase is not its own, or it is damaged" : "it is damaged or cut off",
      );
    }
    number++;
    isWhole = isLast;
    yield plain;
  }
  if (!isWhole) throw new SealBroken("it is cut off");
}

/** Cuts a stream into pieces of one size; the last may be shorter, or empty. @param head bytes of a first piece of its own */
async function* cutIntoPieces(
  source: AsyncIterable<Uint8Array>,
  size: number,
  head = 0,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isLast: boolean }> {
  let held: Buffer[] = [];
  let length = 0;
  let wanted = head === 0 ? size : head;
  for await (const chunk of source) {
    held.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    length += chunk.byteLength;
    // A full piece is held back until more comes: only then it is not the last.
    while (length > wanted) {
      const all = Buffer.concat(held);
      yield { bytes: all.subarray(0, wanted), isLast: false };
      held = [all.subarray(wanted)];
      length -= wanted;
      wanted = size;
    }
  }
  yield { bytes: Buffer.concat(held), isLast: true };
}
