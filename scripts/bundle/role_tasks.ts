/**
 * The roles of this tree and the permissions each runs with: read out of the tasks of deno.json, so
 * that a launcher grants what the task grants and nothing else.
 *
 * @module
 */

/** Systems we ship for, and how the tasks of deno.json call them. */
const SYSTEMS = { linux: "linux", darwin: "macos", windows: "windows" } as const;

/** One of the systems. */
export type System = keyof typeof SYSTEMS;

/** One role that has a program. */
export interface RoleTask {
  readonly role: string;
  /**
   * `--allow-…` words on each system; `$HERE` stands for the folder it is started from, `$HOME` for
   * the user's.
   */
  readonly permissions: Readonly<Record<System, readonly string[]>>;
}

/** What is needed of deno.json. */
export interface Config {
  readonly tasks: Readonly<Record<string, { readonly command: string }>>;
  readonly unstable: readonly string[];
}

/** Words of a task that say how it runs from source, or that every launcher has anyway. */
const OF_SOURCE = ["--no-prompt", "--no-remote", "--cached-only", "--frozen", "--quiet"];

/** Every role with a main.ts under `root`, in order. Throws where one has no task it understands. */
export async function readRoleTasks(root: URL, config: Config): Promise<readonly RoleTask[]> {
  const roles: string[] = [];
  for await (const { name } of Deno.readDir(new URL("roles/", root))) {
    const main = new URL(`roles/${name}/main.ts`, root);
    if (await Deno.stat(main).then(({ isFile }) => isFile, () => false)) roles.push(name);
  }
  return roles.sort().map((role) => {
    // `agent-macos` is the agent's task on a Mac; without one, `agent` is.
    const of = (system: System) => {
      const task = config.tasks[`${role}-${SYSTEMS[system]}`] ?? config.tasks[role];
      if (task === undefined) throw new Error(`deno.json has no task for roles/${role}/main.ts`);
      return permissionsOf(role, task.command);
    };
    return {
      role,
      permissions: { linux: of("linux"), darwin: of("darwin"), windows: of("windows") },
    };
  });
}

/** The permissions of a task's command line. */
export function permissionsOf(role: string, command: string): readonly string[] {
  const start = command.indexOf(" deno run ");
  if (start === -1) throw new Error(`the ${role} task runs no deno`);
  const words = [...command.slice(start + " deno run ".length).matchAll(/"([^"]*)"|(\S+)/g)]
    .map((match) => (match[1] ?? match[2]) as string);
  const [config, configPath, ...rest] = words;
  const main = rest.pop();
  if (config !== "--config" || configPath !== "$root/deno.json") {
    throw new Error(`the ${role} task does not begin with --config "$root/deno.json"`);
  }
  if (main !== `$root/roles/${role}/main.ts`) throw new Error(`the ${role} task runs ${main}`);
  const permissions = rest.filter((word) => !OF_SOURCE.includes(word));
  for (const word of permissions) {
    if (!/^--(allow|deny)-[a-z]+=[^\s]+$/.test(word)) {
      throw new Error(`the ${role} task has a word no launcher can repeat: ${word}`);
    }
    if (/["`'\\%&|;<>()!^]/.test(word) || /\$(?!INIT_CWD\b|HOME\b)/.test(word)) {
      throw new Error(`the ${role} task has a word that needs a shell: ${word}`);
    }
  }
  return permissions.map((word) => word.replaceAll("$INIT_CWD", "$HERE"));
}
