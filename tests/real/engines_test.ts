// needs: npm
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { missingFor } from "../../scripts/needs.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { corpusNamed } from "../../lib/benchmark/corpora.ts";
import { parityOf } from "../../lib/evidence/parity.ts";
import { DEFAULT_THRESHOLDS } from "../../lib/evidence/parity_shape.ts";
import { fetchSide, measured, memberToml, startBenchRig } from "../support/bench_rig.ts";
import { MODEL, promptOf } from "../support/tiny_llama/engine_main.ts";
import { ggufFile } from "../support/tiny_llama/gguf.ts";
import { engineModules } from "../support/tiny_llama/modules.ts";
import { onnxFile } from "../support/tiny_llama/onnx.ts";
import { tinyLlama } from "../support/tiny_llama/weights.ts";

const MAIN = fileURLToPath(new URL("../support/tiny_llama/engine_main.ts", import.meta.url));
const modules = missingFor(import.meta.url).length > 0 ? null : await engineModules();

/** A real engine in a process of its own. */
class RealEngine implements AsyncDisposable {
  readonly port: number;
  readonly version: string;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, port: number, version: string) {
    this.#child = child;
    this.port = port;
    this.version = version;
  }

  static async start(kind: "llama" | "onnx", folder: string, model: string): Promise<RealEngine> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--node-modules-dir=manual", MAIN, kind, folder, model],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let line = "";
    while (!line.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`${kind} ended before it listened`);
      line += value;
    }
    await reader.cancel();
    const told = JSON.parse(line) as { port: number; version: string };
    return new RealEngine(child, told.port, told.version);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
  }
}

/** Positions from which the planted defect is in the ONNX graph. */
const WRONG_FROM = 200;

Deno.test({
  name: "two real engines, one model: they agree; with a kernel defect, its first token is named",
  ignore: modules === null,
  fn: async () => {
    assert.ok(modules !== null);
    await using dir = await tempDir();
    const weights = tinyLlama(7);
    await Deno.writeFile(dir.at("tiny.gguf"), await ggufFile(weights));
    await Deno.writeFile(dir.at("tiny.onnx"), onnxFile(weights));
    await Deno.writeFile(dir.at("wrong.onnx"), onnxFile(weights, WRONG_FROM));
    await using llama = await RealEngine.start("llama", modules, dir.at("tiny.gguf"));
    await using onnx = await RealEngine.start("onnx", modules, dir.at("tiny.onnx"));
    await using wrong = await RealEngine.start("onnx", modules, dir.at("wrong.onnx"));
    const toml = memberToml("llama", llama.port, "llama-server", "llama.cpp", MODEL) +
      memberToml("onnx", onnx.port, "openai-models", "onnxruntime", MODEL) +
      memberToml("wrong", wrong.port, "openai-models", "onnxruntime", MODEL);
    await using rig = await startBenchRig(dir.path, toml);
    const side = async (name: string) => {
      const input = { target: { kind: "member", name }, corpus: "chat" };
      return await fetchSide(rig, await measured(rig, input));
    };
    const left = await side("llama");
    const right = await side("onnx");
    for (const { evidence } of [left, right]) {
      const { requests, tokens } = evidence.body.measures;
      assert.deepEqual(requests, { sent: 12, completed: 12, failed: 0, cancelled: 0 });
      assert.deepEqual([tokens.completion, tokens.counted_by], [12 * 96, "engine"]);
    }
    const same = parityOf(left, right, DEFAULT_THRESHOLDS);
    assert.equal(same.verdict, "agree", JSON.stringify(same.reasons));
    assert.equal(same.summary?.exact, 12, "both engines say the same 1152 tokens");
    assert.equal(same.summary?.logprobs?.answers, 12, "and tell how sure they were of each");
    assert.ok(same.identity.some(({ path }) => path === "subject.engine"), "two engines they are");
    const parted = parityOf(left, await side("wrong"), DEFAULT_THRESHOLDS);
    assert.equal(parted.verdict, "diverge");
    const corpus = await corpusNamed("chat", null);
    assert.ok("prompts" in corpus);
    let found = 0;
    for (const { prompt, divergence } of parted.prompts) {
      const asked = corpus.prompts.find(({ id }) => id === prompt);
      assert.ok(asked !== undefined);
      if (divergence === null) continue;
      found++;
      // Up to the first wrong position both engines were given the same and said the same.
      const place = promptOf(asked.messages).length + divergence.index;
      assert.ok(place >= WRONG_FROM, `${prompt}: token ${divergence.index} is before the defect`);
      assert.equal(divergence.unit, "token");
    }
    assert.ok(found >= 3, "answers that are long enough come out wrong");
  },
});
