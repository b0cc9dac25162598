// needs: docker dockerd debootstrap git ssh-keygen tar nsenter mount ip curl
/**
 * The fleet in containers, as whoever tours it or breaks it sees it: five hosts with a real systemd
 * each, on a network of their own.
 *
 *     const fleet = await openFleet(folder);        // what `make fleet` left running
 *     await fleet.kill("gpu-a", "anvil-router.service", "SIGKILL");
 *     const said = await fleet.operator(["fleet", "status", "--json"]);
 *
 * `up.ts` makes one, `down.ts` takes it away.
 *
 * @module
 */

/** The hosts there are. */
export const HOST_IDS = ["gateway", "gpu-a", "gpu-b", "voice-a", "laptop"] as const;
/** One of {@link HOST_IDS}. */
export type HostId = (typeof HOST_IDS)[number];

/** Whose a unit or a program is: root's, or the account `anvil` with its own user manager. */
export type Account = "root" | "anvil";

/** How a program ended inside a host, and what it printed. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** How a program is run inside. */
export interface ExecOptions {
  /** Default root. */
  readonly as?: Account;
  /** Default `/`. */
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  readonly env?: Readonly<Record<string, string>>;
  /** Default 120,000. Later it is killed, and the call throws. */
  readonly deadlineMs?: number;
}

/** One unit of a host. */
export interface FleetUnit {
  /** As `anvil-router.service`. */
  readonly name: string;
  readonly account: Account;
}

/** One fixture engine, declared as a serve of its host. */
export interface FleetEngine {
  /** The serve's name. */
  readonly serve: string;
  readonly unit: string;
  readonly port: number;
  /** The model it says it serves; what the tier pins. */
  readonly model: string;
  /** The alias clients ask for, null where it serves no tier. */
  readonly alias: string | null;
  /**
   * On this machine: lines of JSON per POST, `{at, id, target, when}`, before it is answered (`came`)
   * and after (`sent_whole`, `broken_off`); `id` is the request's `x-fixture-id` header.
   */
  readonly log: string;
}

/** What is told to an engine. */
export interface EngineSetting {
  /** Ids it says are loaded. */
  readonly models?: readonly string[];
  /** As in `x-fixture-fault`; null for none. */
  readonly fault?: string | null;
}

/** One host. */
export interface FleetHost {
  readonly id: HostId;
  /** Its address on the fleet's network, reachable from this machine too. */
  readonly address: string;
  /** The container's name. */
  readonly container: string;
  /** `http://ADDRESS:8765`. */
  readonly agent: string;
  /**
   * Where clients ask, and where it tells of itself, on its own loopback alone: see `look`. Null on
   * the gateway.
   */
  readonly router: { readonly data: string; readonly admin: string } | null;
  readonly units: readonly FleetUnit[];
  readonly engines: readonly FleetEngine[];
  /** Files on this machine, mode 0600, of tokens that this host knows. */
  readonly tokens: {
    /** Of the agent, for the operator: scope `*`. */
    readonly operator: string;
    /** Of the router: scopes `infer` and `observe`; null on the gateway. */
    readonly client: string | null;
  };
  /** On this machine: what is /var/lib/anvil inside, a file system of its own, of bounded size. */
  readonly disk: string;
}

/** A bundle that was built for this fleet. */
export interface FleetBundle {
  readonly version: string;
  /** The commit it was built from. */
  readonly rev: string;
  readonly committedAt: string;
  /** On this machine, and at the same place below /root/dist in the gateway. */
  readonly folder: string;
  readonly archive: string;
  /** `build_digest` of its programs. */
  readonly build: string;
}

/** A fleet that is up. */
export interface FleetRig {
  /** Its folder on this machine. */
  readonly folder: string;
  readonly hosts: Readonly<Record<HostId, FleetHost>>;
  /** What runs, what may come next, and one whose agent ends at once. */
  readonly bundles: Readonly<Record<"first" | "second" | "bad", FleetBundle>>;

  /** Runs a program inside a host. */
  exec(host: HostId, argv: readonly string[], options?: ExecOptions): Promise<Said>;
  /** The same, and throws when it does not end with 0. */
  text(host: HostId, argv: readonly string[], options?: ExecOptions): Promise<string>;
  /** `anvil-operator` in the gateway, in the folder of the fleet's repository. */
  operator(argv: readonly string[], options?: ExecOptions): Promise<Said>;
  /** `systemctl VERB UNIT` by the manager the unit belongs to. */
  systemctl(host: HostId, verb: string, unit: string): Promise<Said>;
  /** Sends a signal to every process of a unit. */
  kill(host: HostId, unit: string, signal: string): Promise<Said>;
  /** GETs a URL in the host's network, loopback included; `token` is a file on this machine. */
  look(host: HostId, url: string, token?: string): Promise<{ status: number; body: string }>;
  /** The last lines of a unit's journal. */
  logs(host: HostId, unit: string, lines?: number): Promise<string>;
  /** Tells an engine to say or do something else, until it is told again or started again. */
  engine(host: HostId, serve: string, setting: EngineSetting): Promise<void>;

  /** Stops and goes on, as a lid that is closed. */
  pause(host: HostId): Promise<void>;
  unpause(host: HostId): Promise<void>;
  /** Takes the host's network away, and gives it back with the same address. */
  disconnect(host: HostId): Promise<void>;
  connect(host: HostId): Promise<void>;
  /** Delays what the host sends by milliseconds; 0 ends it. A refusal says why this machine cannot. */
  delay(host: HostId, ms: number): Promise<string | null>;
  /** Power lost: every process killed at once. `start` boots it again, with its disk as it was. */
  powerOff(host: HostId): Promise<void>;
  start(host: HostId): Promise<void>;
  /** The process of this machine that is the host's PID 1. */
  pid(host: HostId): Promise<number>;
}
