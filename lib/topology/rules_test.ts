import assert from "node:assert/strict";
import { LAB, lab } from "../../tests/fixtures/topology.ts";
import { readTopology } from "./read.ts";
import { RULES } from "./rules.ts";

/** `line:column path code` of every problem. */
function faults(text: string): string[] {
  const read = readTopology(text);
  return read.kind === "ok"
    ? []
    : read.problems.map(({ line, column, path, code }) => `${line}:${column} ${path} ${code}`);
}

const AGENT = (host: string, port = 8765) => `
[[transports]]
host = "${host}"
kind = "agent"
endpoint = "http://192.0.2.99:${port}"
expected_node = "${host}"
token = "t"
`;

/** One spoiled thing each. Lines are those of the sample. */
const ALONE: readonly (readonly [name: string, text: string, faults: readonly string[]])[] = [
  ["fine as it is", LAB, []],
  ["an unknown key", lab(['arch = "x64"', 'arch = "x64"\ncolour = 1']), [
    "8:1 hosts.desk.colour unknown_key",
  ]],
  ["an unknown key at the top", `kolor = 1\n${LAB}`, ["1:1 kolor unknown_key"]],
  ["an unknown key in a device", lab(['uuid = "GPU-1",', 'uuid = "GPU-1", bus = 3,']), [
    "20:35 hosts.gpu-a.memory.devices[1].bus unknown_key",
  ]],
  ["an unknown key in a transport", lab(['token = "desk"', 'token = "desk"\nproxy = 1']), [
    "48:1 transports[0].proxy unknown_key",
  ]],
  ["a wrong type", lab(['os = "linux"', "os = 3"]), ["6:1 hosts.desk.os not_allowed"]],
  ["a schema of another time", lab(["schema = 1", "schema = 2"]), ["1:1 schema not_allowed"]],
  ["no schema", lab(["schema = 1\n", ""]), ["1:1 schema missing"]],
  ["a missing key", lab(['address = "192.0.2.1"\n', ""]), ["5:8 hosts.desk.address missing"]],
  ["an id that is none", lab(["[hosts.desk]", "[hosts.Desk]"]).replaceAll('"desk"', '"Desk"'), [
    "3:1 operator malformed",
    "5:8 hosts.Desk malformed",
    "43:1 transports[0].host malformed",
    "46:1 transports[0].expected_node malformed",
    "47:1 transports[0].token malformed",
    "5:8 hosts.Desk agent_missing",
  ]],
  ["no host", 'schema = 1\nfleet = "a"\noperator = "b"\n[hosts]', [
    "3:1 operator operator_unknown",
    "4:2 hosts hosts_missing",
  ]],
  ["an operator that is not there", lab(['operator = "desk"', 'operator = "desc"']), [
    "3:1 operator operator_unknown",
  ]],
  ["a role twice", lab(['"gateway", "operator"', '"gateway", "operator", "gateway"']), [
    "8:33 hosts.desk.roles[2] duplicate_role",
  ]],
  ["a role nobody knows", lab(['"gateway", "operator"', '"gateways", "operator"']), [
    "8:10 hosts.desk.roles[0] not_allowed",
  ]],
  ["localhost", lab(['address = "192.0.2.1"', 'address = "localhost"']), [
    "9:1 hosts.desk.address localhost",
  ]],
  ["LOCALHOST. in an endpoint", lab(["http://192.0.2.1:", "http://LocalHost.:"]), [
    "45:1 transports[0].endpoint localhost",
  ]],
  ["a name for an address", lab(['address = "192.0.2.1"', 'address = "desk.example"']), [
    "9:1 hosts.desk.address address_malformed",
  ]],
  ["an address with a zero in front", lab(['address = "192.0.2.1"', 'address = "192.0.02.1"']), [
    "9:1 hosts.desk.address address_malformed",
  ]],
  ["the unspecified address", lab(['address = "192.0.2.1"', 'address = "::"']), [
    "9:1 hosts.desk.address address_unspecified",
  ]],
  ["userinfo", lab(["http://192.0.2.1:8765", "http://me@192.0.2.1:8765"]), [
    "45:1 transports[0].endpoint endpoint_userinfo",
  ]],
  ["an endpoint with a path", lab(["http://192.0.2.1:8765", "http://192.0.2.1:8765/v1"]), [
    "45:1 transports[0].endpoint endpoint_malformed",
  ]],
  ["an endpoint by name", lab(["http://192.0.2.1:8765", "http://desk:8765"]), [
    "45:1 transports[0].endpoint endpoint_not_literal",
  ]],
  ["an endpoint without a port", lab(["http://192.0.2.1:8765", "http://192.0.2.1"]), [
    "45:1 transports[0].endpoint endpoint_not_literal",
  ]],
  [
    "a runtime without memory",
    lab(['address = "192.0.2.1"', 'address = "192.0.2.1"\nruntime = "native"']),
    [
      "5:8 hosts.desk.memory memory_missing",
    ],
  ],
  [
    "discrete without devices",
    lab(['"unified", budget_mib = 36864, os_reserve_mib = 8192, memory_mib = 49152', '"discrete"']),
    [
      "39:1 hosts.mac.memory.devices missing",
    ],
  ],
  [
    "discrete with none",
    lab([
      '"unified", budget_mib = 36864, os_reserve_mib = 8192, memory_mib = 49152',
      '"discrete", devices = []',
    ]),
    [
      "39:32 hosts.mac.memory.devices out_of_range",
    ],
  ],
  ["unified without a reserve", lab([", os_reserve_mib = 8192", ""]), [
    "39:1 hosts.mac.memory.os_reserve_mib missing",
  ]],
  ["a memory model nobody knows", lab(['"unified"', '"shared"']), [
    "39:12 hosts.mac.memory.model not_allowed",
  ]],
  ["a budget that takes it all", lab(["budget_mib = 36864", "budget_mib = 49152"]), [
    "39:31 hosts.mac.memory.budget_mib budget_leaves_no_reserve",
  ]],
  [
    "a reserve that takes it all",
    lab(["97887, reserve_mib = 2048", "97887, reserve_mib = 97887"]),
    [
      "19:55 hosts.gpu-a.memory.devices[0].reserve_mib reserve_exceeds_memory",
    ],
  ],
  ["a device name twice", lab(['id = "gpu-1"', 'id = "gpu-0"']), [
    "20:5 hosts.gpu-a.memory.devices[1].id duplicate_device",
  ]],
  ["a device in two hosts", lab(['uuid = "GPU-2"', 'uuid = "GPU-0"']), [
    "29:59 hosts.voice.memory.devices[0].uuid duplicate_device",
  ]],
  [
    "a reserved gateway",
    lab(['address = "192.0.2.1"', 'reserved = "voice"\naddress = "192.0.2.1"']),
    [
      "9:1 hosts.desk.reserved reserved_model_free",
    ],
  ],
  [
    "a host nobody reaches",
    lab(['[[transports]]\nhost = "voice"', '[[transports]]\nhost = "desk"'], [
      'expected_node = "voice"',
      'expected_node = "desk"',
    ]),
    [
      "23:8 hosts.voice agent_missing",
      "64:3 transports[3] duplicate_agent",
    ],
  ],
  ["two agents for a host", LAB + AGENT("mac"), ["83:3 transports[5] duplicate_agent"]],
  [
    "two ssh for a host",
    lab([
      'kind = "agent"\nendpoint = "http://192.0.2.11:8765"',
      'kind = "agent"\nendpoint = "http://192.0.2.11:8765"',
    ]) +
    LAB.slice(
      LAB.indexOf('[[transports]]\nhost = "gpu-a"\nkind = "ssh"'),
      LAB.indexOf('[[transports]]\nhost = "voice"'),
    ),
    [
      "82:3 transports[5] duplicate_ssh",
    ],
  ],
  ["a kind nobody knows", lab(['kind = "ssh"', 'kind = "telnet"']), [
    "58:1 transports[2].kind not_allowed",
  ]],
  ["another node expected", lab(['expected_node = "mac"', 'expected_node = "desk"']), [
    "75:1 transports[4].expected_node expected_node_differs",
  ]],
  ["one endpoint for two agents", lab(["http://192.0.2.11:8765", "https://192.0.2.10:8765/"]), [
    "67:1 transports[3].endpoint duplicate_endpoint",
  ]],
  ["a transport to nowhere", LAB + AGENT("gpu-z"), ["84:1 transports[5].host host_unknown"]],
  ["a private key for a public one", lab(["ssh-ed25519 AAAA", "AAAA"]), [
    "61:1 transports[2].known_host malformed",
  ]],
  ["a promotion to nowhere", lab(['{ host = "gpu-a", tier', '{ host = "gpu-z", tier']), [
    '79:14 capabilities."llm.primary".promoted.host host_unknown',
  ]],
  ["a promotion on a laptop", lab(['{ host = "gpu-a", tier', '{ host = "mac", tier']), [
    '79:1 capabilities."llm.primary".promoted promotion_ineligible',
  ]],
  ["a promotion on a gateway", lab(['{ host = "gpu-a", tier', '{ host = "desk", tier']), [
    '79:1 capabilities."llm.primary".promoted promotion_ineligible',
  ]],
  [
    "a promotion on a host reserved for other",
    lab(['{ host = "gpu-a", tier', '{ host = "voice", tier']),
    [
      '79:1 capabilities."llm.primary".promoted promotion_reserved',
    ],
  ],
  ["a capability name that is none", lab(['"llm.primary"', '"llm..primary"']), [
    '78:15 capabilities."llm..primary" malformed',
  ]],
  ["half a command identity", lab(["schema = 1", 'schema = 1\ncommand_host = "desk"']), [
    "2:1 command_host command_identity_incomplete",
  ]],
  [
    "a command host that is not there",
    lab(["schema = 1", 'schema = 1\ncommand_host = "dusk"\ncommand_runtime = "native"']),
    [
      "2:1 command_host command_host_unknown",
    ],
  ],
  ["a syntax error", lab(['fleet = "lab"', "fleet = lab"]), ["2:9 $ syntax"]],
];

for (const [name, text, expected] of ALONE) {
  Deno.test(`rule alone: ${name}`, () =>
    assert.deepEqual(faults(text).toSorted(), expected.toSorted()));
}

Deno.test("rules: a promotion of what a host is reserved for stands", () => {
  const promoted = 'promoted = { host = "voice", tier = "stt", evidence = "ev-1" }\n';
  assert.deepEqual(faults(LAB + promoted), []);
});

Deno.test("rules: a promotion names every reason against it", () => {
  const text = lab(['runtime = "native"\n', ""], [
    '{ host = "gpu-a", tier',
    '{ host = "mac", tier',
  ]);
  const read = readTopology(text);
  assert.ok(read.kind === "invalid");
  assert.deepEqual(read.problems.map(({ code, reason }) => [code, reason]), [
    ["promotion_ineligible", "model_free"],
    ["promotion_ineligible", "opportunistic"],
  ]);
});

Deno.test("rules: a runtime that is written wrongly is not taken for an absent one", () => {
  const text = lab(['runtime = "docker"', 'runtime = "podman"']);
  assert.deepEqual(faults(text), ["17:1 hosts.gpu-a.runtime not_allowed"]);
});

Deno.test("rules: every code of the table is reported by some sample", () => {
  const seen = new Set(
    ALONE.flatMap(([, text]) => faults(text).map((one) => one.split(" ").at(-1))),
  );
  for (const code of RULES.flatMap((rule) => rule.codes)) {
    assert.ok(seen.has(code), `no sample breaks ${code}`);
  }
});

Deno.test("rules: all broken at once, all reported at once", async () => {
  const text = await Deno.readTextFile(
    new URL("../../tests/golden/broken/topology.toml", import.meta.url),
  );
  const expected = await Deno.readTextFile(
    new URL("../../tests/golden/broken/topology.problems", import.meta.url),
  );
  assert.equal(`${faults(text).join("\n")}\n`, expected);
  const seen = new Set(faults(text).map((one) => one.split(" ").at(-1)));
  for (const code of RULES.flatMap((rule) => rule.codes)) assert.ok(seen.has(code), code);
});
