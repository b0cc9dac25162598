import assert from "node:assert/strict";
import fc from "fast-check";
import { DIGEST, dockerServe } from "../../tests/fixtures/serves.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import type { Upstream, UpstreamAnswer } from "../relay/upstream.ts";
import { readContainer } from "./container_facts.ts";
import { createBody } from "./docker_create.ts";
import { declarationOf, whyForeign } from "./docker_driver.ts";
import { DockerEngine } from "./docker_engine.ts";
import { firstFrame, linesOfFrames } from "./docker_frames.ts";
import { lastLines } from "./log_lines.ts";

const signal = new AbortController().signal;
const encoder = new TextEncoder();

function frame(stream: number, text: string): Uint8Array {
  const payload = encoder.encode(text);
  const bytes = new Uint8Array(8 + payload.length);
  bytes[0] = stream;
  new DataView(bytes.buffer).setUint32(4, payload.length);
  bytes.set(payload, 8);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

Deno.test("docker frames: two streams, lines across frames, a character across frames", () => {
  const [first = new Uint8Array(), second = new Uint8Array()] = [
    encoder.encode("ü\n").subarray(0, 1),
    encoder.encode("ü\n").subarray(1),
  ];
  const raw = (stream: number, payload: Uint8Array) => {
    const head = frame(stream, "");
    new DataView(head.buffer).setUint32(4, payload.length);
    return joined([head, payload]);
  };
  const bytes = joined([
    frame(1, "one\ntw"),
    frame(2, "err"),
    frame(1, "o\n"),
    frame(2, "or\n"),
    raw(1, first),
    raw(1, second),
    frame(1, "rest"),
  ]);
  assert.deepEqual(linesOfFrames(bytes), { text: "one\ntwo\nerror\nü\nrest\n", whole: true });
});

Deno.test("docker frames: any lines come back, whatever the pieces", () => {
  const line = fc.stringMatching(/^[a-z ]{0,20}$/);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.integer({ min: 1, max: 9 }), (lines, size) => {
      const text = lines.map((one) => `${one}\n`).join("");
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      const bytes = joined(pieces.map((piece) => frame(1, piece)));
      assert.deepEqual(linesOfFrames(bytes), { text, whole: true });
      if (bytes.length > 8) {
        const from = firstFrame(bytes.subarray(3));
        assert.ok(from === null || linesOfFrames(bytes.subarray(3 + from)).whole);
      }
    }),
  );
});

Deno.test("docker frames: bytes that are no frames never throw and are not called whole", () => {
  fc.assert(fc.property(fc.uint8Array({ minLength: 9, maxLength: 64 }), (bytes) => {
    const copy = Uint8Array.from(bytes);
    copy[0] = 9;
    assert.equal(linesOfFrames(copy).whole, false);
  }));
});

Deno.test("log lines: bounded in lines and bytes, without control characters", () => {
  const bounds = { lines: 2, bytes: 100 };
  assert.deepEqual(lastLines("a\nb\r\n\x1b[31mc\x1b[0m\x07\n", bounds), {
    kind: "logs",
    lines: ["b", "c"],
    truncated: true,
  });
  const long = lastLines(`short\n${"x".repeat(200)}\n`, bounds);
  assert.ok(long.kind === "logs");
  assert.deepEqual([long.lines.length, long.lines[0]?.length], [1, 100]);
});

Deno.test("docker create: no privileges, no restart, the devices of the claim and no other", () => {
  const serve = dockerServe({ memory: { devices: ["gpu-0", "gpu-1"], mib: 1024 } });
  const uuidOf = new Map([["gpu-0", "GPU-a"], ["gpu-1", "GPU-b"], ["gpu-2", "GPU-c"]]);
  const body = createBody(serve, { env: ["A=1"], uuidOf, declaration: "d" }) as {
    readonly HostConfig: { readonly [key: string]: unknown };
    readonly Labels: { readonly [key: string]: string };
  };
  const { HostConfig } = body;
  assert.deepEqual(
    [HostConfig["Privileged"], HostConfig["RestartPolicy"], HostConfig["SecurityOpt"]],
    [false, { Name: "no" }, ["no-new-privileges"]],
  );
  assert.deepEqual(HostConfig["DeviceRequests"], [
    { Driver: "nvidia", Capabilities: [["gpu"]], DeviceIDs: ["GPU-a", "GPU-b"] },
  ]);
  assert.deepEqual(body.Labels, {
    "anvil-fleet.serve": "primary",
    "anvil-fleet.declaration": "d",
  });
  assert.equal("PortBindings" in HostConfig, false);
  const { run } = serve;
  assert.ok(run !== undefined);
  const published = { ...serve, run: { ...run, network: "models", container_port: 80 } };
  const other = createBody(published, { env: [], uuidOf, declaration: "d" }) as typeof body;
  assert.deepEqual(other.HostConfig["PortBindings"], {
    "80/tcp": [{ HostIp: "127.0.0.1", HostPort: "8001" }],
  });
});

const INSPECTED = {
  Id: "0123456789abcdef",
  Name: "/anvil-primary",
  Image: DIGEST,
  Path: "serve",
  Args: ["example-org/example-8b", "--port", "8001"],
  State: {
    Running: false,
    Pid: 0,
    StartedAt: "2026-11-29T20:29:01.123456789Z",
    FinishedAt: "2026-11-29T20:30:01.5Z",
    ExitCode: 137,
    OOMKilled: true,
  },
  Config: {
    Image: `registry.example/engine@${DIGEST}`,
    Cmd: ["serve", "example-org/example-8b", "--port", "8001"],
    Labels: {},
  },
  HostConfig: { NetworkMode: "host", Privileged: false },
};

Deno.test("docker inspect: how it ended, and who could have made it", () => {
  const container = readContainer(INSPECTED);
  assert.ok(container !== null);
  assert.deepEqual(container.exit, {
    code: 137,
    signal: null,
    at: Date.parse("2026-11-29T20:30:01.500Z"),
    outOfMemory: true,
  });
  assert.equal(readContainer({ Id: "x" }), null);
  const serve = dockerServe();
  assert.equal(whyForeign(serve, container), null); // made by hand, just as declared
  assert.notEqual(whyForeign(serve, { ...container, args: ["serve"] }), null);
  assert.notEqual(whyForeign(serve, { ...container, onHostNetwork: false }), null);
  assert.notEqual(whyForeign(serve, { ...container, imageReference: "engine:latest" }), null);
  assert.equal(whyForeign(serve, { ...container, args: ["x"], serve: "primary" }), null);
  assert.notEqual(whyForeign(serve, { ...container, serve: "other" }), null);
  const compose = { file: "/x/compose.yaml", service: "primary" };
  assert.notEqual(whyForeign({ ...serve, compose }, container), null);
  const made = { files: "/a.yaml,/x/compose.yaml", service: "primary" };
  assert.equal(whyForeign({ ...serve, compose }, { ...container, compose: made }), null);
});

Deno.test("docker inspect: what reaches an accelerator is seen, in every way there is", () => {
  const uses = (host: object) =>
    readContainer({ ...INSPECTED, HostConfig: { NetworkMode: "host", ...host } })?.usesDevices;
  assert.equal(uses({}), false);
  assert.equal(uses({ Privileged: true }), true);
  assert.equal(uses({ Runtime: "nvidia" }), true);
  assert.equal(uses({ DeviceRequests: [{ Count: -1 }] }), true);
  assert.equal(uses({ Devices: [{ PathOnHost: "/dev/kfd" }] }), true);
  assert.equal(uses({ Devices: [{ PathOnHost: "/dev/fuse" }] }), false);
});

Deno.test("docker: another declaration has another digest, another value of a variable has not", () => {
  const serve = dockerServe();
  assert.equal(declarationOf(serve), declarationOf({ ...serve, stop_grace_seconds: 1 }));
  assert.notEqual(declarationOf(serve), declarationOf({ ...serve, env: ["A"] }));
  assert.notEqual(declarationOf(serve), declarationOf({ ...serve, port: 1 }));
});

/** An engine that answers `version` first, then `answer`. */
function engineWith(version: object, answer: UpstreamAnswer, asked: string[] = []): DockerEngine {
  const upstream: Upstream = {
    send: ({ target }) => {
      asked.push(target);
      return Promise.resolve(target === "/version" ? answered(200, version) : answer);
    },
    close: () => {},
  };
  return new DockerEngine(upstream, new FakeClock());
}

function answered(status: number, value: unknown): UpstreamAnswer {
  let left: Uint8Array | null = encoder.encode(JSON.stringify(value));
  return {
    kind: "answered",
    status,
    headers: [],
    reused: false,
    body: {
      framing: "length",
      ended: false,
      holds: false,
      cancel: () => {},
      read: () => {
        const bytes = left;
        left = null;
        return Promise.resolve(bytes === null ? { kind: "end" } : { kind: "bytes", bytes });
      },
    },
  };
}

Deno.test("docker engine: the newest version both know is spoken, an unknown one is not", async () => {
  const told = async (ApiVersion: string, MinAPIVersion: string) => {
    const asked: string[] = [];
    const engine = engineWith({ ApiVersion, MinAPIVersion }, answered(200, []), asked);
    const answer = await engine.json("/containers/json", signal);
    return answer.kind === "answered" ? asked.at(-1) : answer.code;
  };
  assert.equal(await told("1.41", "1.12"), "/v1.41/containers/json");
  assert.equal(await told("1.99", "1.44"), "/v1.52/containers/json");
  assert.equal(await told("1.39", "1.12"), "runtime_not_understood");
  assert.equal(await told("1.99", "1.60"), "runtime_not_understood");
  assert.equal(await told("podman", "1.0"), "runtime_not_understood");
});

Deno.test("docker engine: no answer, half an answer and no JSON are unknown", async () => {
  const version = { ApiVersion: "1.41", MinAPIVersion: "1.12" };
  const code = async (answer: UpstreamAnswer) => {
    const said = await engineWith(version, answer).json("/x", signal);
    return said.kind === "unknown" ? said.code : said.status;
  };
  const failed = (code: "aborted" | "closed_before_head", sent: "no" | "unknown") =>
    ({ kind: "failed", code, sent, cause: "test" }) as const;
  assert.equal(await code(failed("aborted", "unknown")), "runtime_silent");
  assert.equal(await code(failed("closed_before_head", "unknown")), "runtime_unreachable");
  const broken = answered(200, {});
  assert.ok(broken.kind === "answered");
  const read = () => Promise.resolve({ kind: "broken", code: "reset", cause: "test" } as const);
  assert.equal(await code({ ...broken, body: { ...broken.body, read } }), "runtime_unreachable");
  const twice = answered(200, 0);
  assert.ok(twice.kind === "answered");
  let once = true;
  const bad = () => {
    const bytes = once ? encoder.encode("{") : null;
    once = false;
    return Promise.resolve(
      bytes === null ? { kind: "end" } as const : { kind: "bytes", bytes } as const,
    );
  };
  assert.equal(
    await code({ ...twice, body: { ...twice.body, read: bad } }),
    "runtime_not_understood",
  );
});
