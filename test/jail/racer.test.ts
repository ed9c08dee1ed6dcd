import { rmSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { race } from "./race.js";
import { ROUNDS } from "./race-rounds.js";
import { raceDeletions } from "./race-deletion.js";
import { join } from "node:path";
import { withFiles } from "./files.js";

test("del", async () => {
 const t0=performance.now();
 const c = await raceDeletions((arena, tree) => { try { rmSync(join(arena.root, tree), {recursive:true, force:true}) } catch {} }, (s) => s.trees>=40);
 process.stdout.write(`rmSync ${JSON.stringify(c)} ${performance.now()-t0}\n`);
 const t1=performance.now();
 const d = await raceDeletions(async (arena, tree) => { await withFiles(arena.root, async files => { await files.invoke("delete", {path: tree, recursive:true}) }) }, (s) => s.trees>=40);
 process.stdout.write(`ours ${JSON.stringify(d)} ${performance.now()-t1}\n`);
});
