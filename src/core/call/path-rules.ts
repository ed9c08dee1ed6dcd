/** What a facade asks of paths beside what their root does: it only ever refuses more. A link that leads nowhere is not removed either. */
export interface PathRules {
  /** So many leading names of each path are a directory that no link leads out of; none of them may be a link. */
  readonly floor: number;
  /** Only files and links are removed: IS_A_DIRECTORY for others. */
  readonly removesFilesOnly?: boolean;
}
