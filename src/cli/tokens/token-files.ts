// Reads tokens from files, variables and standard input.

import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { MAX_TOKEN_BYTES } from "../../ucan/token/decode.js";
import { type CommandContext, EXIT } from "../context.js";
import { readReference } from "../environment-reference.js";

/** Limits of one request. */
const MAX_TOKENS = 8;
const MAX_BYTES = 32_768;
/** Leaves room for line endings and blank lines. */
const MAX_TEXT_BYTES = MAX_BYTES + 1024;
/** Three parts in base64url; the contents are not checked here. */
const TOKEN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

type Place = Pick<CommandContext, "env" | "cwd" | "stdin">;

/**
 * Reads tokens from references, each a file or `env:NAME`, with one token per line.
 *
 * @throws ConfigError 66 if a file cannot be read, 78 if it contains anything else, or more than a request can hold.
 * Never shows a token
 */
export function readTokens(references: readonly string[], place: Place): readonly string[] {
  return checkTokens(references.flatMap((reference) => parseReference(reference, place)));
}

function parseReference(reference: string, place: Place): readonly string[] {
  const shown = `"${escapeText(reference)}"`;
  const unreadable = `Cannot read tokens from ${shown}`;
  return parseTokens(
    readReference(reference, place, { what: "tokens", maxBytes: MAX_TEXT_BYTES, unreadable }).text,
    shown,
  );
}

function checkTokens(tokens: readonly string[]): readonly string[] {
  const bytes = tokens.reduce((sum, token) => sum + token.length, 0);
  if (tokens.length > MAX_TOKENS || bytes > MAX_BYTES) {
    throw new ConfigError([`Too many tokens: at most ${MAX_TOKENS} and ${MAX_BYTES} bytes together`], EXIT.config);
  }
  return tokens;
}

/** Reads tokens from one reference, or from standard input for `-`. @throws ConfigError as {@link readTokens} */
export async function readTokensOrStdin(reference: string, place: Place): Promise<readonly string[]> {
  if (reference !== "-") return readTokens([reference], place);
  const text = await readStdin(place.stdin, MAX_TEXT_BYTES);
  if (text === undefined) throw new ConfigError(["Standard input holds more than a request's tokens"], EXIT.config);
  return checkTokens(parseTokens(text, "Standard input"));
}

/** Reads standard input to the end. @returns `undefined` if it exceeds `maxBytes` */
export async function readStdin(stdin: AsyncIterable<unknown>, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk instanceof Uint8Array ? chunk : String(chunk));
    length += bytes.length;
    if (length > maxBytes) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** @param shown name of the source, for messages */
function parseTokens(text: string, shown: string): readonly string[] {
  const tokens: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const token = line.trim();
    if (token === "") continue;
    if (!TOKEN.test(token)) throw new ConfigError([`${shown} holds no token in line ${index + 1}`], EXIT.config);
    if (token.length > MAX_TOKEN_BYTES) {
      throw new ConfigError([`${shown} holds a token of more than ${MAX_TOKEN_BYTES} bytes`], EXIT.config);
    }
    tokens.push(token);
  }
  if (tokens.length === 0) throw new ConfigError([`${shown} holds no token`], EXIT.config);
  return tokens;
}
