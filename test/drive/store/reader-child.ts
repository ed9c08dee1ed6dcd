// Has a store open, without changing anything in it, until it is told to end.
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";

const store = await openEmbeddedStore({ path: process.argv[2] ?? "" });
process.stdout.write("open\n");
process.stdin.once("data", () => void store.close()).resume();
