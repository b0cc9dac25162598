// needs: nginx haproxy
import assert from "node:assert/strict";
import { commandPath, missingFor } from "../../scripts/needs.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { freePort } from "../support/free_port.ts";
import { withRouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until, within } from "../support/wait.ts";

const missing = missingFor(import.meta.url);

/** The recipe of docs/guides/exposed.md between its markers, with the ports and folder of a test. */
async function recipe(name: string, front: number, router: number, dir: string): Promise<string> {
  const guide = await Deno.readTextFile(new URL("../../docs/guides/exposed.md", import.meta.url));
  const found = new RegExp(`<!-- recipe: ${name} -->\\s*\`\`\`\\w*\\n([\\s\\S]*?)\`\`\``).exec(
    guide,
  );
  assert.ok(found !== null, `the guide has no recipe ${name}`);
  return (found[1] as string)
    .replace(/192\.0\.2\.10:443 ssl( crt \S+)?/g, `127.0.0.1:${front}`)
    .replace(/^\s*ssl_certificate.*\n/gm, "")
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${router}`)
    .replaceAll("/run/nginx", dir);
}

async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

const PROXIES = {
  nginx: async (port: number, router: number, dir: string) => {
    const server = await recipe("nginx", port, router, dir);
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${dir}/${name};`).join("\n");
    await Deno.writeTextFile(
      `${dir}/nginx.conf`,
      `daemon off;\nuser root;\npid ${dir}/pid;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${server}}\n`,
    );
    return ["-p", dir, "-e", "stderr", "-c", `${dir}/nginx.conf`];
  },
  haproxy: async (port: number, router: number, dir: string) => {
    await Deno.writeTextFile(`${dir}/haproxy.cfg`, await recipe("haproxy", port, router, dir));
    return ["-db", "-f", `${dir}/haproxy.cfg`];
  },
} as const;

for (const [name, configure] of Object.entries(PROXIES)) {
  Deno.test({
    name: `real, ${name} in front: events pass as they come, a client that leaves is noticed`,
    ignore: missing.length > 0,
    async fn() {
      const engine = await startEngine({ rate: 10 });
      try {
        await withRouterProcess({ members: [engine.port] }, async (router) => {
          await using dir = await tempDir();
          const port = freePort();
          const args = await configure(port, router.port, dir.path);
          const proxy = new Deno.Command(commandPath(name) ?? name, {
            args,
            stdout: "null",
            stderr: "piped",
          }).spawn();
          const stderr = new Response(proxy.stderr).text();
          try {
            await until(`${name} listens`, () => listens(port));
            const body = askBody({ stream: true, max_tokens: 20 });
            const stream = await StreamReader.open(port, ask(CHAT, body));
            assert.ok(await within("the first event", stream.readUntil("Anvil token 1")));
            // Two seconds of stream are left: the first event did not wait for them.
            assert.equal(engine.counts.completed, 0);
            assert.ok(await within("the end", stream.readUntil("[DONE]")));
            stream.close();
            const leaver = await StreamReader.open(
              port,
              ask(CHAT, askBody({ stream: true, max_tokens: 1000 })),
            );
            await leaver.readUntil("Anvil token 1");
            leaver.close();
            await until("the router noticed", async () => (await router.status()).open === 0);
            // A head that never ends is the proxy's to end: the router has no clock for it.
            const slow = await Deno.connect({ hostname: "127.0.0.1", port });
            await slow.write(new TextEncoder().encode("POST /v1/chat/completions HTTP/1.1\r\nx: "));
            const answered = await within(
              "the proxy ends it",
              slow.read(new Uint8Array(1024)),
              20_000,
            );
            assert.ok(answered === null || answered > 0);
            slow.close();
          } finally {
            try {
              proxy.kill("SIGTERM");
            } catch {
              // ended already
            }
            await proxy.status;
            const said = (await stderr).trim();
            if (said !== "") console.log(`  ${name}: ${said.split("\n").at(-1)}`);
          }
        });
      } finally {
        await engine.close();
      }
    },
  });
}
