// Randomized reports in a browser, in Node, in any runtime with crypto.getRandomValues; no dependencies.
//
//     import { Client, envelope } from "./client.mjs";
//     const client = new Client(await (await fetch("words.plan")).text(), { mostEpsilon: 4 });
//     const report = client.report("example.com");            // a Uint8Array of a few bytes
//     const line = envelope(report);                          // what a collector reads: send it, and again if need be
//
// From the same plan and the same draws this makes the same bytes as the Python client. docs/local-wire.md describes
// them; vectors.json tests them.

import { bitLength, join, sha256, toBytes, toHex, toNumber, utf8, wordsToBytes } from "./bytes.mjs";
import { canonical, dayNumber, fraction, ITEMS, oddsWithin, readJson, refuse, show } from "./items.mjs";
import { COIN, METHODS, Seed } from "./methods.mjs";

const FORMATS = [1, 2];
const DATES = ["not_before", "not_after", "epoch"];
/** What a device spends on one plan at most, unless it is told another limit; the Python client has the same. */
const MOST_SPENT = 8;
const VERSION = 1;
const DAY = 86400;
const TAG_BYTES = 4;
const MOST_BITS = 1024;
const ID_BYTES = 16;
const OUTSIDE_DIGEST = ["tag", "why"];

const midnight = (day) => Date.parse(`${day}T00:00:00Z`) / 1000;

/** Draws from the system's cryptographic source. */
export const secureSource = {
  /** Return a whole number below `bound`, every one equally likely: what is too large is drawn again. */
  uniform(bound) {
    const bits = bitLength(bound - 1n);
    const bytes = new Uint8Array((bits + 7) >> 3);
    for (;;) {
      globalThis.crypto.getRandomValues(bytes);
      if (bits & 7) bytes[0] &= 0xff >> (8 - (bits & 7));
      const drawn = toNumber(bytes);
      if (drawn < bound) return drawn;
    }
  },
};

/**
 * Return a report as a collector reads it: one line of JSON with an id of sixteen bytes, drawn afresh unless one is given.
 * Make it once for a report, keep it until it is answered, and send the same line again if the network fails: it is
 * counted once.
 */
export function envelope(report, id = toBytes(secureSource.uniform(1n << BigInt(8 * ID_BYTES)), ID_BYTES)) {
  if (!(report instanceof Uint8Array)) refuse("Give the report as client.report(item) returned it.");
  if (!(id instanceof Uint8Array && id.length === ID_BYTES)) {
    refuse(`The id of a report is a Uint8Array of ${ID_BYTES} bytes; leave it out to draw one.`);
  }
  return `${JSON.stringify({ id: toHex(id), report: btoa(String.fromCharCode(...report)) })}\n`;
}

/** What a device runs: one item in, one small report out. */
export class Client {
  /**
   * `text` is the plan as it was saved. Refuses a plan that is damaged or costs more than it says, and one whose
   * reports cost a device more than `mostEpsilon` together, by default 8. `pinned` are the digests of the plans that the
   * device may answer, shipped with its code; without them whoever publishes plans can mark devices by them.
   */
  constructor(text, { mostEpsilon = MOST_SPENT, pinned = null, now = () => new Date() } = {}) {
    if (typeof text !== "string") refuse("Give the plan as text; a parsed plan has lost digits of its large numbers.");
    let plan, kept;
    try {
      plan = readJson(text);
      kept = readJson(text, true);
      if (!FORMATS.includes(plan.format)) refuse(`This plan has format ${plan.format}, and this client reads 1 and 2.`);
      this.#date(plan, now);
      this.#build(plan, kept);
    } catch (reason) {
      throw reason instanceof TypeError || reason instanceof SyntaxError || reason instanceof RangeError
        ? new Error(`This is no plan: ${reason.message}.`)
        : reason;
    }
    this.reports = plan.reports;
    const spend = fraction(plan.spend.epsilon);
    const gain = Math.max(...this.#roles.map((role) => role.oracle.gain));
    /** What one device loses with all of its reports, as a double; the exact odds are in the integers of the plan. */
    this.epsilon = this.reports * Math.log1p(gain);
    const within = (limit) => this.#roles.every((role) => oddsWithin(role.oracle.odds, this.reports, limit));
    if (plan.spend.bound !== "Pure" || !within(spend)) {
      refuse(`The coins of this plan spend ${show(this.epsilon)}, more than its spend; do not use it.`);
    }
    if (!(mostEpsilon === Infinity || within(fraction(String(mostEpsilon))))) {
      refuse(
        `This plan spends an epsilon of ${show(this.epsilon)}, more than the ${mostEpsilon} that this device spends on ` +
          "one plan; do not answer it.",
      );
    }
    if (pinned !== null && !pinned.map((one) => one.toLowerCase()).includes(this.digest)) {
      refuse("This plan is none of those that this device knows; do not answer it.");
    }
    /** Whether the plan is one of those that the device was shipped with. */
    this.pinned = pinned !== null;
  }

  #date(plan, now) {
    const said = DATES.filter((name) => plan[name] !== undefined);
    if ((plan.format === 2) !== said.length > 0) {
      refuse("A plan of format 2 says when it is valid, and one of format 1 does not.");
    }
    const [first, last] = DATES.slice(0, 2).map((name) => plan[name]);
    for (const day of [first, last]) {
      if (day !== undefined && dayNumber(day) === null) refuse("This is no plan: its days are no days.");
    }
    /**
     * Return when to send, as a Date: a second drawn evenly between now and so many seconds later, on days on which the
     * plan is answered. Draw it when the plan comes, before any item is known, and make and send the report then.
     */
    this.moment = (seconds, source = secureSource) => {
      if (!(Number.isSafeInteger(seconds) && seconds > 0)) {
        refuse("Say for how many seconds a device may wait; write for example client.moment(86400).");
      }
      const start = Math.max(Math.ceil(now().getTime() / 1000), first === undefined ? 0 : midnight(first));
      const end = Math.min(start + seconds, last === undefined ? Infinity : midnight(last) + DAY);
      if (end <= start) refuse(`This plan was answered until ${last}; do not answer it any more.`);
      return new Date(1000 * (start + Number(source.uniform(BigInt(end - start)))));
    };
    /** Refuse a moment at which the plan is not answered; this looks at the clock, never at an item. */
    this.requireValid = () => {
      const day = now().toISOString().slice(0, 10);
      if (first !== undefined && day < first) refuse(`This plan is answered from ${first} on; do not answer it before.`);
      if (last !== undefined && day > last) refuse(`This plan was answered until ${last}; do not answer it any more.`);
    };
  }

  #items;
  #method;
  #roles;
  #turns;
  #offsets;
  #even;
  #header;
  #width;

  #build(plan, kept) {
    const named = (table, name) => (Object.hasOwn(table, name) ? table[name] : refuse(`This is no plan: ${name} is unknown.`));
    this.#items = named(ITEMS, plan.items.type)(plan.items);
    if (!(this.#items.bits >= 1 && this.#items.bits <= MOST_BITS)) refuse(`This is no plan: items have at most ${MOST_BITS} bits.`);
    this.#method = named(METHODS, plan.method.kind)(plan.method, new Seed(plan.seed), this.#items.bits);
    this.#roles = this.#method.roles;
    const whole = (number) => Number.isSafeInteger(number) && number > 0;
    if (!whole(plan.reports) || !this.#roles.every((role) => whole(role.share))) {
      refuse("This is no plan: reports and shares are whole numbers above zero.");
    }
    this.#tryRoles();
    const running = (numbers) => numbers.reduce((sums, number) => [...sums, sums.at(-1) + number], [0]);
    this.#turns = running(this.#roles.map((role) => role.share));
    this.#offsets = running(this.#roles.map((role) => role.oracle.outcomes));
    this.#even = this.#roles.every((role) => role.oracle.outcomes === this.#roles[0].oracle.outcomes);
    const digested = Object.fromEntries(Object.entries(kept).filter(([name]) => !OUTSIDE_DIGEST.includes(name)));
    const digest = wordsToBytes(sha256(utf8(canonical(digested))));
    const tag = digest.slice(0, TAG_BYTES);
    /** SHA-256 of the plan, in hexadecimal: its name. */
    this.digest = toHex(digest);
    if (plan.tag !== undefined && plan.tag !== toHex(tag)) {
      refuse("This plan was changed after it was saved: its tag does not belong to it.");
    }
    this.#header = join([VERSION], tag);
    this.#width = Math.max(1, Math.ceil(bitLength(BigInt(this.#offsets.at(-1) - 1)) / 8));
  }

  /** Refuse a plan in which an item could have a report of its own: its first and last one go through every role. */
  #tryRoles() {
    this.#roles.forEach(({ oracle: asked }, place) => {
      if (asked.steps !== undefined && asked.steps !== this.#items.last) refuse("This is no plan: its steps are not those of its items.");
      for (const code of [0n, this.#items.last]) {
        const found = this.#method.point(code, place);
        const point = asked.steps === undefined ? found : Number(found > 0n);
        for (const drawn of [0, asked.outcomes - 1]) {
          const value = asked.place(point, drawn);
          if (!(Number.isInteger(value) && value >= 0 && value < asked.outcomes)) {
            refuse("This is no plan: one of its items would have a report that no other item has.");
          }
        }
      }
    });
  }

  /** The length of every report of this plan. */
  get reportBytes() {
    return this.#header.length + this.#width;
  }

  /** Whether an item fits the plan; for developers: the answer tells about the item, a report never does. */
  fits(item) {
    return this.#code(item) !== null;
  }

  /** Return the report of an item; one that does not fit sends noise of the same size. Never fails for an item. */
  report(item) {
    this.requireValid();
    return this.reportFrom(item, secureSource);
  }

  /** Do what `report` does, with draws from another source: for tests only, since privacy comes from the draws. */
  reportFrom(item, source) {
    const [place, drawn] = this.#draw(source);
    const { oracle: asked } = this.#roles[place];
    const code = this.#code(item);
    let point = code === null ? null : this.#method.point(code, place);
    if (asked.steps !== undefined) {
      const rounded = source.uniform(asked.steps) < (point ?? 0n) ? 1 : 0;
      point = point === null ? null : rounded;
    }
    const noisy = source.uniform(COIN) < asked.weight;
    const value = noisy || point === null ? drawn : asked.place(point, drawn);
    return join(this.#header, toBytes(BigInt(this.#offsets[place] + value), this.#width));
  }

  #draw(source) {
    const total = BigInt(this.#turns.at(-1));
    const size = BigInt(this.#roles[0].oracle.outcomes);
    const drawn = source.uniform(this.#even ? total * size : total);
    const turn = Number(this.#even ? drawn / size : drawn);
    const place = this.#turns.findIndex((sum) => sum > turn) - 1;
    const uniform = this.#even ? drawn % size : source.uniform(BigInt(this.#roles[place].oracle.outcomes));
    return [place, Number(uniform)];
  }

  #code(item) {
    try {
      return this.#items.code(item);
    } catch {
      // An item may be any object, with any behaviour; whether it fits must not show.
      return null;
    }
  }
}
