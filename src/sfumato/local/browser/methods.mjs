// Methods: what a device of each role is asked, as points of the oracles.

import { fromHex, join, sha256, parity, row, toBytes, toNumber, utf8, words, wordsToBytes } from "./bytes.mjs";
import { refuse } from "./items.mjs";

/** Chances are counted in units of 2^-63. */
export const COIN = 1n << 63n;

// Public randomness.

export class Seed {
  constructor(hex) {
    if (typeof hex !== "string" || !/^[0-9a-f]{64}$/.test(hex)) refuse("This is no plan: its seed is not 32 bytes.");
    this.start = join(utf8("sfumato local 1"), fromHex(hex));
  }

  key(label, number) {
    return wordsToBytes(sha256(join(this.start, utf8(`${label}/${number}`)))).slice(0, 16);
  }

  stream(label, number, count) {
    const key = this.key(label, number);
    const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, i) => wordsToBytes(words(key, toBytes(BigInt(i), 4))));
    return join(...blocks).slice(0, count);
  }
}

function independent(rows) {
  const pivots = [];
  return rows.every((row) => {
    for (const pivot of pivots) if ((row ^ pivot) < row) row ^= pivot;
    pivots.push(row);
    return row !== 0n;
  });
}

function whitening(seed, bits) {
  const width = (bits + 7) >> 3;
  for (let attempt = 0; ; attempt++) {
    const stream = seed.stream("whiten", attempt, (bits + 1) * width);
    const padding = BigInt(8 * width - bits);
    const rows = Array.from({ length: bits + 1 }, (_, i) => toNumber(stream.slice(i * width, (i + 1) * width)) >> padding);
    const offset = rows.pop();
    if (!independent(rows)) continue;
    return (code) => {
      const digits = code.toString(2).padStart(bits, "0");
      return rows.reduce((white, row, i) => (digits[i] === "1" ? white ^ row : white), offset);
    };
  }
}

// Oracles: `place` moves a uniform report to one that speaks for the point of an item.

const ORACLES = {
  linear: ({ table_bits: table, symbol_bits: symbols }) => ({
    outcomes: 2 ** table,
    spread: 2 ** symbols,
    place: (point, drawn) => {
      const column = drawn & ((1 << (table - symbols)) - 1);
      let symbol = 0;
      for (let i = 0; i < symbols; i++) symbol |= (parity(point[i] & column) ^ (point[i] >>> 31)) << i;
      return (symbol << (table - symbols)) | column;
    },
  }),
  hadamard: ({ block_bits: blocks, column_bits: columns }) => ({
    outcomes: 2 ** (blocks + columns),
    spread: 2 * 2 ** blocks,
    cells: 2 ** blocks * (2 ** columns - 1),
    place: (cell, drawn) => {
      const line = (cell >>> blocks) + 1;
      const column = drawn & ((1 << columns) - 1);
      const right = parity(line & column) ? column ^ (line & -line) : column;
      return ((cell & ((1 << blocks) - 1)) << columns) | right;
    },
  }),
  response: ({ answers }) => ({ outcomes: answers, spread: answers, place: (point) => point }),
  mean: ({ steps }) => {
    if (!(steps >= 1)) refuse("This is no plan: steps must be a whole number of at least 1.");
    return { outcomes: 2, spread: 2, steps: BigInt(steps), place: (point) => point };
  },
};

function oracle(record) {
  if (!Object.hasOwn(ORACLES, record.kind)) refuse("This is no plan: it names an unknown oracle.");
  const made = ORACLES[record.kind](record);
  const weight = /^\d{1,19}$/.test(record.weight) ? BigInt(record.weight) : 0n;
  if (weight <= 0n || weight >= COIN) refuse("This is no plan: a weight lies between 1 and 2^63 - 1.");
  const sizes = Object.entries(record).filter(([name]) => name !== "kind" && name !== "weight");
  const whole = sizes.every(([, size]) => (typeof size === "number" || typeof size === "bigint") && size >= 0);
  if (!whole || !Number.isInteger(made.outcomes) || made.outcomes < 1 || made.outcomes > 2 ** 30) {
    refuse("This is no plan: an oracle has between 1 and 2^30 outcomes.");
  }
  if (record.kind === "linear" && !(record.symbol_bits >= 1 && record.symbol_bits <= 8 && record.symbol_bits < record.table_bits)) {
    refuse("This is no plan: symbol_bits lies between 1 and 8, and table_bits above it.");
  }
  const gain = [BigInt(made.spread) * (COIN - weight), weight];
  return { ...made, weight, gain: Number(gain[0]) / Number(gain[1]), odds: [gain[0] + gain[1], gain[1]] };
}

// Methods: each returns its roles, and point(code, role).

const wholePoint = (seed, bits) => {
  const keys = [0, 1].map((number) => seed.key("whole", number));
  return (code, number) => words(keys[number], row(code, bits));
};

const confirmedRoles = (finding, whole, groups, [share, confirm, estimate]) => [
  ...Array.from({ length: groups }, () => ({ share, oracle: finding })),
  { share: confirm, oracle: whole },
  { share: estimate, oracle: whole },
];

const sameBits = (method, bits) => method.item_bits === bits || refuse("This is no plan: its items have other lengths.");

/** Multiply in the field of 2^bits elements. */
const times = (one, other, bits) => {
  const polynomial = bits === 8 ? 0x11d : 0x13;
  let product = 0;
  for (; other; other >>= 1) {
    if (other & 1) product ^= one;
    one <<= 1;
    if (one >> bits) one ^= polynomial;
  }
  return product;
};

export const METHODS = {
  tree(method, seed, bits) {
    const asked = oracle(method.oracle);
    const { levels } = method;
    const growing = levels.every((length, i) => length > (levels[i - 1] ?? 0) && length - (levels[i - 1] ?? length - 1) <= 8);
    if (!growing || levels.at(-1) !== bits || method.shares.length !== levels.length + 2) {
      refuse("This is no plan: levels grow by at most 8 bits up to a whole item, and each has a share, with two more.");
    }
    const white = whitening(seed, bits);
    const keys = method.shares.map((_, role) => [seed.key("level", role), seed.key("child", role)]);
    return {
      roles: method.shares.map((share) => ({ share, oracle: asked })),
      point(code, role) {
        const level = Math.min(role, levels.length - 1);
        const length = levels[level];
        const last = level ? length - levels[level - 1] : Math.min(4, length);
        const prefix = white(code) >> BigInt(bits - length);
        const child = Number(prefix & ((1n << BigInt(last)) - 1n));
        const first = words(keys[role][0], row(prefix >> BigInt(last), length - last));
        const second = words(keys[role][1], [child]);
        return first.map((word, i) => word ^ second[i]);
      },
    };
  },

  bitstogram(method, seed, bits) {
    sameBits(method, bits);
    const asked = oracle(method.oracle);
    const groups = method.repetitions * bits;
    const whole = wholePoint(seed, bits);
    const mask = (1 << method.bucket_bits) - 1;
    return {
      roles: confirmedRoles(asked, asked, groups, method.shares),
      point(code, role) {
        if (role >= groups) return whole(code, role - groups);
        const bucket = words(seed.key("bucket", Math.floor(role / bits)), row(code, bits))[0] & mask;
        const bit = Number((code >> BigInt(bits - 1 - (role % bits))) & 1n);
        return words(seed.key("bit", role), toBytes(BigInt(2 * bucket + bit), 4));
      },
    };
  },

  expander(method, seed, bits) {
    sameBits(method, bits);
    const { coordinates, offsets, symbol_bits: size, label_bits: labelBits, bucket_bits: bucketBits } = method;
    const cells = oracle(method.cells);
    const white = whitening(seed, bits);
    const whole = wholePoint(seed, bits);
    const key = seed.key("expander", 0);
    const each = Math.floor(32 / labelBits);
    const hashes = Math.ceil(coordinates / (7 * each));
    const symbols = Math.ceil(bits / size);
    return {
      roles: confirmedRoles(cells, oracle(method.whole), coordinates, method.shares),
      point(code, role) {
        if (role >= coordinates) return whole(code, role - coordinates);
        const image = white(code);
        const tables = Array.from({ length: hashes }, (_, i) => words(join(key, [i]), row(image, bits)));
        const label = (place) => {
          const word = Math.floor(place / each);
          return (tables[Math.floor(word / 7)][word % 7] >>> ((place % each) * labelBits)) & ((1 << labelBits) - 1);
        };
        let at = 1;
        for (let i = 0; i < role; i++) at = times(at, 2, size);
        const padded = image << BigInt(symbols * size - bits);
        let cell = 0;
        for (let i = symbols - 1; i >= 0; i--) {
          cell = times(cell, at, size) ^ Number((padded >> BigInt(size * i)) & ((1n << BigInt(size)) - 1n));
        }
        for (const offset of [...offsets, 0]) cell = (cell << labelBits) | label((role + offset) % coordinates);
        cell = (cell << bucketBits) | (tables[0][7] & ((1 << bucketBits) - 1));
        return cell < cells.cells ? cell : cell - 2 ** method.cells.block_bits;
      },
    };
  },

  list(method, seed) {
    const asked = oracle(method.oracle);
    const key = seed.key("candidate", 0);
    const hashed = method.oracle.kind === "linear";
    const point = (code) => (hashed ? words(key, toBytes(code, 4)) : Number(code));
    return { roles: [{ share: 1, oracle: asked }], point };
  },

  mean(method) {
    return { roles: [{ share: 1, oracle: oracle(method.oracle) }], point: (code) => code };
  },
};
