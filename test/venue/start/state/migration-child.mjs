// Migrates a state directory by two steps and is killed: `migration-child.mjs DIRECTORY rounds` in every call of the file system in turn,
// as if the process had ended there (nothing that it does afterwards reaches the disk), and again in some calls of the next try;
// `… kill N` really, in call N.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const [, , directory, mode, at] = process.argv;
const CHANGING = [
  "writeFileSync",
  "renameSync",
  "rmSync",
  "mkdirSync",
  "cpSync",
  "linkSync",
  "unlinkSync",
  "fsyncSync",
];
const real = Object.fromEntries(CHANGING.map((name) => [name, fs[name]]));
let calls = 0;
let killAt = Infinity;
class Killed extends Error {}
for (const name of CHANGING) {
  fs[name] = (...args) => {
    calls += 1;
    if (calls === killAt && mode === "kill") process.kill(process.pid, "SIGKILL");
    if (calls >= killAt && mode !== "kill") throw new Killed(`${name} ${calls}`);
    return real[name](...args);
  };
}
syncBuiltinESMExports();
const { migrateState } = await import("../../../../dist/venue/start/state/migrate.js");
const { checkFormat } = await import("../../../../dist/venue/start/state/format.js");

/** Steps that write their files one after another, so that a kill in between leaves some of each format. */
const migrations = [1, 2].map((from) => ({
  changes: ["tokens"],
  run(state) {
    for (const name of ["a", "b", "c"])
      fs.writeFileSync(join(state, "tokens", name), `${name} of format ${from + 1}\n`);
  },
}));
const migrate = () => migrateState(directory, { migrations, formatOf: () => checkFormat(directory, 3) });

if (mode === "kill") {
  killAt = Number(at);
  migrate();
} else {
  const found = [];
  /** Migrates until the given call. @returns whether it came to its end */
  const migrateUntil = (call) => {
    calls = 0;
    killAt = call;
    try {
      migrate();
      return true;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      return false;
    } finally {
      killAt = Infinity;
      // The lock is that of a living process here; a dead one's is passed over, as the kills by signal show.
      real.rmSync(join(directory, "format.lock"), { force: true });
    }
  };
  for (let isDone = false, round = 0; !isDone; round++) {
    real.rmSync(directory, { recursive: true, force: true });
    real.mkdirSync(join(directory, "tokens"), { recursive: true });
    for (const name of ["a", "b", "c"]) real.writeFileSync(join(directory, "tokens", name), `${name} of format 1\n`);
    real.writeFileSync(join(directory, "format"), "1\n");
    // Four second kills for each first one.
    isDone = migrateUntil(Math.floor(round / 4) + 1);
    const killed = look();
    if (!isDone) migrateUntil((round % 4) * 6 + 2);
    const killedAgain = look();
    migrate();
    found.push({ killed, killedAgain, after: look() });
  }
  process.stdout.write(JSON.stringify(found));
}

function look() {
  const read = (path) => {
    try {
      return fs.readFileSync(join(directory, path), "utf8").trim();
    } catch {
      return undefined;
    }
  };
  const formatsOf = (folder) => {
    const texts = ["a", "b", "c"].map((name) => /^([abc]) of format (\d)$/.exec(read(`${folder}/${name}`) ?? ""));
    return texts.map((match) => Number(match?.[2] ?? 0));
  };
  const copies = [1, 2].map((one) => formatsOf(`format-${one}.bak/tokens`));
  return { format: read("format"), tokens: formatsOf("tokens"), copies };
}
