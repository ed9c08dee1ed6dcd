// Tests that say nothing under Wine, or about Windows, each with its reason. What they hold is tested on Linux.

const ON_WINDOWS = "such names are reserved on Windows, as grammar-names.test.ts holds";

export const LEFT_OUT: readonly (readonly [name: RegExp, reason: string])[] = [
  [
    /grammar\.test › .* › (?:three dots|spaces|a colon that makes no drive|a drive form below|a letter that is not ASCII|Windows devices)/,
    ON_WINDOWS,
  ],
  [/grammar\.test › isPlainPath.* › "a\." is$/, ON_WINDOWS],
  [/names › case › of a name is changed by a move/, "Wine 8 leaves the case of a name when it is renamed to itself"],
];
