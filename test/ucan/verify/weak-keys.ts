const PRIME = 2n ** 255n - 19n;
const SIGN = 2n ** 255n;

/** The vertical coordinate of the points of order eight, found by its own arithmetic: `d·y⁴ + 2·y² = 1`. */
function orderEight(): bigint {
  const d = mod(-121_665n * inverse(121_666n));
  // Twice such a point is one of order four, so x² = -y²; the rest is the equation of the curve.
  const root = squareRoot(mod(1n + d));
  const square = [mod((root - 1n) * inverse(d)), mod((-root - 1n) * inverse(d))].find(isSquare);
  return squareRoot(square ?? 0n);
}

/** The keys of small order as 32 bytes in hex, each with both signs, and the ways to write them that are too large. */
export function smallOrderKeys(): string[] {
  const eight = orderEight();
  const coordinates = [0n, 1n, PRIME - 1n, eight, PRIME - eight, PRIME, PRIME + 1n];
  return coordinates.flatMap((y) => [hexOf(y), hexOf(y + SIGN)]);
}

const mod = (value: bigint): bigint => ((value % PRIME) + PRIME) % PRIME;
const inverse = (value: bigint): bigint => power(value, PRIME - 2n);
const isSquare = (value: bigint): boolean => power(value, (PRIME - 1n) / 2n) === 1n;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}

/** For a prime that leaves 5 when divided by 8. */
function squareRoot(value: bigint): bigint {
  const root = power(value, (PRIME + 3n) / 8n);
  return mod(root * root) === mod(value) ? root : mod(root * power(2n, (PRIME - 1n) / 4n));
}

/** Least significant byte first. */
const hexOf = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse().toString("hex");
