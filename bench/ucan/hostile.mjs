import { tokenCid } from "../../dist/ucan/token/id.js";
import { badlySigned, caller, owner, signer, token } from "./tokens.mjs";

const numbers = (count) => Array.from({ length: count }, (_, index) => index);
const people = numbers(64).map((number) => signer(100 + number));

/** A stranger signs the proofs, so that the last of them must be looked at. */
function eightOfFour(change = (text) => text) {
  return numbers(8).map((n) => {
    const prf = numbers(3).map((m) => change(token(people[8 + n * 3 + m], people[n])));
    return token(people[n], caller, { prf });
  });
}

/** Each has 3 tokens below it and these 4 each: 16, all looked at, since none gives what is asked for. */
function twoOfSixteen() {
  return numbers(2).flatMap((n) => {
    const middles = numbers(3).map((m) => {
      const prf = numbers(4).map((k) => token(people[n * 16 + m * 4 + k], people[40 + n], { nnc: k }));
      return token(people[40 + n], people[50 + n], { prf, nnc: m });
    });
    return [token(people[50 + n], caller, { prf: middles.map(tokenCid) }), ...middles];
  });
}

function deep() {
  const chain = (n) => {
    let prf = [];
    for (const level of numbers(5)) {
      prf = [token(people[n * 6 + level], level === 4 ? caller : people[n * 6 + level + 1], { prf })];
    }
    return prf[0];
  };
  return [...numbers(6).map(chain), ...numbers(2).map((n) => token(people[n], caller, { nnc: n }))];
}

/** Levels of 1, 1, 1, 1 and 4; what the owner signed reaches almost to the top, and there nothing fits by a hair. */
function lattice() {
  const line = [owner, ...people.slice(0, 4), caller];
  let below = [];
  const all = [];
  for (const level of numbers(5)) {
    const prf = below.map(tokenCid);
    const entries = fullList(level === 4 ? "z" : "y");
    below = numbers(level === 0 ? 4 : 1).map((n) =>
      token(line[level], line[level + 1], { list: entries, prf, nnc: n }),
    );
    all.unshift(...below);
  }
  return all;
}

const paths = (last) => numbers(32).map((n) => `file://docs/${"ab/".repeat(12)}${last}${n.toString(36)}`);
const fullList = (last) => ({ att: paths(last).map((path) => ({ with: path, can: "*" })) });

/** Requests that stay within every limit and are as expensive as we could make them, by what they do. None gives anything. */
export const HOSTILE = {
  "8 tokens with 3 proofs each, by 32 keys": () => eightOfFour(),
  "the same with bad signatures below": () => eightOfFour(badlySigned),
  "2 tokens with 16 each, by CID": twoOfSixteen,
  "6 tokens of depth 5, 2 more": deep,
  "8 tokens of 32 entries, 4 proofs, depth 5": lattice,
};
