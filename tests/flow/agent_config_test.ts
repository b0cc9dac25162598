import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type AgentRig, agentToml, startAgentRig, TOKENS } from "../support/agent.ts";

interface Row {
  readonly kind: string;
  readonly root: string;
  readonly expected: boolean;
  readonly state: string;
  readonly code: string | null;
  readonly size: number | null;
  readonly sha256: string | null;
  readonly mode: string | null;
  readonly text?: string | null;
  readonly withheld?: { readonly code: string; readonly lines: readonly number[] } | null;
}

interface Files {
  readonly fingerprint: string;
  readonly files: readonly Row[];
}

async function asked(rig: AgentRig, verb: string, input: unknown = {}): Promise<Files> {
  const told = await rig.call(`config.${verb}`, { input });
  assert.equal(told.status, 200, JSON.stringify(told.body));
  return told.body["result"] as unknown as Files;
}

const kinds = ({ files }: Files) => files.map(({ kind, state, code }) => [kind, code ?? state]);

Deno.test("config.*: what a host has follows its roles; links and second names are refused", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("more"));
  await Deno.writeTextFile(dir.at("agent.toml"), agentToml());
  await Deno.writeTextFile(dir.at("outside"), "x = 1\n");
  await Deno.symlink(dir.at("outside"), dir.at("router.toml"));
  await Deno.writeTextFile(dir.at("serves.toml"), "schema = 1\n");
  await Deno.writeTextFile(dir.at("second"), "schema = 1\n");
  await Deno.link(dir.at("second"), dir.at("topology.toml"));
  await Deno.writeTextFile(dir.at("more/router.toml"), "schema = 1\n", { mode: 0o640 });
  const toml = '[config]\nroots = [".", "more"]\n';
  {
    await using rig = await startAgentRig(dir.path, [], { toml, roles: ["serving"] });
    const inventory = await asked(rig, "inventory");
    assert.deepEqual(kinds(inventory), [
      ["agent", "present"],
      ["clients", "present"],
      ["router", "file_is_link"],
      ["serves", "present"],
      ["topology", "file_hard_linked"],
      ["agent", "absent"],
      ["clients", "absent"],
      ["router", "present"],
      ["serves", "absent"],
      ["topology", "absent"],
    ]);
    const router = inventory.files[7];
    assert.deepEqual([router?.size, router?.mode, router?.sha256?.length], [11, "0640", 64]);
    assert.ok(inventory.files.every((row) => row.text === undefined));
    assert.equal((await asked(rig, "fingerprint")).fingerprint, inventory.fingerprint);
    await Deno.utime(dir.at("serves.toml"), 5, 5);
    assert.equal((await asked(rig, "fingerprint")).fingerprint, inventory.fingerprint);
    await Deno.chmod(dir.at("serves.toml"), 0o600);
    const tighter = (await asked(rig, "fingerprint")).fingerprint;
    assert.notEqual(tighter, inventory.fingerprint);
    await Deno.writeTextFile(dir.at("serves.toml"), "schema = 2\n");
    assert.notEqual((await asked(rig, "fingerprint")).fingerprint, tighter);
    const denied = await rig.call("config.export", {}, { token: TOKENS.reader });
    assert.equal(denied.code, "scope_missing");
  }
  // An evaluation laptop needs neither a router's file nor one of serves, but says that it has one.
  await using rig = await startAgentRig(dir.path, [], { roles: ["evaluation"] });
  const unexpected = (await asked(rig, "inventory")).files.filter(({ expected }) => !expected);
  assert.deepEqual(unexpected.map(({ kind }) => kind), ["router", "serves"]);
  await Deno.remove(dir.at("serves.toml"));
  await Deno.remove(dir.at("router.toml"));
  assert.deepEqual((await asked(rig, "inventory")).files.map(({ kind }) => kind), [
    "agent",
    "clients",
    "topology",
  ]);
});

Deno.test("config.export: whole texts or none; what holds a secret, or cannot be judged, is withheld", async () => {
  await using dir = await tempDir();
  const secret = `anvil_${"z".repeat(43)}`;
  await using rig = await startAgentRig(dir.path, [], { roles: ["serving"] });
  const shown = async (name: string, text: string | Uint8Array<ArrayBuffer>) => {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    await Deno.writeFile(dir.at(`${name}.toml`), bytes);
    const told = await rig.call("config.export", { input: { kinds: [name] } });
    assert.ok(!JSON.stringify(told.body).includes(secret));
    const { files } = told.body["result"] as unknown as Files;
    assert.equal(files.length, 1);
    return files[0]?.text ?? [files[0]?.withheld?.code, files[0]?.withheld?.lines];
  };
  const plain = "# of a person\nmax_output_tokens = 5\n";
  assert.equal(await shown("router", plain), plain);
  assert.deepEqual(await shown("router", `# ${secret}\n`), ["secret_value", [1]]);
  assert.deepEqual(await shown("router", 'x = 1\ny = "Bearer abcdefghij"\n'), ["secret_value", [
    2,
  ]]);
  assert.deepEqual(await shown("serves", '[a]\n[[a.b]]\napi_key = "k"\n'), ["secret_key", []]);
  assert.deepEqual(await shown("serves", 'password = "p"\n'), ["secret_key", []]);
  assert.deepEqual(await shown("serves", "password = \n"), ["not_toml", []]);
  assert.deepEqual(await shown("serves", new Uint8Array([0xff, 0x0a])), ["not_utf8", []]);
  assert.deepEqual(await shown("topology", '[hosts.a]\nsecret = "x"\n'), ["secret_key", []]);
  const far = `# ${"x".repeat(9000)} ${secret}\n`;
  assert.deepEqual(await shown("serves", far), ["line_too_long", []]);
  const named = '[[transports]]\ntoken = "gpu-a"\n'; // the name of an entry, not a token
  assert.equal(await shown("topology", named), named);
  const large = `# ${"x".repeat(998)}\n`.repeat(1500);
  await Deno.writeTextFile(dir.at("router.toml"), large);
  await Deno.writeTextFile(dir.at("serves.toml"), large);
  const { files } = await asked(rig, "export");
  assert.deepEqual(
    files.map(({ kind, text, withheld }) => [kind, text?.length ?? withheld?.code]),
    [
      ["agent", undefined],
      ["clients", "config_secret"],
      ["router", large.length],
      ["serves", "export_full"],
      ["topology", named.length],
    ],
  );
});
