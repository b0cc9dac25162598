import assert from "node:assert/strict";
import { readSupplies } from "../facts/sysfs.ts";
import { conditionsOf, readHeat, readTherm, type Seen } from "./conditions.ts";

const mains = (online: string) =>
  `POWER_SUPPLY_NAME=AC\nPOWER_SUPPLY_TYPE=Mains\nPOWER_SUPPLY_ONLINE=${online}\n`;
const battery = (status: string, percent: number) =>
  `POWER_SUPPLY_NAME=BAT0\nPOWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_STATUS=${status}\nPOWER_SUPPLY_CAPACITY=${percent}\n`;
const MOUSE =
  "POWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_SCOPE=Device\nPOWER_SUPPLY_STATUS=Discharging\n";

Deno.test("power: mains, battery, what neither tells, and what belongs to a mouse", () => {
  assert.deepEqual(readSupplies([mains("1"), battery("Charging", 55)]), {
    onBattery: false,
    percent: 55,
  });
  assert.deepEqual(readSupplies([mains("0"), battery("Discharging", 55)]), {
    onBattery: true,
    percent: 55,
  });
  assert.deepEqual(readSupplies([battery("Discharging", 9), battery("Full", 90)]), {
    onBattery: true,
    percent: 9,
  });
  assert.deepEqual(readSupplies([mains("1"), MOUSE]), { onBattery: false, percent: null });
  assert.equal(readSupplies([MOUSE]), null);
  assert.equal(
    readSupplies([mains("1"), null]),
    null,
    "one that cannot be read may be the one that counts",
  );
  assert.equal(readSupplies([battery("Unknown", 50)]), null);
  assert.deepEqual(readSupplies([mains("0")]), { onBattery: true, percent: null });
});

Deno.test("heat: what nvidia-smi and pmset say, and what is not understood is not nominal", () => {
  assert.deepEqual(readHeat("Not Active, Not Active\nNot Active, Active\n"), { hot: true });
  assert.deepEqual(readHeat("Not Active, Not Active\n"), { hot: false });
  assert.equal(readHeat("[N/A], Not Active\n"), null);
  assert.equal(readHeat("Field is not a valid field to query.\n"), null);
  assert.deepEqual(readTherm("CPU Power notify\n\tCPU_Speed_Limit \t= 100\n"), { hot: false });
  assert.deepEqual(readTherm("\tCPU_Scheduler_Limit \t= 100\n\tCPU_Speed_Limit \t= 62\n"), {
    hot: true,
  });
  assert.deepEqual(
    readTherm("Note: No thermal warning level has been recorded\nNote: No performance warning\n"),
    { hot: false },
  );
  assert.equal(readTherm("something else\n"), null);
});

const SEEN: Seen = {
  ...{ onBattery: false, percent: null, celsius: 50, slowed: 3, hot: null, devices: false },
  ...{ cpu: 1, memory: 0, io: 0 },
};

Deno.test("conditions: a count that grew is heat, devices speak for themselves, unknown is unknown", () => {
  const state = (first: Partial<Seen>, now: Partial<Seen>) =>
    conditionsOf({ ...SEEN, ...first }, { ...SEEN, ...now }).thermal.state;
  assert.equal(state({}, {}), "nominal");
  assert.equal(state({}, { slowed: 4 }), "throttled");
  assert.equal(state({}, { hot: true }), "throttled");
  assert.equal(state({ slowed: null }, { slowed: null }), "unknown");
  assert.equal(state({ slowed: null }, {}), "unknown", "seen once says nothing");
  assert.equal(
    state({}, { devices: true }),
    "unknown",
    "the processor does not speak for a device",
  );
  assert.equal(state({}, { devices: true, hot: false }), "nominal");
  assert.equal(state({ slowed: null }, { slowed: null, hot: false }), "nominal");
  const blind = conditionsOf(SEEN, { ...SEEN, onBattery: null, cpu: null });
  assert.deepEqual([blind.power.source, blind.pressure.cpu_max], ["unknown", null]);
});
