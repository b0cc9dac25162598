import assert from "node:assert/strict";
import { evidenceText, writeEvidence } from "../../lib/evidence/evidence.ts";
import type { Evidence } from "../../lib/evidence/evidence_shape.ts";
import { newKeyFile } from "../../lib/adoption/key_file.ts";
import { trustText } from "../../lib/adoption/keys.ts";
import {
  laptopEvidence,
  sampleEvidence,
  sampleRecord,
  sampleRun,
} from "../../lib/testing/evidence_samples.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { operator } from "../fixtures/operator_cli.ts";

const PROMPTS = ["arith-1", "arith-2", "capital-1", "capital-2"];
const WORDS = ["The", " answer", " is", " four", "."];

const answers = () => PROMPTS.map((prompt) => sampleRecord(prompt, WORDS));

type Run = Awaited<ReturnType<typeof sampleRun>>;

/** A home's folder of evidence, filled as `evidence add` fills it. */
async function withHome(run: (dir: TempDir, add: (run: Run) => Promise<string>) => Promise<void>) {
  await using dir = await tempDir();
  const add = async (made: Run) => {
    const [document, records] = [dir.at("document.json"), dir.at("records.jsonl")];
    await Deno.writeFile(document, made.bytes);
    await Deno.writeFile(records, made.records);
    const more = made.records.length === 0 ? [] : ["--records", records];
    const { code, out, err } = await operator(dir.at("home"), "evidence", "add", document, ...more);
    assert.equal(code, 0, err);
    assert.equal(out, `ev-${made.digest} kept\n`);
    return made.id;
  };
  await run(dir, add);
}

const envelope = (out: string) => JSON.parse(out);

Deno.test("evidence: added, listed, shown, verified; mode 0600; the same again changes nothing", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    assert.equal((await operator(home, "evidence", "list")).out, "no evidence is kept here\n");
    const run = await sampleRun(sampleEvidence(), answers());
    const id = await add(run);
    for await (const { name } of Deno.readDir(`${home}/evidence`)) {
      assert.equal((await Deno.stat(`${home}/evidence/${name}`)).mode! & 0o777, 0o600, name);
    }
    const again = await operator(home, "evidence", "add", dir.at("document.json"));
    assert.equal(again.out, `${id} is kept already\n`);
    const listed = await operator(home, "evidence", "list");
    assert.match(
      listed.out,
      /example\/model-8b fp8 +vllm gpu-a +30 ms +50 +4 of 4 .*continuous; power mains/,
    );
    const shown = await operator(home, "evidence", "show", id.slice(0, 10));
    assert.match(shown.out, /^records +4 answers are kept$/m);
    const json = envelope((await operator(home, "evidence", "show", id, "--json")).out);
    assert.deepEqual(json.data, { name: id, body: run.body });
    const verified = await operator(home, "evidence", "verify");
    assert.match(verified.out, /sound +4 records; not signed/);
    assert.equal(verified.code, 0);
    // A shell completes what is kept.
    const completed = await operator(home, "__complete", "evidence", "show", "ev-");
    assert.ok(completed.out.includes(id), completed.out);
  });
});

Deno.test("evidence: unknown keys, other bytes, other records and names of nothing are refused", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const codes = async (...args: string[]) => {
      const { code, out } = await operator(home, "evidence", ...args, "--json");
      return [code, ...envelope(out).problems.map(({ code }: { code: string }) => code)];
    };
    const bad = sampleEvidence() as Evidence & Record<string, unknown>;
    bad["promote"] = true;
    await Deno.writeTextFile(dir.at("bad.json"), evidenceText(bad));
    assert.deepEqual(await codes("add", dir.at("bad.json")), [2, "unknown_key"]);
    await Deno.writeTextFile(dir.at("bad.json"), '{"schema":"evidence/v2"}\n');
    assert.deepEqual(await codes("add", dir.at("bad.json")), [2, "evidence_schema_unknown"]);
    assert.deepEqual(await codes("show", "ev-0000"), [1, "evidence_absent"]);
    assert.equal((await operator(home, "evidence", "show", "nonsense")).code, 2);

    const id = await add(await sampleRun(sampleEvidence(), answers()));
    const path = `${home}/evidence/${id.slice(3)}`;
    await Deno.writeTextFile(`${path}.records.jsonl`, "{}\n");
    const listed = await operator(home, "evidence", "verify", "--json");
    assert.equal(listed.code, 1);
    assert.equal(envelope(listed.out).data[0].state, "records_tampered");
    await Deno.writeTextFile(`${path}.json`, evidenceText(laptopEvidence()));
    assert.deepEqual(await codes("show", id), [2, "evidence_tampered"]);
    const tampered = await operator(home, "evidence", "list");
    assert.equal(tampered.code, 1);
    assert.match(tampered.out, /evidence_tampered/);
    assert.deepEqual(await codes("add", dir.at("document.json")), [1, "evidence_damaged"]);
  });
});

Deno.test("evidence: unlike work is not compared, and like work is, under its conditions", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const one = await add(await sampleRun(sampleEvidence(), []));
    const two = await add(await sampleRun(laptopEvidence(), []));
    const other = await add(
      await sampleRun(sampleEvidence(({ workload }) => workload.sampling.max_tokens = 9), []),
    );
    const like = await operator(home, "evidence", "compare", one, two);
    assert.equal(like.code, 0);
    assert.match(like.out, /^left: {2}vllm on gpu-a: continuous; power mains/m);
    assert.match(like.out, /^right: mlx-lm on mac: opportunistic; power battery/m);
    assert.match(like.out, /^ttft_ms.p50 +30 +30 +1$/m);
    const unlike = await operator(home, "evidence", "compare", one, other, "--json");
    assert.equal(unlike.code, 1);
    const { data } = envelope(unlike.out);
    assert.equal(data.kind, "not_comparable");
    assert.deepEqual(data.reasons, [{ path: "workload.sampling.max_tokens", left: 64, right: 9 }]);
    assert.equal(data.figures, undefined);
  });
});

Deno.test("evidence: parity names the first diverging token of a planted defect", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const left = await add(await sampleRun(sampleEvidence(), answers()));
    const same = await add(await sampleRun(laptopEvidence(), answers()));
    const planted = answers();
    planted[2] = sampleRecord("capital-1", ["The", " answer", " is", " five", "."], { top: null });
    const wrong = await add(
      await sampleRun(laptopEvidence((body) => body.run.id = "bench-2"), planted),
    );
    const chart = dir.at("parity.svg");
    const agrees = await operator(home, "evidence", "parity", left, same, "--chart", chart);
    assert.equal(agrees.code, 0, agrees.err);
    assert.match(agrees.out, /^verdict +agree$/m);
    assert.match(await Deno.readTextFile(chart), /<title [^>]*>Parity of vllm .*: agree<\/title>/);
    const found = await operator(home, "evidence", "parity", left, wrong);
    assert.equal(found.code, 1);
    assert.match(found.out, /^verdict +diverge$/m);
    assert.match(found.out, /^first divergence +capital-1, at token 3: " four" \/ " five"$/m);
    assert.match(found.out, /^right under +opportunistic; power battery/m);
    // Kept like evidence, and made again it is the same.
    const twice = await operator(home, "evidence", "parity", left, wrong, "--json");
    const { digest } = envelope(twice.out).data;
    const listed = envelope((await operator(home, "evidence", "list", "--json")).out).data;
    assert.equal(listed.length, 5);
    assert.ok(listed.some((one: { name: string }) => one.name === digest));
    // Looser limits are kept with the verdict.
    const loose = await operator(
      home,
      "evidence",
      "parity",
      left,
      wrong,
      "--exact",
      "0.7",
      "--json",
    );
    assert.equal(envelope(loose.out).data.body.verdict, "agree");
    assert.equal(envelope(loose.out).data.body.thresholds.exact_share_min, 0.7);
    const bare = await operator(home, "evidence", "compare", left, digest, "--json");
    assert.equal(envelope(bare.out).problems[0].code, "evidence_is_parity");
  });
});

Deno.test("evidence: publish refuses the unconditioned, whole or not at all, and says of each why", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const to = dir.at("published");
    const good = await add(await sampleRun(sampleEvidence(), []));
    const bare = await add(await sampleRun(laptopEvidence((body) => body.conditions = null), []));
    const half = await add(await sampleRun(sampleEvidence(({ run }) => run.complete = false), []));
    const all = await operator(home, "evidence", "publish", "--all", "--to", to, "--json");
    assert.equal(all.code, 1);
    const problems = envelope(all.out).problems.map(({ path, code }: Record<string, string>) => [
      path,
      code,
    ]);
    assert.deepEqual(
      problems.toSorted(),
      [
        [bare, "conditions_missing"],
        [half, "evidence_incomplete"],
      ].toSorted(),
    );
    await assert.rejects(Deno.stat(to), Deno.errors.NotFound);
    assert.equal((await operator(home, "evidence", "publish", "--to", to)).code, 1);

    const said = await operator(home, "evidence", "publish", good, "--to", to, "--json");
    assert.deepEqual(envelope(said.out).data.written, [
      `${good.slice(3)}.json`,
      "index.json",
      "index.md",
    ]);
    const again = await operator(home, "evidence", "publish", good, "--to", to);
    assert.equal(again.out, "1 published, 1 in the folder; nothing had to be written\n");
  });
});

Deno.test("evidence: a publication goes on where it was left, and believes no stray file", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const to = dir.at("published");
    const left = await add(await sampleRun(sampleEvidence(), answers()));
    const right = await add(await sampleRun(laptopEvidence(), answers()));
    const parity = envelope(
      (await operator(home, "evidence", "parity", left, right, "--json")).out,
    ).data.digest;
    const publish = (...names: string[]) =>
      operator(home, "evidence", "publish", ...names, "--to", to, "--json");
    assert.equal((await publish(left)).code, 0);
    assert.equal((await publish(right, parity)).code, 0);
    const names = [...Deno.readDirSync(to)].map(({ name }) => name).toSorted();
    assert.deepEqual(
      names,
      [
        ...[".publish.lock", "index.json", "index.md"],
        ...[`${left.slice(3)}.json`, `${right.slice(3)}.json`, `${parity}.json`, `${parity}.svg`],
      ].toSorted(),
    );
    const page = await Deno.readTextFile(`${to}/index.md`);
    // As after a crash: documents there, what is made of them not.
    for (const name of ["index.md", "index.json", `${parity}.svg`]) {
      await Deno.remove(`${to}/${name}`);
    }
    assert.deepEqual(envelope((await publish(left)).out).data.written, [
      `${parity}.svg`,
      "index.json",
      "index.md",
    ]);
    assert.equal(await Deno.readTextFile(`${to}/index.md`), page);
    // Answers are never published.
    assert.doesNotMatch(page, /records/);

    const bare = await writeEvidence(laptopEvidence((body) => body.conditions = null));
    await Deno.writeFile(`${to}/${bare.digest}.json`, bare.bytes);
    assert.equal(envelope((await publish(left)).out).problems[0].code, "conditions_missing");
    await Deno.writeTextFile(`${to}/${bare.digest}.json`, "{}");
    assert.equal(envelope((await publish(left)).out).problems[0].code, "published_damaged");
    assert.equal(await Deno.readTextFile(`${to}/index.md`), page);
  });
});

Deno.test("evidence: two who publish into one folder at once leave it whole", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const to = dir.at("published");
    const ids = [
      await add(await sampleRun(sampleEvidence(), [])),
      await add(await sampleRun(laptopEvidence(), [])),
    ];
    const ends = await Promise.all(
      ids.map((id) => operator(home, "evidence", "publish", id, "--to", to, "--json")),
    );
    for (const [at, { code, out }] of ends.entries()) {
      if (code === 0) continue;
      assert.equal(envelope(out).problems[0].code, "publish_busy");
      assert.equal(
        (await operator(home, "evidence", "publish", ids[at] ?? "", "--to", to)).code,
        0,
      );
    }
    const index = JSON.parse(await Deno.readTextFile(`${to}/index.json`));
    assert.equal(index.entries.length, 2);
  });
});

Deno.test("evidence: a signature is verified with a trust file, and its absence is told", async () => {
  await withHome(async (dir, add) => {
    const home = dir.at("home");
    const run = await sampleRun(sampleEvidence(), []);
    const id = await add(run);
    const record = await newKeyFile("2026-01-01T00:00:00Z");
    const { id: keyid, public: raw, created_at: added_at } = record;
    const [key, trust] = [dir.at("key.json"), dir.at("trust.json")];
    await Deno.writeTextFile(key, JSON.stringify(record), { mode: 0o644 });
    await Deno.writeTextFile(
      trust,
      trustText([{ id: keyid, public: raw, added_at, expires_at: null }]),
    );
    const verify = async () => {
      const said = await operator(home, "evidence", "verify", id, "--trust", trust, "--json");
      return [said.code, envelope(said.out).data[0].state];
    };
    assert.deepEqual(await verify(), [1, "signature_missing"]);
    const sign = async () => await operator(home, "evidence", "sign", id, "--key", key);
    assert.match((await sign()).err, /^key_not_private: /);
    await Deno.chmod(key, 0o600);
    assert.equal((await sign()).out, `${id} is signed by ${keyid}\n`);
    assert.deepEqual(await verify(), [0, "sound"]);
    const beside = `${home}/evidence/${run.digest}.sig.json`;
    const signature = await Deno.readFile(beside);
    // The same signature as a file that came from somebody.
    await Deno.remove(beside);
    await Deno.writeFile(dir.at("signed.json"), signature);
    const again = [home, "evidence", "add", dir.at("document.json")] as const;
    const added = await operator(...again, "--signature", dir.at("signed.json"));
    assert.equal(added.code, 0, added.err);
    assert.deepEqual(await verify(), [0, "sound"]);
    await Deno.writeTextFile(key, JSON.stringify({ ...record, private: null }), { mode: 0o600 });
    assert.match((await sign()).err, /^key_unusable: /);
    assert.doesNotMatch((await sign()).err, new RegExp(String(record.private)));
    const published = await operator(home, "evidence", "publish", id, "--to", dir.at("to"));
    assert.equal(published.code, 0);
    assert.match(await Deno.readTextFile(dir.at("to/index.md")), /\.json\), signed \|$/m);
    await Deno.writeFile(`${home}/evidence/${run.digest}.sig.json`, new Uint8Array([123, 125, 10]));
    assert.deepEqual(await verify(), [1, "signature_malformed"]);
  });
});
