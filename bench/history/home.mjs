import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFileAdapter } from "venue-files";
import { shown, times } from "../harness.mjs";
import { temporaryDirectory } from "../lifetime.mjs";
import { inTurns, median, middleHalf, ratios, spent, timed } from "../timing.mjs";

export const DURABILITIES = ["none", "flush"];
/** By then the journal has written what waits, within the turn that caused it. */
const WRITTEN_MS = 25;

/**
 * Roots with and without a journal, in one process. Two that are compared are one folder: how long a file system takes to make a file
 * depends on the folder.
 *
 * @returns `{ path, call(op, input), at(root, name) }`; roots `on-none`, `off-none`, `on-flush`, `off-flush`
 */
export async function openHome() {
  const path = temporaryDirectory();
  const roots = {};
  for (const durability of DURABILITIES) {
    const folder = join(path, durability);
    mkdirSync(folder);
    for (const journal of ["on", "off"]) roots[`${journal}-${durability}`] = { path: folder, journal, durability };
  }
  const adapter = await createFileAdapter({ roots, stateDir: join(path, "state") });
  return {
    path,
    at: (root, name = "") => join(roots[root].path, name),
    call: (op, input) => adapter.invoke(`file:${op}`, input),
  };
}

/**
 * A row of the ratio of two forms of the same work, in turns.
 *
 * @param forms `{ prepare?(index), run(index, prepared) }`; only `run` is timed
 */
export async function compare({ quick, row }, { what, most, forms, rounds, calls, warmup = calls }) {
  let next = 0;
  const turn = async ({ prepare, run }, count) => {
    const samples = [];
    const cpu = await spent(async () => {
      for (let call = 0; call < count; call++) {
        const index = next++;
        const prepared = await prepare?.(index);
        samples.push(await timed(() => run(index, prepared)));
      }
      await sleep(WRITTEN_MS);
    });
    return { samples, cpu };
  };
  for (const form of forms) await turn(form, warmup);
  const [one, other] = forms.map((form) => () => turn(form, calls));
  const found = await inTurns(quick ? Math.ceil(rounds / 5) : rounds, { one, other });
  const [ours, theirs] = [found.one, found.other].map((turns) => median(turns.flatMap(({ samples }) => samples)));
  const [spread, cpu] = [({ samples }) => median(samples), (one) => one.cpu].map((of) =>
    ratios(found.one.map(of), found.other.map(of)),
  );
  const half = middleHalf(spread)
    .map((ratio) => shown(ratio))
    .join(" to ");
  const beside = `${shown(ours)} to ${shown(theirs)} ms; middle half ${half}; processor ${times(median(cpu))}`;
  row({ what, value: ours / theirs, unit: "x", beside, most });
}
