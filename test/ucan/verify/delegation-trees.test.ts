import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { tokenCid } from "../../../src/ucan/token/id.js";
import { badlySigned, gives, helper, lead, owner, stranger, worker } from "../chains.js";
import { NOW, type Signer } from "../tokens.js";
import { verifierBy } from "./judge.js";

const PEOPLE = [owner, lead, worker, helper, stranger];

/** A delegation, as a person would write it down. */
interface Deed {
  readonly by: Signer;
  readonly to: Signer;
  /** `path ability`. */
  readonly grants: readonly string[];
  readonly end: number;
  readonly begin: number;
  readonly isForged: boolean;
  readonly rests: readonly { readonly on: Deed; readonly byCid: boolean }[];
  readonly token: string;
}

const path = fc.constantFrom("docs", "docs/a", "docs/a/b", "docs/ab", "other", "");
const ability = fc.constantFrom("crud", "crud/read", "crud/write", "*");
const grant = fc.tuple(path, ability).map(([where, what]) => `${where} ${what}`);
const rarely = fc.nat(11).map((n) => n === 0);
const often = fc.nat(3).map((n) => n > 0);

interface Rest {
  readonly on: number;
  readonly byCid: boolean;
  readonly isLast: boolean;
}

const rest: fc.Arbitrary<Rest> = fc.record({ on: fc.nat(), byCid: fc.boolean(), isLast: often });

/** How one deed is made, numbers being counted in the deeds made before. */
const plan = fc.record({
  rests: fc.oneof(
    { weight: 1, arbitrary: fc.constant<Rest[]>([]) },
    { weight: 6, arbitrary: fc.array(rest, { minLength: 1, maxLength: 3 }) },
  ),
  isStray: rarely,
  by: fc.constantFrom(...PEOPLE),
  to: fc.constantFrom(...PEOPLE),
  grants: fc.array(grant, { minLength: 1, maxLength: 3 }),
  isCopied: often,
  end: fc.constantFrom(-100, 1000, 1000, 1000, 1000, 2000),
  isLate: rarely,
  isForged: rarely,
});

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function write(plans: readonly Plan[]): Deed[] {
  const deeds: Deed[] = [];
  for (const { rests: wanted, isStray, isCopied, isLate, ...rest } of plans) {
    // Mostly on the last ones, so that chains become long.
    const rests = wanted.flatMap(({ on, byCid, isLast }) => {
      const deed = deeds.at(isLast ? -1 : on % Math.max(deeds.length, 1));
      return deed === undefined ? [] : [{ on: deed, byCid }];
    });
    const below = rests[0]?.on;
    const by = isStray ? rest.by : (below?.to ?? owner);
    const grants = isCopied && below !== undefined ? below.grants : rest.grants;
    const end = rest.end < 0 && rest.to !== stranger ? 1000 : rest.end;
    const begin = isLate ? 500 : -500;
    const att = grants.map((text) => {
      const [where, can] = text.split(" ");
      return { with: `file://${where}`, can };
    });
    const prf = rests.map(({ on, byCid }) => (byCid ? tokenCid(on.token) : on.token));
    const claims = { nbf: NOW + begin, fct: [{ n: deeds.length }] };
    const token = gives(by, rest.to, { att, prf, for: end }, { claims });
    deeds.push({ ...rest, by, grants, end, begin, rests, token: rest.isForged ? badlySigned(token) : token });
  }
  return deeds;
}

/** What a deed gives by the rules as they are written, at once and without regard to cost. */
function reference(deed: Deed, sent: ReadonlySet<Deed>, root: Signer): readonly string[] {
  const rests = restsOf(deed, sent);
  if (deed.token.length > 8192 || deed.isForged || deed.end <= -30 || deed.begin > 30) return [];
  if (deed.by === root) return deed.grants;
  return deed.grants.filter((grant) =>
    rests.some((proof) => proof.to === deed.by && reference(proof, sent, root).some((wide) => isWithin(grant, wide))),
  );
}

/** The proofs that can be found. */
const restsOf = (deed: Deed, sent: ReadonlySet<Deed>): Deed[] =>
  deed.rests.filter(({ on, byCid }) => !byCid || (sent.has(on) && on.token.length <= 8192)).map(({ on }) => on);

const depthOf = (deed: Deed, sent: ReadonlySet<Deed>): number =>
  1 + Math.max(0, ...restsOf(deed, sent).map((below) => depthOf(below, sent)));

function isWithin(grant: string, wide: string): boolean {
  const [where = "", what = ""] = grant.split(" ");
  const [wideWhere = "", wideWhat = ""] = wide.split(" ");
  const isBelow = wideWhere === "" || `${where}/`.startsWith(`${wideWhere}/`);
  return isBelow && (wideWhat === "*" || `${what}/`.startsWith(`${wideWhat}/`));
}

const isNever = (deed: Deed, sent: ReadonlySet<Deed>): boolean => depthOf(deed, sent) > 5 || deed.token.length > 8192;

test("what random delegations give is what the rules say", () => {
  const depths: number[] = [];
  const scenario = fc.record({ plans: fc.array(plan, { minLength: 3, maxLength: 9 }), order: fc.array(fc.nat()) });
  fc.assert(
    fc.property(scenario, ({ plans, order }) => {
      const deeds = write(plans);
      const shuffled = deeds.map((deed, n) => ({ deed, by: order[n] ?? 0 })).sort((a, b) => a.by - b.by);
      const sent = new Set(shuffled.map(({ deed }) => deed).slice(0, 8));
      fc.pre([...sent].reduce((sum, { token }) => sum + token.length, 0) <= 32_768);
      const read = verifierBy().read([...sent].map(({ token }) => token));
      for (const [n, deed] of [...sent].entries()) {
        for (const root of [owner, lead]) {
          const given = read[n]?.verdict(root.did).grants ?? [];
          const expected = isNever(deed, sent) ? [] : reference(deed, sent, root);
          expect(given.map(({ grant: { written } }) => `${written.with.slice(7)} ${written.can}`)).toEqual(expected);
          for (const { chain, expiresAt } of given) {
            expect(chain.at(-1)?.issuer).toBe(root.did);
            expect(expiresAt).toBeLessThanOrEqual(NOW + deed.end);
            expect(expiresAt).toBeGreaterThan(NOW - 30);
            depths.push(chain.length);
          }
        }
      }
    }),
    { numRuns: 250 },
  );
  // Else it was all about single tokens, or about nothing.
  const counts = [1, 2, 3].map((depth) => depths.filter((one) => one === depth).length);
  expect(Math.min(...counts)).toBeGreaterThan(0);
});
