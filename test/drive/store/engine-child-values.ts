import { systemClock } from "../../../src/core/clock.js";
import { bytesOf } from "./cells.js";

export const ENGINE_OWNER = "did:key:z6MkAlice";
export const ENGINE_VENUE_KEY = new Uint8Array(32).fill(1);
export const engineClock = systemClock;

/** Where file number `file` goes. */
export const filePath = (file: number): readonly string[] => [`d${Math.floor(file / 100)}`, `f${file}`];

/** Every third one is so long that it goes to a pack. */
export const fileContent = (file: number): Uint8Array => bytesOf(file % 3 === 0 ? 9000 : 200, file);
