/**
 * A program in a role's place that tries everything a taken-over router would.
 *
 * @module
 */

/** Its source: prints how each attempt ended. Its folder holds a file `here`. */
export const PROBE = `
const tries = {
  "read outside": () => Deno.readTextFile("/etc/passwd"),
  "read up": () => Deno.readTextFile("../outside"),
  "read /proc": () => Deno.readTextFile("/proc/self/environ"),
  "write outside": () => Deno.writeTextFile("/tmp/anvil-permissions-probe", "x"),
  "write up": () => Deno.writeTextFile("../outside", "x"),
  "write /etc/anvil": () => Deno.writeTextFile("/etc/anvil/x", "x"),
  "run": () => new Deno.Command("sh", { args: ["-c", "true"] }).output(),
  "run itself": () => new Deno.Command(Deno.execPath()).output(),
  "connect to a public address": () => Deno.connect({ hostname: "192.0.2.1", port: 80 }),
  "connect by name": () => Deno.connect({ hostname: "example.org", port: 80 }),
  "fetch a public address": () => fetch("http://192.0.2.1/"),
  "env": () => Promise.resolve(Deno.env.get("HOME")),
  "all env": () => Promise.resolve(Deno.env.toObject()),
  "host name": () => Promise.resolve(Deno.hostname()),
  "ffi": () => Promise.resolve(Deno.dlopen("libc.so.6", {})),
  "link out": () => Deno.symlink("/etc/passwd", "link"),
  "import from afar": () => import("https://192.0.2.1/x.ts"),
  "read here": () => Deno.readTextFile("here"),
  "write here": () => Deno.writeTextFile("written", "x"),
  "listen": async () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close(),
};
for (const [name, attempt] of Object.entries(tries)) {
  try {
    await attempt();
    console.log(name + ": done");
  } catch (error) {
    console.log(name + ": " + error.name);
  }
}
`;

const DENIED = [
  "read outside",
  "read up",
  "read /proc",
  "write outside",
  "write up",
  "write /etc/anvil",
  "run",
  "run itself",
  "connect to a public address",
  "connect by name",
  "fetch a public address",
  "env",
  "all env",
  "host name",
  "ffi",
  "link out",
];

/** How each attempt must end under the router's permissions. */
export const ATTEMPTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DENIED.map((name) => [name, "NotCapable"])),
  "import from afar": "TypeError", // not fetched
  "read here": "done",
  "write here": "done",
  "listen": "done",
};

/** How the attempts ended. */
export function endsOf(stdout: Uint8Array): Readonly<Record<string, string>> {
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(": ") as [string, string]));
}
