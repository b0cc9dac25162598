/**
 * Everything that was measured, and the questions the report asks of it.
 *
 * @module
 */

import type { Seen } from "./job.ts";
import type { Scenario } from "./scenarios.ts";

/** One turn of one relay. */
export interface Turn {
  readonly scenario: Scenario;
  readonly round: number;
  readonly relay: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** What went wrong in it; the numbers of such loads are not in `numbers`. */
  readonly problems: readonly string[];
}

/** What counts of a load: nothing, when anything was wrong with it. */
export function counting(seen: Seen): Readonly<Record<string, number>> {
  return seen.problems.length > 0 ? {} : seen.numbers;
}

/** All turns of a run. */
export class Results {
  readonly turns: Turn[] = [];

  add(turn: Turn): void {
    this.turns.push(turn);
  }

  /** A number by round; null where the load was invalid, missing or did not measure it. */
  rounds(scenario: Scenario, relay: string, name: string): (number | null)[] {
    const values: (number | null)[] = [];
    for (const turn of this.turns) {
      if (turn.scenario !== scenario) continue;
      while (values.length <= turn.round) values.push(null);
      if (turn.relay !== relay) continue;
      const value = turn.numbers[name];
      values[turn.round] = value === undefined || Number.isNaN(value) ? null : value;
    }
    return values;
  }

  /** What was wrong with a relay in a scenario, each once. */
  problems(scenario: Scenario, relay: string): string[] {
    const found = this.turns.filter((turn) => turn.scenario === scenario && turn.relay === relay)
      .flatMap((turn) => turn.problems);
    return [...new Set(found)];
  }

  /** The largest share of a core that other programs used in turns of these relays; NaN: not known. */
  othersBusy(scenario: Scenario, relays: readonly string[]): number {
    const shares = this.turns
      .filter((turn) => turn.scenario === scenario && relays.includes(turn.relay))
      .flatMap(({ numbers }) => Object.entries(numbers))
      .filter(([name]) => name.endsWith(".others_busy")).map(([, share]) => share);
    return shares.length === 0 ? NaN : Math.max(...shares);
  }

  /** Scenarios in the order they were run. */
  scenarios(): Scenario[] {
    return [...new Set(this.turns.map((turn) => turn.scenario))];
  }

  /** True when the scenario has a turn of this relay, valid or not. */
  has(scenario: Scenario, relay: string): boolean {
    return this.turns.some((turn) => turn.scenario === scenario && turn.relay === relay);
  }
}
