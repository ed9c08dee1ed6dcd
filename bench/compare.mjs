import { setTimeout as sleep } from "node:timers/promises";
import { shown, times } from "./harness.mjs";
import { inTurns, median, middleHalf, ratios, spent, timed } from "./timing.mjs";

/** By then the journal has written what waits, within the turn that caused it. */
const WRITTEN_MS = 25;

/**
 * A row of the ratio of two forms of the same work, in turns.
 *
 * @param forms `{ prepare?(index), run(index, prepared) }`; the time is that of `run` alone
 * @param by what is judged: "time" or "processor", which neighbours on the machine change less
 */
export async function compare({ quick, row }, { what, most, forms, rounds, calls, warmup = calls, by = "time" }) {
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
  row({ what, value: by === "time" ? ours / theirs : median(cpu), unit: "x", beside, most });
}
