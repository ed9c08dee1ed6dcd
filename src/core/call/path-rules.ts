/** Additional path rules of a facade. They only refuse more; among other things, dangling links are not removed. */
export interface PathRules {
  /** Number of leading segments that form a directory no link leads out of; none of them may be a link. */
  readonly floor: number;
  /** Only files and links can be removed; directories are IS_A_DIRECTORY. */
  readonly removesFilesOnly?: boolean;
}
