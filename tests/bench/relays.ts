/**
 * The rows of the bench.
 *
 * @module
 */

// needs: nginx haproxy

import { findPortkey, portkeyScript } from "./portkey.ts";
import { type Command, firstLine, type Found, type Relay } from "./relay.ts";
import { findRouter, routerCommand } from "./router_start.ts";

/** Debian keeps servers where a user's PATH does not look. */
const SERVERS = ["", "/usr/sbin/", "/usr/local/sbin/"];

async function findProgram(name: string, args: string[]): Promise<[string, string] | null> {
  for (const folder of SERVERS) {
    const line = await firstLine(folder + name, args);
    if (line !== null) return [folder + name, /\d+\.\d+(?:\.\d+)*/.exec(line)?.[0] ?? line];
  }
  return null;
}

async function found(name: string, args: string[]): Promise<Found> {
  const program = await findProgram(name, args);
  return program === null
    ? { kind: "missing", why: `no ${name} here; on Debian: apt-get install ${name}` }
    : { kind: "found", version: program[1] };
}

async function configured(name: string, args: string[], version: string[]): Promise<Command> {
  const program = await findProgram(name, version);
  return { program: program?.[0] ?? name, args };
}

const direct: Relay = {
  name: "direct",
  setup: "no relay: the client talks to the upstream",
  exact: true,
  find: () => Promise.resolve({ kind: "found", version: "" }),
  headers: () => ({}),
  command: () => Promise.resolve(null),
};

const nginx: Relay = {
  name: "nginx",
  setup: "one worker, proxy_buffering off, proxy_request_buffering off, keep-alive both ways",
  exact: true,
  find: () => found("nginx", ["-v"]),
  headers: () => ({}),
  command: async ({ dir, port, upstreamPort }) => {
    const text = `
daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid ${dir}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  client_max_body_size 64m;
  keepalive_requests 100000000;
  upstream engine {
    server 127.0.0.1:${upstreamPort};
    keepalive 1024;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
    await Deno.writeTextFile(`${dir}/nginx.conf`, text);
    const args = ["-p", dir, "-c", `${dir}/nginx.conf`, "-e", "stderr"];
    return await configured("nginx", args, ["-v"]);
  },
};

const haproxy: Relay = {
  name: "haproxy",
  setup: "one thread, option http-no-delay, http-reuse always",
  exact: true,
  find: () => found("haproxy", ["-v"]),
  headers: () => ({}),
  command: async ({ dir, port, upstreamPort }) => {
    const text = `
global
  maxconn 4096
  nbthread 1
defaults
  mode http
  option http-no-delay
  option http-keep-alive
  http-reuse always
  timeout connect 2s
  timeout client 600s
  timeout server 600s
listen engine
  bind 127.0.0.1:${port} backlog 4096
  server engine 127.0.0.1:${upstreamPort}
`;
    await Deno.writeTextFile(`${dir}/haproxy.cfg`, text);
    return await configured("haproxy", ["-db", "-f", `${dir}/haproxy.cfg`], ["-v"]);
  },
};

const portkey: Relay = {
  name: "Portkey",
  setup: "@portkey-ai/gateway, hono 4.9.7 and @hono/node-server 1.13.5 pinned by overrides",
  exact: false,
  find: findPortkey,
  headers: (upstreamPort) => ({
    authorization: "Bearer bench",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
  }),
  command: ({ port }) =>
    Promise.resolve({
      program: "node",
      args: [portkeyScript, `--port=${port}`, "--headless"],
      env: { NODE_ENV: "production" },
    }),
};

/** Our own. `variant` is `NAME=VALUE` for the environment or an argument such as `--flag`. */
export function router(variant: string | null): Relay {
  return {
    name: variant === null ? "router" : `router ${variant}`,
    setup: "anvil-router with its shipped permissions, client tokens and decision log on",
    exact: true,
    find: findRouter,
    headers: () => ({ authorization: "Bearer anvil_bench" }),
    command: (place) => routerCommand(place, variant),
  };
}

/** Every row, in the order of the tables. */
export function relays(variants: readonly string[]): Relay[] {
  return [direct, nginx, haproxy, portkey, router(null), ...variants.map((v) => router(v))];
}
