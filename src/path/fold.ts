// Names as a file system takes them that tells neither case nor composition apart.

/** Most names are; none of these characters is left out or composed. */
const ASCII = /^[\0-\x7f]*$/;

/**
 * Folds at least as much as any file system: names that differ folded are different files everywhere. HFS+ ignores some
 * invisible characters, so that `.g\u200cit` is `.git` there.
 */
export const foldName = (name: string): string => (ASCII.test(name) ? name.toLowerCase() : foldUnicode(name));

const foldUnicode = (name: string): string =>
  name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC");

/** Whether a path is that of a directory or of something in it. @param folds whether its root folds names */
export const isWithin = (path: readonly string[], directory: readonly string[], folds = false): boolean =>
  directory.every((name, index) => {
    const other = path[index];
    return name === other || (folds && other !== undefined && foldName(name) === foldName(other));
  });
