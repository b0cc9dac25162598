/**
 * What a shape cannot say about a manifest by itself, as a table.
 *
 * @module
 */

import type { Problem } from "../core/problem.ts";
import type { Table } from "../document/toml.ts";
import { IDENTITY_KINDS, provesNothing } from "../identity/kinds.ts";
import { at, listAt, tableAt, textAt, wholeAt } from "./written.ts";

/** One rule. */
interface Rule {
  /** Codes it reports. */
  readonly codes: readonly string[];
  /** What must hold, in a sentence. */
  readonly holds: string;
  readonly find: (serves: readonly Table[]) => readonly Problem[];
}

/** Every rule. */
export const MANIFEST_RULES: readonly Rule[] = [
  {
    codes: ["duplicate_id", "duplicate_port", "duplicate_container", "duplicate_unit"],
    holds: "Name, port, container and unit each belong to one serve of the host.",
    find: (serves) => [
      ...twice(serves, "name", "duplicate_id", "is called so already", textAt),
      ...twice(serves, "port", "duplicate_port", "has this port already", wholeAt),
      ...twice(serves, "container", "duplicate_container", "has this container already", textAt),
      ...twice(serves, "unit", "duplicate_unit", "has this unit already", unitOf),
    ],
  },
  {
    codes: ["missing", "ambiguous"],
    holds: "A container is made from `run`, or by compose: one of the two.",
    find: each((serve, index) => {
      if (textAt(serve, "runtime") !== "docker") return [];
      const ways = ["run", "compose"].filter((key) => Object.hasOwn(serve, key));
      if (ways.length === 0) {
        const message = "say how the container is made: `run`, or `compose`";
        return [at(index, ["run"], "missing", message)];
      }
      const message = "a container is made from `run` or by `compose`: remove one of the two";
      return ways.length === 2 ? [at(index, ["compose"], "ambiguous", message)] : [];
    }),
  },
  {
    codes: ["missing", "not_allowed"],
    holds: "A port is published from a network of its own, and only from there.",
    find: each((serve, index) => {
      const run = tableAt(serve, "run");
      if (run === null) return [];
      const isHost = (run["network"] ?? "host") === "host";
      const has = Object.hasOwn(run, "container_port");
      if (isHost && has) {
        const message = "on the host's network the engine listens on `port` itself; remove it";
        return [at(index, ["run", "container_port"], "not_allowed", message)];
      }
      const message = "name the port the engine listens on inside its network";
      return isHost || has ? [] : [at(index, ["run", "container_port"], "missing", message)];
    }),
  },
  {
    codes: ["missing", "not_allowed", "duplicate_env"],
    holds: "Variables are named here, once, and their values stand in one private file.",
    find: each((serve, index) => {
      const names = listAt(serve, "env");
      const has = Object.hasOwn(serve, "env_file");
      return [
        ...names.flatMap((name, place) =>
          names.indexOf(name) < place
            ? [at(index, ["env", place], "duplicate_env", "named already; remove it")]
            : []
        ),
        ...(names.length > 0 &&
            ["launchd", "windows-task"].includes(textAt(serve, "supervisor") ?? "")
          ? [at(index, ["env"], "not_allowed", "this supervisor reads no file of variables")]
          : []),
        ...(names.length > 0 && !has
          ? [at(index, ["env_file"], "missing", "name the file that holds the values of `env`")]
          : []),
        ...(names.length === 0 && has
          ? [at(index, ["env_file"], "not_allowed", "`env` names no variable to take from it")]
          : []),
      ];
    }),
  },
  {
    codes: ["malformed"],
    holds: "A native program is named by its path: no search path stands between.",
    find: each((serve, index) => {
      const [program] = listAt(serve, "argv");
      const isPath = textAt(serve, "runtime") === "docker" || typeof program !== "string" ||
        /^(\/|[A-Za-z]:\\)/.test(program);
      return isPath ? [] : [at(index, ["argv", 0], "malformed", "expected an absolute path")];
    }),
  },
  {
    codes: ["depends_unknown", "depends_on_itself", "depends_cycle"],
    holds: "What a serve depends on is another serve of the host, and no circle.",
    find: findDependencyFaults,
  },
  {
    codes: ["identity_proves_nothing"],
    holds: "The identity kind asks this engine what is loaded, not what is installed.",
    find: each((serve, index) => {
      const engine = textAt(serve, "engine");
      const written = tableAt(serve, "identity")?.["kind"];
      const kind = IDENTITY_KINDS.find((one) => one === written);
      if (engine === null || kind === undefined || !provesNothing(kind, engine)) return [];
      const message = `\`${kind}\` lists what ${engine} has installed, not what it serves; ` +
        "choose the kind that asks this engine what is loaded";
      return [at(index, ["identity", "kind"], "identity_proves_nothing", message)];
    }),
  },
];

/** Everything that is wrong with `serves` among themselves. */
export function findManifestFaults(serves: readonly Table[]): readonly Problem[] {
  return MANIFEST_RULES.flatMap((rule) => rule.find(serves));
}

function each(
  find: (serve: Table, index: number) => readonly Problem[],
): Rule["find"] {
  return (serves) => serves.flatMap(find);
}

function twice(
  serves: readonly Table[],
  key: string,
  code: string,
  what: string,
  read: (serve: Table, key: string) => string | number | null,
): Problem[] {
  const values = serves.map((serve) => read(serve, key));
  return values.flatMap((value, index) =>
    value !== null && values.indexOf(value) < index
      ? [at(index, [key], code, `another serve of this host ${what}`)]
      : []
  );
}

/** A unit is one per supervisor. */
function unitOf(serve: Table): string | null {
  const unit = textAt(serve, "unit");
  return unit === null ? null : `${textAt(serve, "supervisor")} ${unit}`;
}

function findDependencyFaults(serves: readonly Table[]): readonly Problem[] {
  const names = serves.map((serve) => textAt(serve, "name"));
  const needs = serves.map((serve) => listAt(serve, "depends").map((one) => String(one)));
  const problems: Problem[] = [];
  needs.forEach((list, index) =>
    list.forEach((name, place) => {
      const where = ["depends", place];
      if (name === names[index]) {
        problems.push(at(index, where, "depends_on_itself", "a serve cannot wait for itself"));
      } else if (!names.includes(name)) {
        const message = `no serve of this host is called ${JSON.stringify(name.slice(0, 80))}`;
        problems.push(at(index, where, "depends_unknown", message));
      }
    })
  );
  const nextOf = (name: string) => needs[names.indexOf(name)] ?? [];
  const reported = new Set<string>();
  names.forEach((name, index) => {
    if (name === null || reported.has(name)) return;
    const circle = circleFrom(name, nextOf);
    if (circle === null) return;
    circle.forEach((one) => reported.add(one));
    const message = `a circle: ${[...circle, name].join(" -> ")}; nothing of it could start first`;
    problems.push(at(index, ["depends"], "depends_cycle", message));
  });
  return problems;
}

/** The names of a shortest way from `name` back to it, without the last; null when there is none. */
function circleFrom(name: string, nextOf: (name: string) => readonly string[]): string[] | null {
  const seen = new Set<string>();
  let ways: string[][] = [[name]];
  while (ways.length > 0) {
    const longer: string[][] = [];
    for (const way of ways) {
      for (const next of nextOf(way.at(-1) ?? name)) {
        if (next === name) {
          if (way.length > 1) return way;
        } else if (!seen.has(next)) {
          seen.add(next);
          longer.push([...way, next]);
        }
      }
    }
    ways = longer;
  }
  return null;
}
