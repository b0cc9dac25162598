/**
 * The tiny llama as an ONNX graph: tokens and their positions in, logits of the last place out. The
 * same weights as the GGUF file, computed by other people's code.
 *
 * @module
 */

import { SHAPE, type Tensor } from "./weights.ts";

const encoder = new TextEncoder();

/** Protocol buffers, as much as a model needs. */
class Message {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];

  number(field: number, value: number): this {
    return this.#raw(varint(field << 3), varint(value));
  }

  float(field: number, value: number): this {
    return this.#raw(varint(field << 3 | 5), new Uint8Array(new Float32Array([value]).buffer));
  }

  bytes(field: number, bytes: Uint8Array<ArrayBuffer>): this {
    return this.#raw(varint(field << 3 | 2), varint(bytes.length), bytes);
  }

  text(field: number, text: string): this {
    return this.bytes(field, encoder.encode(text));
  }

  message(field: number, message: Message): this {
    return this.bytes(field, message.whole());
  }

  whole(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #raw(...parts: Uint8Array<ArrayBuffer>[]): this {
    this.#parts.push(...parts);
    return this;
  }
}

function varint(value: number): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(left & 0x7fn);
    left >>= 7n;
    bytes.push(left === 0n ? low : low | 0x80);
  } while (left !== 0n);
  return new Uint8Array(bytes);
}

const FLOAT = 1;
const INT64 = 7;

/** Collects nodes and constants. */
class Graph {
  readonly message = new Message().text(2, "tiny");
  #made = 0;

  constant(values: Float32Array<ArrayBuffer> | readonly number[], dims: readonly number[]): string {
    const name = `c${this.#made++}`;
    const float = values instanceof Float32Array;
    const data = float ? values : new BigInt64Array(values.map((one) => BigInt(one)));
    const tensor = new Message();
    dims.forEach((one) => tensor.number(1, one));
    tensor.number(2, float ? FLOAT : INT64).text(8, name);
    this.message.message(5, tensor.bytes(9, new Uint8Array(data.buffer)));
    return name;
  }

  node(
    type: string,
    inputs: readonly string[],
    attributes: { readonly [name: string]: number | readonly number[] } = {},
    output = `n${this.#made++}`,
  ): string {
    const node = new Message();
    inputs.forEach((one) => node.text(1, one));
    node.text(2, output).text(4, type);
    for (const [name, value] of Object.entries(attributes)) {
      const attribute = new Message().text(1, name);
      if (typeof value === "number") attribute.number(3, value).number(20, 2);
      else {
        value.forEach((one) => attribute.number(8, one));
        attribute.number(20, 7);
      }
      node.message(5, attribute);
    }
    this.message.message(1, node);
    return output;
  }

  value(field: 11 | 12, name: string, type: number, dims: readonly (number | string)[]): void {
    const shape = new Message();
    for (const one of dims) {
      const dim = new Message();
      shape.message(1, typeof one === "number" ? dim.number(1, one) : dim.text(2, one));
    }
    const tensor = new Message().number(1, type).message(2, shape);
    const value = new Message().text(1, name).message(2, new Message().message(1, tensor));
    this.message.message(field, value);
  }
}

/**
 * The file. With `wrongFrom` the rotation of positions from there on is a little off: what a faulty
 * kernel for long contexts does.
 */
export function onnxFile(
  tensors: ReadonlyMap<string, Tensor>,
  wrongFrom: number | null = null,
): Uint8Array<ArrayBuffer> {
  const { layers, width, heads, headWidth, epsilon } = SHAPE;
  const graph = new Graph();
  const need = (name: string) => {
    const found = tensors.get(name);
    if (found === undefined) throw new TypeError(name);
    return found;
  };
  const floats = (...values: number[]) => graph.constant(new Float32Array(values), [values.length]);
  const vector = (name: string) => graph.constant(need(name).values, [need(name).columns]);
  /** As MatMul takes it: inputs by outputs. */
  const matrix = (name: string) => {
    const { rows, columns, values } = need(name);
    const turned = new Float32Array(values.length);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        turned[column * rows + row] = values[row * columns + column] ?? 0;
      }
    }
    return graph.constant(turned, [columns, rows]);
  };
  graph.value(11, "tokens", INT64, ["n"]);
  const { cos, sin } = rotations(wrongFrom);
  const half = headWidth / 2;
  const positions = graph.node("Range", [
    graph.node("Squeeze", [graph.constant([0], [1])]),
    graph.node("Squeeze", [graph.node("Shape", ["tokens"])]),
    graph.node("Squeeze", [graph.constant([1], [1])]),
  ]);
  const angles = (values: Float32Array<ArrayBuffer>) =>
    graph.node("Gather", [graph.constant(values, [SHAPE.context, 1, half, 1]), positions], {
      axis: 0,
    });
  const [cosines, sines] = [angles(cos), angles(sin)];
  const pairs = graph.constant([0, heads, half, 2], [4]);
  const apart = graph.constant([0, heads, headWidth], [3]);
  const together = graph.constant([0, width], [2]);
  const zero = graph.constant([0], [1]);
  const one = graph.constant([1], [1]);
  const rotate = (x: string) => {
    const paired = graph.node("Reshape", [x, pairs]);
    const first = graph.node("Gather", [paired, zero], { axis: 3 });
    const second = graph.node("Gather", [paired, one], { axis: 3 });
    const by = (a: string, b: string) => graph.node("Mul", [a, b]);
    const left = graph.node("Sub", [by(first, cosines), by(second, sines)]);
    const right = graph.node("Add", [by(first, sines), by(second, cosines)]);
    return graph.node("Reshape", [graph.node("Concat", [left, right], { axis: 3 }), apart]);
  };
  const small = floats(epsilon);
  const lastAxis = graph.constant([-1], [1]);
  const normed = (x: string, name: string) => {
    const mean = graph.node("ReduceMean", [graph.node("Mul", [x, x]), lastAxis], { keepdims: 1 });
    const root = graph.node("Sqrt", [graph.node("Add", [mean, small])]);
    return graph.node("Mul", [graph.node("Div", [x, root]), vector(name)]);
  };
  // Above the diagonal: what comes later is not looked at.
  const column = graph.node("Unsqueeze", [positions, zero]);
  const row = graph.node("Unsqueeze", [positions, one]);
  const later = graph.node("Greater", [column, row]);
  const mask = graph.node("Where", [later, floats(-1e9), floats(0)]);
  const scale = floats(1 / Math.sqrt(headWidth));
  let x = graph.node("Gather", [
    graph.constant(need("token_embd.weight").values, [need("token_embd.weight").rows, width]),
    "tokens",
  ], { axis: 0 });
  for (let layer = 0; layer < layers; layer++) {
    const of = (name: string) => `blk.${layer}.${name}.weight`;
    const input = normed(x, of("attn_norm"));
    const part = (name: string) => graph.node("MatMul", [input, matrix(of(name))]);
    const byHead = (y: string, perm: readonly number[]) => graph.node("Transpose", [y], { perm });
    const q = byHead(rotate(part("attn_q")), [1, 0, 2]);
    const k = byHead(rotate(part("attn_k")), [1, 2, 0]);
    const v = byHead(graph.node("Reshape", [part("attn_v"), apart]), [1, 0, 2]);
    const scores = graph.node("Mul", [graph.node("MatMul", [q, k]), scale]);
    const weights = graph.node("Softmax", [graph.node("Add", [scores, mask])], { axis: 2 });
    const seen = byHead(graph.node("MatMul", [weights, v]), [1, 0, 2]);
    const joined = graph.node("Reshape", [seen, together]);
    x = graph.node("Add", [x, graph.node("MatMul", [joined, matrix(of("attn_output"))])]);
    const middle = normed(x, of("ffn_norm"));
    const gate = graph.node("MatMul", [middle, matrix(of("ffn_gate"))]);
    const up = graph.node("MatMul", [middle, matrix(of("ffn_up"))]);
    const open = graph.node("Mul", [gate, graph.node("Sigmoid", [gate])]);
    const down = graph.node("MatMul", [graph.node("Mul", [open, up]), matrix(of("ffn_down"))]);
    x = graph.node("Add", [x, down]);
  }
  const last = graph.node("Gather", [normed(x, "output_norm.weight"), lastAxis], { axis: 0 });
  graph.node("MatMul", [last, matrix("output.weight")], {}, "logits");
  graph.value(12, "logits", FLOAT, [1, need("output.weight").rows]);
  const opset = new Message().text(1, "").number(2, 18);
  return new Message().number(1, 9).text(2, "tiny").message(7, graph.message).message(8, opset)
    .whole();
}

/** Cosines and sines of every position and pair of a head. */
function rotations(wrongFrom: number | null) {
  const half = SHAPE.headWidth / 2;
  const cos = new Float32Array(SHAPE.context * half);
  const sin = new Float32Array(SHAPE.context * half);
  for (let position = 0; position < SHAPE.context; position++) {
    const place = wrongFrom !== null && position >= wrongFrom ? position + 0.5 : position;
    for (let pair = 0; pair < half; pair++) {
      const angle = place * Math.pow(SHAPE.ropeBase, -2 * pair / SHAPE.headWidth);
      cos[position * half + pair] = Math.cos(angle);
      sin[position * half + pair] = Math.sin(angle);
    }
  }
  return { cos, sin };
}
