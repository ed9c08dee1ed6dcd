import { OUTSIDE, ROUNDS, type Round } from "./race-rounds.js";

type Kind = keyof typeof ROUNDS;

/** What is opened by a call, so that the system is asked where that is before a byte of it is read or changed. */
const OPENING: Readonly<Record<Kind, readonly string[]>> = {
  directory: ["read", "grep", "grep from above", "append"],
  file: ["read", "grep", "grep from above", "append"],
  link: ["read", "grep", "append"],
};

/** What a copy has taken along shows when it is read. */
const copy: Round = {
  name: "copy of a file out of it",
  plant: ROUNDS.directory.rounds[0]?.plant ?? (() => {}),
  async call(files, n) {
    await files.invoke("copy", { path: "pivot/file", to: `copy${n % 50}`, overwrite: true });
    return files.invoke("read", { path: `copy${n % 50}` });
  },
  shows: (output) => JSON.stringify(output).includes(OUTSIDE),
};

const roundsOf = (kind: Kind, isOpening: boolean): readonly Round[] => [
  ...ROUNDS[kind].rounds.filter(({ name }) => OPENING[kind].includes(name) === isOpening),
  ...(kind === "directory" && isOpening ? [copy] : []),
];

const KINDS = Object.keys(ROUNDS) as Kind[];
const rounds = (isOpening: boolean) =>
  KINDS.flatMap((kind) =>
    roundsOf(kind, isOpening).map((round) => [`${kind}: ${round.name}`, { ...ROUNDS[kind], round }] as const),
  );

/** Calls on the real-path engine that must not show or change content of the outside, and those that go by paths alone. */
export const CONTENT_ROUNDS = rounds(true);
export const PATH_ROUNDS = rounds(false);
