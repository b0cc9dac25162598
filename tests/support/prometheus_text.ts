/**
 * A strict reader of the Prometheus text format 0.0.4: what it does not understand, it throws on.
 *
 * @module
 */

import assert from "node:assert/strict";

/** One sample line. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

/** Reads a whole exposition: families declared once, samples after them, histograms cumulative. */
export function readPrometheus(text: string): readonly Sample[] {
  assert.ok(text.endsWith("\n"), "the last line ends");
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  let family = "";
  for (const line of text.split("\n").slice(0, -1)) {
    if (line === "") continue;
    const help = new RegExp(`^# HELP (${NAME}) .+$`).exec(line)?.[1];
    const type = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`)
      .exec(line);
    if (help !== undefined) {
      assert.ok(!helped.has(help), `${help} is explained once`);
      helped.add(help);
    } else if (type !== null) {
      family = type[1] as string;
      assert.ok(!types.has(family), `${family} is declared once`);
      types.set(family, type[2] as string);
    } else {
      const sample = readSample(line);
      const base = types.get(family) === "histogram"
        ? sample.name.replace(/_(bucket|sum|count)$/, "")
        : sample.name;
      assert.equal(base, family, `${line} stands below another family`);
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      assert.ok(!seen.has(key), `${line} stands twice`);
      seen.add(key);
      if (types.get(family) === "counter") assert.ok(sample.value >= 0, line);
      samples.push(sample);
    }
  }
  checkHistograms(samples, types);
  return samples;
}

function readSample(line: string): Sample {
  const match = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`).exec(line);
  assert.ok(match !== null, `not a sample: ${line}`);
  const [, name = "", body = "", number = ""] = match;
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < body.length) {
    const pair = LABEL.exec(body);
    assert.ok(pair !== null, `labels: ${line}`);
    assert.ok(!Object.hasOwn(labels, pair[1] as string), `a label twice: ${line}`);
    labels[pair[1] as string] = pair[2] as string;
  }
  const value = number === "+Inf" ? Infinity : Number(number);
  assert.ok(number !== "" && !Number.isNaN(value), `a number: ${line}`);
  return { name, labels, value };
}

function checkHistograms(samples: readonly Sample[], types: ReadonlyMap<string, string>): void {
  for (const [family, type] of types) {
    if (type !== "histogram") continue;
    const rest = ({ le: _le, ...labels }: Readonly<Record<string, string>>) =>
      JSON.stringify(Object.entries(labels).sort());
    const series = Map.groupBy(
      samples.filter(({ name }) => name === `${family}_bucket`),
      ({ labels }) => rest(labels),
    );
    for (const [labels, buckets] of series) {
      const values = buckets.map(({ value }) => value);
      assert.deepEqual(values, values.toSorted((a, b) => a - b), `${family} is cumulative`);
      const last = buckets.at(-1);
      assert.equal(last?.labels["le"], "+Inf", family);
      const count = samples.find((one) =>
        one.name === `${family}_count` && rest(one.labels) === labels
      );
      assert.equal(count?.value, last?.value, `${family}_count`);
    }
  }
}
