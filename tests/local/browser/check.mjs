// What every runtime must pass: the shared vectors, and items and plans of all bad kinds. Runs in Node and in browsers.

import { toHex } from "./client/bytes.mjs";
import { Client } from "./client/client.mjs";
import { canonical, readJson } from "./client/items.mjs";

const ORDER = ["turn", "drawn", "rounding", "coin"];

const shown = (item) => {
  const bytes = item !== null && typeof item === "object" ? item.bytes : undefined;
  return bytes === undefined ? item : Uint8Array.from(bytes.match(/../g) ?? [], (pair) => parseInt(pair, 16));
};

/** A source that says given numbers, and complains about any other bound than theirs. */
const script = (vector) => {
  const numbers = ORDER.filter((name) => name in vector).map((name) => BigInt(vector[name]));
  return {
    uniform(bound) {
      const number = numbers.shift();
      if (number === undefined || number >= bound) throw new Error("a draw of another kind than in the vectors");
      return number;
    },
    left: () => numbers.length,
  };
};

export function checkVectors(text) {
  const read = readJson(text), kept = readJson(text, true);
  const wrong = [];
  let reports = 0;
  read.plans.forEach((one, place) => {
    const client = new Client(canonical(kept.plans[place].plan));
    if (client.reportBytes !== one.report_bytes) wrong.push(`plan ${place}: ${client.reportBytes} bytes`);
    for (const { item, code } of one.codes) {
      if (client.fits(shown(item)) !== (code !== null)) wrong.push(`plan ${place}: fits(${item})`);
    }
    for (const vector of one.reports) {
      const source = script(vector);
      const made = toHex(client.reportFrom(shown(vector.item), source));
      if (made !== vector.report || source.left()) wrong.push(`plan ${place}, draw ${vector.drawn}: ${made}`);
      reports += 1;
    }
  });
  return { plans: read.plans.length, reports, wrong };
}

const hostile = () => [
  undefined, null, NaN, Infinity, -0.5, 1e300, Symbol("s"), () => 1, [], {}, new Date(NaN), "\ud800", "x".repeat(1e5),
  10n ** 400n, new Uint8Array(1000), Object.create(null),
  { toString() { throw new Error("toString"); }, valueOf() { throw new Error("valueOf"); } },
  new Proxy({}, { get() { throw new Error("get"); }, has() { throw new Error("has"); } }),
];

/** No item makes a report fail, change its length, or draw another number of times. */
export function checkItems(text) {
  const kept = readJson(text, true);
  const wrong = [];
  kept.plans.forEach(({ plan }, place) => {
    const client = new Client(canonical(plan));
    const draws = (item) => {
      let count = 0;
      client.reportFrom(item, { uniform: (bound) => ((count += 1), bound - 1n) });
      return count;
    };
    for (const item of hostile()) {
      try {
        if (client.report(item).length !== client.reportBytes || draws(item) !== draws("a")) wrong.push(`plan ${place}`);
      } catch (reason) {
        wrong.push(`plan ${place}: ${reason}`);
      }
    }
  });
  return wrong;
}

/** Return the sentences with which damaged plans are refused. */
export function refusals(texts, options) {
  return texts.map((text) => {
    try {
      new Client(text, options);
      return null;
    } catch (reason) {
      return reason.constructor === Error ? reason.message : `${reason.constructor.name}: ${reason.message}`;
    }
  });
}
