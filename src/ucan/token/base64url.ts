/** Decodes unpadded base64url (RFC 4648, section 5), accepting only the canonical encoding. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
