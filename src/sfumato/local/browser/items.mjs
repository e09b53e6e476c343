// Plans and items: JSON that keeps every digit, and the codes of items.

import { bitLength, join, toNumber, utf8 } from "./bytes.mjs";

const LONGEST_NUMBER = 400;

class Numeral {
  constructor(text) {
    this.text = text;
  }
}

/** Read JSON without losing digits: whole numbers that a double cannot hold become BigInt. */
export function readJson(text, keep = false) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = text.replace(token, (found) => (found[0] === '"' ? found : `{"\\u0000":"${found}"}`));
  return JSON.parse(marked, (_, value) => {
    if (value === null || typeof value !== "object" || !("\u0000" in value)) return value;
    const written = value["\u0000"];
    if (keep) return new Numeral(written);
    return /^-?\d+$/.test(written) && !Number.isSafeInteger(Number(written)) ? BigInt(written) : Number(written);
  });
}

/** Write JSON as the digest of a plan needs it: keys sorted, no spaces, ASCII only, numbers as they were written. */
export function canonical(value) {
  if (value instanceof Numeral) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  const escape = (letter) => "\\u" + letter.charCodeAt(0).toString(16).padStart(4, "0");
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escape);
}

export function refuse(sentence) {
  throw new Error(sentence);
}

/** Return an exact fraction [numerator, denominator] of what "3", "-0.25", "1e-3" or "1/3" shows, or null. */
export function fraction(text) {
  const found = /^\s*([+-]?)(\d+)(?:\/(\d+)|(?:\.(\d*))?(?:[eE]([+-]?\d+))?)\s*$/.exec(text);
  if (!found || text.length > LONGEST_NUMBER || Math.abs(Number(found[5] ?? 0)) > LONGEST_NUMBER) return null;
  const [, sign, whole, below, decimals = "", exponent = "0"] = found;
  let top = BigInt(whole + decimals) * (sign === "-" ? -1n : 1n);
  let bottom = below === undefined ? 1n : BigInt(below);
  const shift = BigInt(Number(exponent) - decimals.length);
  if (shift > 0n) top *= 10n ** shift;
  else bottom *= 10n ** -shift;
  return bottom === 0n ? null : [top, bottom];
}

const FIXED = 1n << 256n;

/**
 * Return whether odds [numerator, denominator], taken `times` over, are at most e^limit, limit an exact fraction. All in
 * whole numbers: e^(limit / times) is summed downwards in steps of 2^-256, so what is said to fit does.
 */
export function oddsWithin([top, bottom], times, limit) {
  if (limit === null || limit[0] <= 0n) return false;
  const [up, down] = [limit[0], limit[1] * BigInt(times)];
  // No plan has larger odds, and the sum would be long.
  if (up > 200n * down) return true;
  let sum = FIXED;
  let term = FIXED;
  for (let k = 1n; term > 0n; k++) {
    term = (term * up) / (down * k);
    sum += term;
  }
  return top * FIXED <= sum * bottom;
}

/** Return a number as people read it, with six digits. */
export const show = (number) => String(Number(number.toPrecision(6)));

// Items: each reader returns { bits, last, code }, where code(item) is a BigInt up to last, or null if it does not fit.

const wholeNumber = (item) => {
  if (typeof item === "bigint") return item;
  return typeof item === "number" && Number.isSafeInteger(item) ? BigInt(item) : null;
};

const ranged = (low, high, read) => ({
  bits: Math.max(1, bitLength(high - low)),
  last: high - low,
  code: (item) => {
    const number = read(item);
    return number === null || number < low || number > high ? null : number - low;
  },
});

export const dayNumber = (text) => {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const moment = new Date(text + "T00:00:00Z");
  const real = !Number.isNaN(moment.getTime()) && moment.toISOString().slice(0, 10) === text;
  return real ? BigInt(moment.getTime() / 86400000) : null;
};

const marked = (bytes, most) => (bytes.length <= most ? toNumber(join([1], bytes)) : null);

export const ITEMS = {
  integer: ({ low, high }) => ranged(BigInt(low), BigInt(high), wholeNumber),
  boolean: () => ranged(0n, 1n, (item) => (typeof item === "boolean" ? BigInt(item) : null)),
  date: ({ earliest, latest }) => ranged(dayNumber(earliest), dayNumber(latest), dayNumber),
  fixed: ({ low, high, step }) => {
    const [up, down] = fraction(step);
    const steps = (text) => {
      const number = fraction(text);
      if (number === null) return null;
      const top = number[0] * down, bottom = number[1] * up;
      return top % bottom === 0n ? top / bottom : null;
    };
    const numeric = (item) => ["number", "bigint", "string"].includes(typeof item);
    return ranged(steps(low), steps(high), (item) => (numeric(item) ? steps(String(item)) : null));
  },
  category: ({ values, other }) => {
    const labels = other === undefined ? values : [...values, other];
    const places = new Map(labels.map((label, i) => [typeof label === "string" ? label : BigInt(label), BigInt(i)]));
    const read = (item) => places.get(typeof item === "string" ? item.normalize("NFC") : wholeNumber(item)) ?? null;
    return ranged(0n, BigInt(labels.length - 1), read);
  },
  text: ({ max_bytes: most }) => ({
    bits: 8 * most + 1,
    get last() {
      return (1n << BigInt(8 * most + 1)) - 1n;
    },
    // Half of a surrogate pair is no text.
    code: (item) => (typeof item !== "string" || /\p{Cs}/u.test(item) ? null : marked(utf8(item.normalize("NFC")), most)),
  }),
  bytes: ({ max_bytes: most }) => ({
    bits: 8 * most + 1,
    get last() {
      return (1n << BigInt(8 * most + 1)) - 1n;
    },
    code: (item) => (item instanceof Uint8Array ? marked(item, most) : null),
  }),
};
