// needs: ssh sshd ssh-keygen
/**
 * What keeps a bootstrap from going on, over the real way: each by its code, and nothing done.
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
const id = (digit: number) => `boot-${`${digit}`.repeat(24)}`;

Deno.test({
  name: "bootstrap over OpenSSH: what it is refused for",
  ignore,
  fn: async (t) => {
    const script = await bundleScript(ROOT, "tests/crash/receiver_child.ts");
    await using at = await startHost(script);
    for (const one of [1, 2, 3] as const) {
      await Deno.writeFile(at.dir.at(`${one}.tar`), (await numberedBundle(one)).archive);
    }
    const topology = await Deno.readTextFile(at.dir.at("topology.toml"));
    const write = (text: string) => Deno.writeTextFile(at.dir.at("topology.toml"), text);
    const starts = () => Deno.readTextFile(at.host("starts")).catch(() => "");
    await at.plan(1);

    await t.step("the topology changed between plan and apply", async () => {
      await write(topology.replace('fleet = "f"', 'fleet = "g"'));
      assert.equal(await at.apply(1, id(5)), "topology_drift");
      await write(topology);
    });

    await t.step(
      "a host that is not declared, another node, a way that is not for recovery",
      async () => {
        await write(topology.replaceAll("n1", "n2"));
        assert.equal(await at.apply(1, id(5)), "target_unknown");
        await write(topology.replace("recovery_capable = true", "recovery_capable = false"));
        assert.equal(await at.apply(1, id(5)), "ssh_unavailable");
        await write(topology);
      },
    );

    await t.step("missing scope", async () => {
      await Deno.remove(at.dir.at("grants.toml"));
      assert.equal(await at.apply(1, id(5)), "scope_missing");
      const grants = 'schema = 1\n[[grants]]\nscope = "node-admin:bootstrap"\nhosts = ["n1"]\n';
      await Deno.writeTextFile(at.dir.at("grants.toml"), grants, { mode: 0o600 });
    });

    await t.step("another receiver, and another bundle than planned", async () => {
      const pinned = await at.boot("plan", null, ...["--bundle", at.dir.at("1.tar")], ...[
        ...["--receiver-build", "c".repeat(64), "--expect-catalogue", "c".repeat(64)],
      ]);
      assert.equal(pinned.problems[0].code, "receiver_mismatch");
      await Deno.copyFile(at.dir.at("1.json"), at.dir.at("2.json"));
      assert.equal(await at.apply(2, id(5)), "digest_mismatch");
      // Nothing of all this was begun.
      assert.equal(await starts(), "");
      const none = await at.boot("status", null, "--operation", id(5));
      assert.equal(none.problems[0]?.code ?? none.data.code, "operation_unknown");
    });

    await t.step(
      "the first agent, and then an agent that is alive, rejects or is another",
      async () => {
        assert.equal(await at.apply(1, id(1)), "accepted");
        assert.equal(await at.apply(1, id(5)), "agent_available");
        for (const status of [401, 403]) {
          at.agentSays.status = status;
          assert.equal(await at.apply(1, id(5)), "auth_rejected", `${status}`);
        }
        at.agentSays.status = null;
        at.agentSays.node = "n2";
        assert.equal(await at.apply(1, id(5)), "precondition_failed");
        at.agentSays.node = "n1";
        await at.stopAgent();
        // What is current is another than when this plan was made.
        assert.equal(await at.apply(1, id(5)), "precondition_failed");
        assert.equal(await starts(), "1\n");
      },
    );

    await t.step("a new agent that starts and is another build", async () => {
      await at.plan(2);
      at.agentSays.build = "9".repeat(64);
      // What answers after the way back is not the one from before either.
      assert.equal(await at.apply(2, id(2)), "manual_recovery");
      at.agentSays.build = null;
      assert.equal(await starts(), "1\n2\n1\n");
      assert.equal(await at.running(), "1");
    });

    await t.step(
      "a supervisor that does not restart; a prior generation that is gone",
      async () => {
        await at.stopAgent();
        await at.plan(3);
        const systemctl = at.host("systemctl");
        const works = await Deno.readTextFile(systemctl);
        await Deno.writeTextFile(systemctl, "#!/bin/sh\nexit 1\n");
        assert.equal(await at.apply(3, id(3)), "manual_recovery");
        await Deno.writeTextFile(systemctl, works);
        // A person moves the journal away, and the next operation begins anew.
        assert.equal((await at.boot("plan", 2)).code, 0);
        await Deno.remove(at.host("state/receiver.jsonl"));
        const current = (await Deno.readTextFile(at.host("opt/current"))).trim();
        await Deno.remove(at.host(`opt/generations/${current}`), { recursive: true });
        const planned = await at.boot("plan", 2);
        assert.equal(planned.data.plan.prior, null, "the plan names a prior that is gone");
      },
    );
  },
});
