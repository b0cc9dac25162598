/**
 * A fleet of one on loopback: the fixture engine and the router, from fleet/examples/workstation.
 *
 *     deno run -A scripts/demo.ts           starts both, says how to ask and how to stop
 *     deno run -A scripts/demo.ts --check   asks through two client libraries, prints, stops
 *
 * Everything it makes is below `.demo/`.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkDemo } from "./demo_check.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const EXAMPLE = join(ROOT, "fleet/examples/workstation/router.toml");
const MODEL = "example-org/example-8b";
const ALIAS = "llm.primary";

/** Ports as the example writes them; those taken are replaced, and said aloud. */
const PORTS = { data: 8080, admin: 8081, engine: 8001 };

const check = Deno.args.includes("--check");
const home = check ? await Deno.makeTempDir({ prefix: "anvil-demo-" }) : join(ROOT, ".demo");
await Deno.mkdir(home, { recursive: true, mode: 0o700 });
const tokenFile = join(home, "token");

const ports = check ? { data: free(), admin: free(), engine: free() } : wanted();
let config = await Deno.readTextFile(EXAMPLE);
for (const [name, port] of Object.entries(PORTS)) {
  config = config.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${ports[name as keyof typeof PORTS]}`);
}
await Deno.writeTextFile(join(home, "router.toml"), config);

const running: Deno.ChildProcess[] = [];
const asked = Promise.withResolvers<"signal">();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => asked.resolve("signal"));
}

let exitCode = 1;
try {
  await makeToken();
  const engine = start([
    ...["run", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${ports.engine}`],
    join(ROOT, "tests/fixtures/engine_main.ts"),
    ...["--port", String(ports.engine), "--model", MODEL, "--tokens", "24"],
    ...["--ttft-ms", "200", "--rate", "25"],
  ], join(home, "engine.log"));
  const router = start(routerTask("run", "router.toml"), join(home, "router.log"));
  await ready(router);
  if (check) {
    exitCode = await checkDemo({
      data: ports.data,
      admin: ports.admin,
      alias: ALIAS,
      token: (await Deno.readTextFile(tokenFile)).trim(),
    });
  } else {
    say();
    const ended = await Promise.race([asked.promise, engine.status, router.status]);
    if (ended !== "signal") console.error(`stopped by itself; see the logs in ${home}`);
    else exitCode = 0;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  for (const child of running.reverse()) {
    try {
      child.kill("SIGTERM");
    } catch {
      // it has ended already
    }
    await child.status;
  }
  if (check && exitCode === 0) await Deno.remove(home, { recursive: true });
  else if (check) console.error(`what was said is in ${home}`);
}
Deno.exit(exitCode);

/** A fresh token for one client called demo; only its hash is in the clients file. */
async function makeToken(): Promise<void> {
  const clients = join(home, "clients.toml");
  await Deno.remove(clients).catch(() => {});
  const scopes = ["--scope", "infer", "--scope", "observe"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: routerTask("tokens", "add", clients, "demo", ...scopes, "--out", tokenFile),
    cwd: home,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

function routerTask(...args: string[]): string[] {
  return ["task", "--config", join(ROOT, "deno.json"), "-q", "router", ...args];
}

/** Starts deno with `args`; what it says goes to `log`. */
function start(args: string[], log: string): Deno.ChildProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    cwd: home,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const file = Deno.openSync(log, { create: true, write: true, truncate: true });
  const keep = new WritableStream<Uint8Array>({ write: (bytes) => void file.writeSync(bytes) });
  void child.stdout.pipeTo(keep, { preventClose: true });
  void child.stderr.pipeTo(
    new WritableStream<Uint8Array>({ write: (bytes) => void file.writeSync(bytes) }),
  );
  running.push(child);
  return child;
}

/** Waits until the router says it is ready; gives up when it stops or after 30 s. */
async function ready(router: Deno.ChildProcess): Promise<void> {
  const stopped = router.status.then(() => "stopped" as const);
  const giveUp = Date.now() + 30_000;
  while (Date.now() < giveUp) {
    const answer = await fetch(`http://127.0.0.1:${ports.admin}/readyz`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    const pause = new Promise<"pause">((resolve) => setTimeout(() => resolve("pause"), 100));
    if (await Promise.race([stopped, pause]) === "stopped") break;
  }
  const log = await Deno.readTextFile(join(home, "router.log")).catch(() => "");
  throw new Error(`the router did not become ready; it said:\n${log}`);
}

function say(): void {
  const url = `http://127.0.0.1:${ports.data}`;
  console.log(`
A fleet of one is running (Ctrl-C stops it).

  models      ${url}/v1        alias ${ALIAS}
  admin       http://127.0.0.1:${ports.admin}/readyz
  token file  ${tokenFile}
  decisions   ${join(home, "decisions.jsonl")}
  logs        ${join(home, "router.log")}

Ask it something:

  curl -N ${url}/v1/chat/completions \\
    -H "authorization: Bearer $(cat ${tokenFile})" \\
    -H "content-type: application/json" \\
    -d '{"model":"${ALIAS}","stream":true,"messages":[{"role":"user","content":"hello"}]}'
`);
}

/** The example's ports, another one for each that is taken. */
function wanted(): typeof PORTS {
  const chosen = { ...PORTS };
  for (const [name, port] of Object.entries(PORTS)) {
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
    } catch {
      chosen[name as keyof typeof PORTS] = free();
      console.error(`port ${port} is taken; ${name} uses ${chosen[name as keyof typeof PORTS]}`);
    }
  }
  return chosen;
}

function free(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
