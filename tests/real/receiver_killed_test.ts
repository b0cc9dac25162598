// needs: ssh sshd ssh-keygen
/**
 * A bootstrap whose receiver is killed at every moment of its journal, over a real sshd. From the kill
 * on the host is away, so the attempt ends where it can; then the host is back, and the operator goes
 * on with the same operation.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bundleScript } from "../../scripts/bundle/role_script.ts";
import { missingFor } from "../../scripts/needs.ts";
import { numberedBundle, startHost } from "../support/bootstrap_over_ssh.ts";

const ROOT = new URL("../../", import.meta.url);
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" ||
  missingFor(import.meta.url).length > 0;
const ID = `boot-${"7".repeat(24)}`;

/** How an apply that was killed may end when the host is back and it is given again. */
interface Case {
  readonly number: 2 | 3;
  /** Moments before this one are the other case's. */
  readonly from: string;
  readonly moments: number;
  readonly runs: string;
  readonly endings: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "a good version": {
    number: 2,
    from: "",
    moments: 10,
    runs: "2",
    endings: ["accepted"],
  },
  "a bad version, on its way back": {
    number: 3,
    from: "after offer rollback",
    moments: 7,
    runs: "1",
    // The one before may answer already: then it is known by its build, and the receiver is not asked.
    endings: ["rolled_back"],
  },
};

async function killedEverywhere(name: string, script: string): Promise<void> {
  const wanted = CASES[name];
  assert.ok(wanted !== undefined);
  const { number, from, runs, endings } = wanted;
  await using at = await startHost(script);
  const digests = new Map<string, string>();
  for (const one of [1, 2, 3] as const) {
    const { archive, digest } = await numberedBundle(one);
    await Deno.writeFile(at.dir.at(`${one}.tar`), archive);
    digests.set(`${one}`, digest);
  }
  await at.plan(1);
  assert.equal(await at.apply(1, `boot-${"1".repeat(24)}`), "accepted");
  await at.stopAgent();
  await at.plan(number);
  await at.keep("before");

  // A life without a death names the moments.
  await Deno.writeTextFile(at.host("die"), "999");
  assert.equal(await at.apply(number, ID), number === 2 ? "accepted" : "rolled_back");
  const moments = (await Deno.readTextFile(at.host("moments"))).trim().split("\n");
  const first = from === "" ? 0 : moments.indexOf(from);
  assert.notEqual(first, -1, moments.join());

  const seen = new Map<string, number>();
  let deaths = 0;
  for (let moment = first; moment < moments.length; moment++) {
    await at.restore("before");
    await Deno.writeTextFile(at.host("die"), `${moment}`);
    const killed = await at.apply(number, ID);
    const told = `${moments[moment]}: ${killed}`;
    // Whoever got no answer promises nothing: the receipt stays open, or the agent settles it.
    assert.notEqual(await Deno.stat(at.host("away")).catch(() => null), null, `${told}: lives`);
    assert.ok(["planned", "installed", "rollback_started", ...endings].includes(killed), told);
    if (endings.includes(killed)) assert.equal(await at.running(), runs, told);
    await Deno.remove(at.host("away"));

    const end = await at.apply(number, ID);
    const ended = `${told}, then ${end}`;
    assert.ok(endings.includes(end), ended);
    assert.equal(await at.running(), runs, ended);
    const current = (await Deno.readTextFile(at.host("opt/current"))).trim();
    assert.equal(current, digests.get(runs), ended);
    seen.set(end, (seen.get(end) ?? 0) + 1);
    deaths++;
  }
  console.log(`receiver killed, ${name}: ${deaths} moments, ${JSON.stringify([...seen])}`);
  assert.equal(deaths, wanted.moments, moments.join());
}

Deno.test({
  name:
    "receiver over OpenSSH: kill -9 at every moment of its journal, then the same operation again",
  ignore,
  fn: async () => {
    const script = await bundleScript(ROOT, "tests/crash/receiver_child.ts");
    await Promise.all(Object.keys(CASES).map((name) => killedEverywhere(name, script)));
  },
});
