/**
 * Encodes a name as a folder name valid on every system: other characters become `%` and the hex of their UTF-8 bytes.
 */
export function folderOf(name: string): string {
  const encoded = name.replace(/[^\p{L}\p{N}._ -]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
  // Windows drops trailing dots and spaces, and leading dots hide or lead up.
  return encoded.replace(/^[. ]|[. ]$/g, (end) => (end === "." ? "%2E" : "%20"));
}
