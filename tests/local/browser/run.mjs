// Node's side of tests/local/test_browser.py: the first argument says what to do, standard input says with what.

import { readFileSync, writeSync } from "node:fs";
import { Client, envelope, secureSource } from "./client/client.mjs";
import { Device } from "./client/device.mjs";
import { checkItems, checkVectors, refusals } from "./check.mjs";

const input = readFileSync(0, "utf8");

const tasks = {
  vectors: () => ({ ...checkVectors(input), items: checkItems(input) }),
  refusals: () => {
    const { texts, options } = JSON.parse(input);
    return refusals(texts, options);
  },
  uniform: () => {
    const { bound, draws } = JSON.parse(input);
    const counts = new Array(bound).fill(0);
    for (let i = 0; i < draws; i++) counts[Number(secureSource.uniform(BigInt(bound)))] += 1;
    return counts;
  },
  // Plans are answered in turn, each until the device refuses; `damage` is a text found in place of its memory.
  device: async () => {
    const { plans, lifetime, damage } = JSON.parse(input);
    const kept = new Map(damage === undefined ? [] : [["sfumato device", damage]]);
    const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
    const told = [];
    for (const plan of plans) {
      try {
        const device = new Device(new Client(plan), storage, { lifetime });
        told.push(device.left);
        for (;;) told.push((await device.report("a")).length);
      } catch (reason) {
        told.push(reason.message);
      }
    }
    const plansOf = () => Object.values(JSON.parse(kept.get("sfumato device")).plans);
    return { told, spent: damage === undefined ? plansOf().map(({ units }) => units / 2 ** 40) : [] };
  },
  // One device, asked at one moment after the other.
  periods: async () => {
    const { plan, moments, period, lifetime } = JSON.parse(input);
    const kept = new Map();
    const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
    let moment;
    const device = new Device(new Client(plan), storage, { lifetime, period, now: () => new Date(moment) });
    const told = [];
    for (moment of moments) {
      try {
        told.push((await device.report("a")).length);
      } catch (reason) {
        told.push(reason.message);
      }
    }
    return told;
  },
  // When devices send, at one moment after the other, with one number in place of the draws.
  moments: () => {
    const { plan, moments, seconds, drawn } = JSON.parse(input);
    const bounds = [];
    const source = { uniform: (bound) => (bounds.push(Number(bound)), drawn < bound ? BigInt(drawn) : bound - 1n) };
    const told = moments.map((moment) => {
      try {
        return new Client(plan, { now: () => new Date(moment) }).moment(seconds, source).toISOString();
      } catch (reason) {
        return reason.message;
      }
    });
    return { told, bounds };
  },
  // How a device names the period of each moment, read from its memory.
  "period names": async () => {
    const { plan, kind, moments } = JSON.parse(input);
    const names = [];
    for (const moment of moments) {
      const kept = new Map();
      const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
      const device = new Device(new Client(plan), storage, { lifetime: 8, period: [kind, 8], now: () => new Date(moment) });
      await device.report("a");
      names.push(JSON.parse(kept.get("sfumato device")).period.latest);
    }
    return names;
  },
  // What devices POST: one line for each item, and one with an id that was given.
  envelopes: () => {
    const { plan, items, id } = JSON.parse(input);
    const client = new Client(plan);
    const given = Uint8Array.from(Buffer.from(id, "hex"));
    const report = client.report(items[0]);
    const refused = [["text"], [report, given.slice(1)], [report, id]].map((wrong) => {
      try {
        return envelope(...wrong);
      } catch (reason) {
        return reason.message;
      }
    });
    const sent = { report: Buffer.from(report).toString("hex"), line: envelope(report, given) };
    return { lines: items.map((item) => envelope(client.report(item))), sent, refused };
  },
  // Items come with how many devices hold them; reports leave end to end, in hexadecimal.
  reports: () => {
    const { plan, items } = JSON.parse(input);
    const client = new Client(plan);
    const started = process.cpuUsage();
    const made = items.flatMap(([item, count]) => Array.from({ length: count }, () => client.report(item)));
    const used = process.cpuUsage(started);
    return { reports: Buffer.concat(made).toString("hex"), microseconds: (used.user + used.system) / made.length };
  },
};

const answer = Buffer.from(JSON.stringify(await tasks[process.argv[2]]()));
for (let at = 0; at < answer.length; ) at += writeSync(1, answer, at);
