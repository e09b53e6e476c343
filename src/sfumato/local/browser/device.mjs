// A device that remembers what it has sent, and stops when that has cost enough.
//
//     const device = new Device(client, localStorage, { lifetime: 8 });
//     const report = await device.report("example.com");
//
// It answers a plan as often as the plan says and no more, and spends at most `lifetime` over all plans together: a
// server that publishes a plan under a new seed meets the same limit. A report is charged before it is made.

import { refuse } from "./items.mjs";

const FORMAT = 1;
const UNIT = 2 ** 40;

/**
 * Return an epsilon in whole units, so that sums do not drift. It is rounded up, but for the last digits of a double: a
 * plan of epsilon 2 costs a hair less than 2, and its logarithm as a double may be a hair more.
 */
const units = (epsilon) => Math.ceil(epsilon * UNIT - 0.01);

/** The name of the day, week, month or quarter of a moment, in UTC; later ones are later in the alphabet. */
const PERIODS = {
  day: (moment) => moment.toISOString().slice(0, 10),
  week: (moment) => {
    // The week of a day is that of its Thursday.
    const thursday = new Date(moment.getTime() + (3 - ((moment.getUTCDay() + 6) % 7)) * 86400000);
    const first = Date.UTC(thursday.getUTCFullYear(), 0, 1);
    const number = Math.floor((thursday.getTime() - first) / 604800000) + 1;
    return `${String(thursday.getUTCFullYear()).padStart(4, "0")}-W${String(number).padStart(2, "0")}`;
  },
  month: (moment) => moment.toISOString().slice(0, 7),
  quarter: (moment) => `${moment.toISOString().slice(0, 4)}-Q${Math.floor(moment.getUTCMonth() / 3) + 1}`,
};

/** Do something that no other page of this site does at the same time, where the runtime has locks. */
const alone = (name, act) => {
  const locks = globalThis.navigator?.locks;
  return locks ? locks.request(name, act) : Promise.resolve().then(act);
};

/** A client with a memory. */
export class Device {
  #client;
  #storage;
  #name;
  #lifetime;

  #period;
  #now;

  /**
   * `storage` has getItem and setItem, as localStorage has; `lifetime` is the epsilon of the whole device. `period`, for
   * example ["month", 4], also bounds the reports of each day, week, month or quarter by the device's clock, in UTC. A
   * clock that goes back opens no new period; one that is put forward does, so the lifetime stays the guarantee.
   */
  constructor(client, storage, { lifetime, period = null, name = "sfumato device", now = () => new Date() }) {
    if (!(Number.isFinite(lifetime) && lifetime > 0)) refuse("lifetime is an epsilon above zero; write for example 8.");
    if (period !== null && !(Object.hasOwn(PERIODS, period?.[0]) && Number.isFinite(period[1]) && period[1] > 0)) {
      refuse(`period is one of ${Object.keys(PERIODS).join(", ")} and an epsilon; write for example ["month", 4].`);
    }
    this.#period = period;
    this.#now = now;
    this.#client = client;
    this.#storage = storage;
    this.#name = name;
    this.#lifetime = lifetime;
    const memory = this.#read();
    if (memory.lifetime !== lifetime) refuse("The lifetime of a device is fixed when its memory is made.");
    const kept = memory.period ?? null;
    if ((kept === null) !== (period === null) || (kept && (kept.kind !== period[0] || kept.epsilon !== period[1]))) {
      refuse("The period of a device is fixed when its memory is made.");
    }
  }

  /** Return a report of an item, charged first. Whether it refuses depends on what was sent, never on the item. */
  async report(item) {
    this.#client.requireValid();
    await alone(this.#name, () => this.#charge());
    return this.#client.report(item);
  }

  /** How many reports of this plan the device would still send. */
  get left() {
    const memory = this.#read();
    const answered = memory.plans[this.#client.digest]?.reports ?? 0;
    const affordable = Math.floor(this.#affordable(memory) / this.#cost());
    return Math.max(0, Math.min(this.#client.reports - answered, affordable));
  }

  /** What all reports of the device, for all plans, have cost. */
  get spent() {
    return total(this.#read()) / UNIT;
  }

  #cost() {
    return units(this.#client.epsilon / this.#client.reports);
  }

  /** Return the units that a report may cost now, by both limits; a new period begins when the clock shows one. */
  #affordable(memory) {
    const left = this.#lifetime * UNIT - total(memory);
    if (!memory.period) return left;
    const current = PERIODS[memory.period.kind](this.#now());
    if (current > memory.period.latest) Object.assign(memory.period, { latest: current, units: 0 });
    return Math.min(left, memory.period.epsilon * UNIT - memory.period.units);
  }

  #charge() {
    const memory = this.#read();
    const { digest, reports } = this.#client;
    const entry = Object.hasOwn(memory.plans, digest) ? memory.plans[digest] : { reports: 0, units: 0 };
    if (entry.reports >= reports) refuse(`This device has sent all ${reports} reports of this plan; it sends no more.`);
    const cost = this.#cost();
    if (total(memory) + cost > this.#lifetime * UNIT) {
      refuse("The lifetime of this device is used up; it sends no more for this plan.");
    }
    if (cost > this.#affordable(memory)) {
      refuse(`What this device spends in one ${memory.period.kind} is used up; it sends no more before the next one.`);
    }
    memory.plans[digest] = { reports: entry.reports + 1, units: entry.units + cost };
    if (memory.period) memory.period.units += cost;
    this.#write(memory);
  }

  #read() {
    const text = this.#storage.getItem(this.#name);
    if (text === null || text === undefined) {
      const fresh = { format: FORMAT, lifetime: this.#lifetime, plans: {} };
      if (this.#period) fresh.period = { kind: this.#period[0], epsilon: this.#period[1], latest: "", units: 0 };
      this.#write(fresh);
      return fresh;
    }
    let memory = null;
    try {
      memory = JSON.parse(text);
    } catch {
      // Judged below, with everything else that is no memory.
    }
    const whole = (number) => Number.isSafeInteger(number) && number >= 0;
    const entries = Object.values(memory?.plans ?? {});
    const kept = memory?.period;
    const dated =
      kept === undefined ||
      (Object.hasOwn(PERIODS, kept?.kind) && typeof kept.latest === "string" && whole(kept.units) && kept.epsilon > 0);
    if (memory?.format !== FORMAT || !dated || !memory.plans || !entries.every((one) => whole(one?.reports) && whole(one?.units))) {
      // A memory that cannot be read might have been full.
      refuse("The memory of this device is damaged; it sends nothing.");
    }
    return memory;
  }

  #write(memory) {
    this.#storage.setItem(this.#name, JSON.stringify(memory));
  }
}

function total(memory) {
  return Object.values(memory.plans).reduce((sum, entry) => sum + entry.units, 0);
}
