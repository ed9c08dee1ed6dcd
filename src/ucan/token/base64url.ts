/** Decodes unpadded base64url, strictly: only the one text that encoding the bytes gives again. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
