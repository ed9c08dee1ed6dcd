// Checks the lines of one chain as they come: numbers, hashes, and the signatures of checkpoints.

import { type AuditLine, type Checkpoint, type Link, signatureOf } from "./chain.js";

/** Verifies an Ed25519 signature in base64url. `false` also for a DID that is no `did:key`. */
export type VerifySignature = (did: string, text: string, signature: string) => boolean;

export interface LinePlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A fault of a line or a chain. */
export interface Finding extends Partial<LinePlace> {
  readonly verdict: "changed" | "removed" | "moved" | "added" | "missing" | "cut" | "unsigned" | "foreign";
  readonly chain?: string;
  /** Number of the line; of the first, if several were removed. */
  readonly n?: number;
  /** Number of the last of several lines. */
  readonly to?: number | undefined;
  readonly detail?: string | undefined;
}

export interface ChainReport {
  readonly chain: string;
  readonly from: number;
  readonly to: number;
  /** Number of the last checkpoint. */
  readonly checkpoint: number | undefined;
  /** `ended`: by a last checkpoint; `checkpoint`: none says that it ended; `open`: lines follow the last checkpoint. */
  readonly end: "ended" | "checkpoint" | "open";
  /** The signer. */
  readonly did: string | undefined;
  readonly ephemeral: boolean;
  /** Records that were dropped, by the lines' own count. */
  readonly lost: number;
}

/** A line with where it stands. */
export interface PlacedLine {
  readonly place: LinePlace;
  readonly link: Link;
  readonly line: AuditLine;
  readonly text: string;
  readonly hash: string;
}

/** Lines of the same number, of which one at most is genuine. */
interface Candidates {
  readonly n: number;
  readonly lines: PlacedLine[];
}

interface Gap {
  readonly from: number;
  readonly to: number;
  readonly place: LinePlace;
  readonly missing: Set<number>;
}

/** Missing numbers that are followed one by one, to tell a moved line from an added one. */
const MAX_FOLLOWED = 100_000;

export class ChainCheck {
  readonly findings: Finding[] = [];
  /** Checkpoints of other chains that the first line names. */
  readonly named: Checkpoint[] = [];
  readonly #chain: string;
  readonly #rules: { readonly verifySignature: VerifySignature; readonly did?: string | undefined };
  readonly #gaps: Gap[] = [];
  readonly #checkpoints = new Map<number, string>();
  #followed = MAX_FOLLOWED;
  #first = 0;
  #last: Candidates | undefined;
  #signed: number | undefined;
  #did: string | undefined;
  #ephemeral = false;
  #end: ChainReport["end"] = "open";
  #lost = 0;

  constructor(chain: string, rules: { readonly verifySignature: VerifySignature; readonly did?: string | undefined }) {
    this.#chain = chain;
    this.#rules = rules;
  }

  add(line: PlacedLine): void {
    const { n } = line.link;
    const last = this.#last;
    if (last === undefined) this.#first = n;
    else if (n <= last.n) {
      this.#addOld(line, last);
      return;
    } else if (n > last.n + 1) this.#openGap(last.n + 1, n - 1, line.place);
    else this.#checkPrev(line, last);
    this.#last = { n, lines: [line] };
    this.#lost += line.line.lost ?? 0;
    if (n === 1 && line.link.prev !== null) this.#find("changed", line);
    if (line.line.checkpoint !== undefined) this.#checkSignature(line);
    else {
      this.#end = "open";
      if (n === 1) this.#find("added", line, "its chain does not begin with a signed line");
    }
  }

  /** To be called after the last line. */
  end(): void {
    for (const { from, to: end, place, missing } of this.#gaps) {
      if (missing.size === 0) continue;
      const [first = from] = missing;
      const last = [...missing].at(-1) ?? end;
      const to = last > first ? last : undefined;
      this.findings.push({ verdict: "removed", ...place, chain: this.#chain, n: first, to });
    }
    const [genuine, ...others] = this.#last?.lines ?? [];
    if (genuine !== undefined) for (const other of others) this.#find("added", other);
    if (this.#signed === undefined) this.findings.push({ verdict: "unsigned", chain: this.#chain, n: this.#first });
  }

  /** Compares the chain with a checkpoint named elsewhere. @returns the fault where its line was cut or changed */
  findMissing({ chain, n, hash }: Checkpoint): Finding | undefined {
    if (n < this.#first) return undefined;
    if (n > (this.#last?.n ?? 0)) return { verdict: "cut", chain, n };
    if (this.#checkpoints.get(n) === hash) return undefined;
    // A removed or altered line has been found already.
    return this.findings.length > 0 ? undefined : { verdict: "changed", chain, n };
  }

  report(): ChainReport {
    return {
      chain: this.#chain,
      from: this.#first,
      to: this.#last?.n ?? 0,
      checkpoint: this.#signed,
      end: this.#end,
      did: this.#did,
      ephemeral: this.#ephemeral,
      lost: this.#lost,
    };
  }

  /** A line whose number is not above the last: it was moved here, or is there twice. */
  #addOld(line: PlacedLine, last: Candidates): void {
    const { n } = line.link;
    const gap = this.#gaps.find(({ missing }) => missing.has(n));
    if (gap !== undefined) {
      gap.missing.delete(n);
      this.#find("moved", line);
    } else if (n === last.n) last.lines.push(line);
    else this.#find("added", line);
  }

  #openGap(from: number, to: number, place: LinePlace): void {
    const count = to - from + 1;
    const isShort = count <= this.#followed;
    if (isShort) this.#followed -= count;
    const missing = isShort ? Array.from({ length: count }, (_, index) => from + index) : [from, to];
    this.#gaps.push({ from, to, place, missing: new Set(missing) });
  }

  #checkPrev({ link, line }: PlacedLine, { lines }: Candidates): void {
    const genuine = lines.find(({ hash }) => hash === link.prev);
    const [first] = lines;
    if (genuine === undefined && first !== undefined) {
      const detail = line.checkpoint && "or lines before it, back to the last checkpoint";
      this.#find("changed", first, detail);
    }
    for (const other of lines) if (other !== (genuine ?? first)) this.#find("added", other);
  }

  #checkSignature(line: PlacedLine): void {
    const { did, ephemeral = false, others = [], end = false } = line.line.checkpoint ?? { did: "" };
    const made = signatureOf(line.text);
    if (
      made === undefined ||
      typeof did !== "string" ||
      !this.#rules.verifySignature(did, made.signed, made.signature)
    ) {
      this.#find("changed", line, "its signature is not valid");
      return;
    }
    const expected = this.#rules.did ?? this.#did ?? did;
    if (did !== expected) this.#find("foreign", line, `signed by ${did}`);
    this.#did ??= did;
    this.#ephemeral ||= ephemeral;
    this.#signed = line.link.n;
    this.#checkpoints.set(line.link.n, line.hash);
    this.#end = end ? "ended" : "checkpoint";
    if (line.link.n === 1 && Array.isArray(others)) this.named.push(...others);
  }

  #find(verdict: Finding["verdict"], { place, link }: PlacedLine, detail?: string): void {
    this.findings.push({ verdict, ...place, chain: this.#chain, n: link.n, detail });
  }
}
