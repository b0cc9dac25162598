/**
 * What a walk goes through: hosts that can be asked and harmed. Two worlds are made for it: processes
 * in network namespaces (`netns/`), and the container fleet.
 *
 * @module
 */

import type {
  AdoptionSample,
  AuditFact,
  DecisionFact,
  DiaryLine,
  Leak,
  LedgerRow,
  Life,
  OrderFact,
  ProbeRun,
  Published,
} from "./facts.ts";
import type { Fault } from "./fault.ts";

/** Where something listens. */
export interface At {
  readonly hostname: string;
  readonly port: number;
}

/** A candidate as it is offered. */
export type Candidate = "good" | "bad" | "tampered" | "other_host";

/** A text that must be in no sink. */
export interface Canary {
  readonly what: string;
  readonly text: string;
}

/** A process of ours, and its resident memory in bytes. */
export interface Memory {
  readonly host: string;
  readonly program: string;
  readonly pid: number;
  readonly bytes: number;
}

/** What the records of the world say, read after the walk. */
export interface Records {
  readonly diary: readonly DiaryLine[];
  readonly decisions: readonly DecisionFact[];
  readonly lives: readonly Life[];
  readonly ledger: readonly LedgerRow[];
  readonly audit: readonly AuditFact[];
  readonly orders: readonly OrderFact[];
  readonly probes: readonly ProbeRun[];
  readonly published: readonly Published[];
  readonly tokens: readonly { readonly host: string; readonly hash: string }[];
  readonly leaks: readonly Leak[];
  readonly broken: readonly { readonly host: string; readonly what: string }[];
}

/** The world. */
export interface World extends AsyncDisposable {
  readonly hosts: readonly string[];
  /** A fault this world cannot inflict, with the reason. */
  readonly unable: ReadonlyMap<Fault["kind"], string>;
  readonly data: (host: string) => At;
  readonly admin: (host: string) => At;
  readonly agent: (host: string) => At;
  readonly tokens: {
    readonly client: string;
    readonly observer: string;
    readonly operator: string;
  };
  /** Begins a fault; what is given ends it. Both resolve when it is so. */
  inflict(fault: Fault): Promise<() => Promise<void>>;
  /** Everything runs that should, as after a person went through the house. */
  heal(): Promise<void>;
  /** Publishes for a host; says what came of it. */
  publish(host: string, rev: string, candidate: Candidate): Promise<string>;
  /** One turn of the adopter's timers on a host. */
  adopterTurn(host: string): Promise<void>;
  /** `anvil-adopter` on a host, by a person: how it exited. */
  adopter(host: string, ...args: readonly string[]): Promise<number>;
  adoption(host: string): Promise<AdoptionSample>;
  /** `anvil-operator` on the gateway: how it exited. */
  operator(...args: readonly string[]): Promise<number>;
  /** `router.toml` of a host with the primary tier's next model, or its first. */
  routerText(host: string, next: boolean): string;
  /** A measurement of that model there: a promotion names one. */
  evidence(
    host: string,
    next: boolean,
  ): Promise<{ readonly id: string; readonly document: string }>;
  memory(): Promise<readonly Memory[]>;
  /** Command lines and environments that hold a canary, now. */
  spied(canaries: readonly Canary[]): Promise<readonly Leak[]>;
  /** Secrets of the world itself. */
  canaries(): Promise<readonly Canary[]>;
  records(canaries: readonly Canary[]): Promise<Records>;
}
