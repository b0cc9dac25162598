/**
 * Counters and histograms that cost a request next to nothing: plain numbers, of which the library
 * learns only when somebody asks for the metrics. Its own take several microseconds each.
 *
 * @module
 */

import { Counter, Histogram, type MetricObjectWithValues, type MetricValue } from "prom-client";

/** A counter; `key` names a set of labels. */
export class Tally<Label extends string> extends Counter<Label> {
  readonly #name: string;
  readonly #help: string;
  readonly #totals = new Map<string, { readonly labels: Record<Label, string>; value: number }>();

  constructor(options: ConstructorParameters<typeof Counter<Label>>[0]) {
    super(options);
    this.#name = options.name;
    this.#help = options.help;
  }

  /** Adds `by` to the total of `key`, whose labels are asked for the first time. */
  add(key: string, by: number, labels: () => Record<Label, string>): void {
    const known = this.#totals.get(key);
    if (known !== undefined) known.value += by;
    else this.#totals.set(key, { labels: labels(), value: by });
  }

  override get(): Promise<MetricObjectWithValues<MetricValue<Label>>> {
    const values = [...this.#totals.values()].map(({ labels, value }) => ({ labels, value }));
    return Promise.resolve(described(this.#name, this.#help, "counter", values));
  }
}

/** A histogram of seconds by tier. */
export class Spread extends Histogram<"tier"> {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #tiers = new Map<string, { readonly counts: number[]; sum: number }>();

  constructor(options: ConstructorParameters<typeof Histogram<"tier">>[0]) {
    super(options);
    this.#name = options.name;
    this.#help = options.help;
    this.#bounds = options.buckets ?? [];
  }

  /** Takes one value in. */
  note(tier: string, seconds: number): void {
    let held = this.#tiers.get(tier);
    if (held === undefined) {
      held = { counts: Array(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#tiers.set(tier, held);
    }
    let at = 0;
    while (at < this.#bounds.length && seconds > (this.#bounds[at] as number)) at++;
    held.counts[at] = (held.counts[at] ?? 0) + 1;
    held.sum += seconds;
  }

  /** What the library asks a histogram for when it writes text; undeclared in its types. */
  getForPromString(): Promise<MetricObjectWithValues<MetricValue<"tier">>> {
    return this.get();
  }

  override get(): Promise<MetricObjectWithValues<MetricValue<"tier">>> {
    const values = [...this.#tiers].flatMap(([tier, { counts, sum }]) => {
      let below = 0;
      const value = (suffix: string, value: number, le?: number | string) => ({
        metricName: `${this.#name}_${suffix}`,
        labels: le === undefined ? { tier } : { le, tier },
        value,
      });
      const buckets = counts.map((count, at) => {
        below += count;
        return value("bucket", below, this.#bounds[at] ?? "+Inf");
      });
      return [...buckets, value("sum", sum), value("count", below)];
    });
    return Promise.resolve(described(this.#name, this.#help, "histogram", values));
  }
}

function described<Value>(
  name: string,
  help: string,
  type: "counter" | "histogram",
  values: Value[],
): MetricObjectWithValues<never> {
  const metric: unknown = { name, help, type, values, aggregator: "sum" };
  return metric as MetricObjectWithValues<never>;
}
