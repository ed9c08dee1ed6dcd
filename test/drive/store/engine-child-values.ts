import { systemClock } from "../../../src/core/clock.js";
import { bytesOf } from "./cells.js";

export const ENGINE_OWNER = "did:key:z6MkAlice";
export const ENGINE_VENUE_KEY = new Uint8Array(32).fill(1);
export const engineClock = systemClock;

/** Where file number `file` goes. */
export const filePath = (file: number): readonly string[] => [`d${Math.floor(file / 100)}`, `f${file}`];

/** Every third one is so long that it goes to a pack. */
export const fileContent = (file: number): Uint8Array => bytesOf(file % 3 === 0 ? 9000 : 200, file);

/** The two files that logged change number `change` writes. */
export const loggedNames = (change: number): readonly string[] => [`a${change % 7}`, `b${change % 5}`];

/** It names the change; every third one is so long that it goes to a pack. */
export const loggedContent = (change: number): Uint8Array =>
  Buffer.from(`${change} `.padEnd(change % 3 === 0 ? 9000 : 200, "x"));
