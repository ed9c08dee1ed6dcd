/** Device and inode number of an object of the host, exact. Equal only for the same object. */
export type Identity = string & { readonly kind: "identity" };

/** Numbers as `stat` gives them. */
export interface Numbers {
  readonly dev: number | bigint;
  readonly ino: number | bigint;
}

/**
 * Whether no number was rounded. Inode numbers above 2^53 (overlays with `xino`, Lustre, some NFS) do not fit a double:
 * several of them become the same one. Then only a call with `bigint: true` tells objects apart.
 */
export const isExact = ({ dev, ino }: Numbers): boolean =>
  ino <= Number.MAX_SAFE_INTEGER && dev <= Number.MAX_SAFE_INTEGER;

/** @param numbers exact ones: bigints, or numbers that {@link isExact} accepts */
export const identityOf = ({ dev, ino }: Numbers): Identity => `${dev}:${ino}` as Identity;
