/** Exact device and inode number of a host file or directory. Equal only for the same object. */
export type Identity = string & { readonly kind: "identity" };

/** Device and inode number from `stat`. */
export interface Numbers {
  readonly dev: number | bigint;
  readonly ino: number | bigint;
}

/**
 * Whether neither number was rounded. Inode numbers above 2^53 (overlays with `xino`, Lustre, some NFS) do not fit a
 * double, so different ones collide. Then only `stat` with `bigint: true` distinguishes objects.
 */
export const isExact = ({ dev, ino }: Numbers): boolean =>
  ino <= Number.MAX_SAFE_INTEGER && dev <= Number.MAX_SAFE_INTEGER;

/** @param numbers must be exact: bigints, or numbers that {@link isExact} accepts */
export const identityOf = ({ dev, ino }: Numbers): Identity => `${dev}:${ino}` as Identity;

/** Device and inode number at the start of a version stamp of a host entry. */
export const identityInVersion = (version: string): string => version.split(":", 2).join(":");

/** Inode number in a version stamp of a host entry: its device may have another number after a restart. */
export const inodeInVersion = (version: string): string => version.split(":", 2)[1] ?? "";

/** A version stamp without its last part, the time of the last change, which a rename sets as well. */
export const withoutChangeTime = (version: string): string => version.slice(0, version.lastIndexOf(":"));

/** A larger number is a time in nanoseconds. */
const LATEST_MS = 1e15;
const MODIFIED_PART = 3;

/** The change time, in milliseconds, at the end of a version stamp, which has it in them or in nanoseconds. */
export const changedMsIn = (version: string): number => msOf(version.slice(version.lastIndexOf(":") + 1));

/** The time of the last change of content, in milliseconds; NaN where the stamp has none. */
export const modifiedMsIn = (version: string): number => msOf(version.split(":")[MODIFIED_PART]);

const msOf = (text: string | undefined): number => {
  const time = Number(text);
  return time > LATEST_MS ? time / 1e6 : time;
};
