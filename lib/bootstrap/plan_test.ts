import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { type Plan, planSha256, planShape, refuseDrift, refuseUnauthorized } from "./plan.ts";
import { exitCodeOf, newReceipt, triggerOf, withPhase } from "./receipt.ts";

const [A, B] = ["a".repeat(64), "b".repeat(64)];
const PLAN: Plan = {
  schema: 1,
  target: "host:n1",
  topology_fingerprint: A,
  expected_node: "n1",
  bundle: { manifest_digest: A, length: 9, build_digest: A, version: "1.0.0" },
  receiver: { build_digest: A, config_digest: A, roots_digest: A },
  prior: null,
  platform: { os: "linux", arch: "x64" },
  supervisor: "systemd-user",
  flags: { bootstrap_authorized: true, recover_via_ssh: true },
  expected: { protocol: 1, catalogue_digest: A },
};
const sha256 = (text: string) => Uint8Array.fromHex(hash("sha256", text, "hex"));
const digest = (plan: Plan) => planSha256(sha256, plan);

Deno.test("plan: its digest does not depend on the order of keys, and on everything else", () => {
  const shuffled = Object.fromEntries(Object.entries(PLAN).reverse()) as Plan;
  assert.equal(digest(shuffled), digest(PLAN));
  assert.match(digest(PLAN), /^[0-9a-f]{64}$/);
  assert.notEqual(digest({ ...PLAN, supervisor: "windows-task" }), digest(PLAN));
  assert.ok(planShape.safeParse(PLAN).success);
  assert.equal(planShape.safeParse({ ...PLAN, endpoint: "x" }).success, false);
});

Deno.test("plan: each difference at the time of applying has its code", () => {
  assert.equal(refuseDrift(PLAN, structuredClone(PLAN)), null);
  for (
    const [changed, code] of [
      [{ topology_fingerprint: B }, "topology_drift"],
      [{ target: "host:n2" }, "topology_drift"],
      [{ expected_node: "n2" }, "wrong_node"],
      [{ bundle: { ...PLAN.bundle, manifest_digest: B } }, "digest_mismatch"],
      [{ bundle: { ...PLAN.bundle, build_digest: B } }, "digest_mismatch"],
      [{ receiver: { ...PLAN.receiver, build_digest: B } }, "receiver_mismatch"],
      [{ receiver: { ...PLAN.receiver, roots_digest: B } }, "receiver_mismatch"],
      [{ prior: { manifest_digest: A, build_digest: A, version: "1" } }, "precondition_failed"],
      [{ platform: { os: "linux", arch: "arm64" } }, "receiver_mismatch"],
      [{ supervisor: "windows-task" }, "receiver_mismatch"],
      [{ flags: { ...PLAN.flags, bootstrap_authorized: false } }, "precondition_failed"],
      [{ expected: { protocol: 2, catalogue_digest: A } }, "precondition_failed"],
    ] as const
  ) {
    const refused = refuseDrift(PLAN, { ...PLAN, ...changed } as Plan);
    assert.equal(refused?.code, code, JSON.stringify(changed));
  }
});

Deno.test("plan: only the host itself allows it", () => {
  assert.equal(refuseUnauthorized(PLAN), null);
  const flags = { bootstrap_authorized: false, recover_via_ssh: true };
  assert.equal(refuseUnauthorized({ ...PLAN, flags })?.code, "not_authorized");
});

Deno.test("receipt: phases in order, one end, and an exit code of them", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const begun = newReceipt(PLAN, digest(PLAN), {
    operationId: `boot-${"0".repeat(24)}`,
    by: "t",
    at,
  });
  const until = (...phases: Parameters<typeof withPhase>[1][]) =>
    phases.reduce((receipt, phase) => withPhase(receipt, phase, at), begun);
  assert.equal(exitCodeOf(begun), 3); // open: somebody has to go on
  assert.equal(exitCodeOf(until("installed")), 3);
  assert.equal(exitCodeOf(until("refused")), 1);
  assert.equal(exitCodeOf(until("staged", "verified", "installed", "accepted")), 0);
  assert.equal(exitCodeOf(until("installed", "rollback_started", "rolled_back")), 1);
  assert.equal(exitCodeOf(until("rollback_started", "manual_recovery")), 3);
  assert.equal(exitCodeOf(until("accepted", "cleanup_failed")), 0);
  assert.throws(() => until("refused", "installed"), TypeError);
  assert.throws(() => until("rolled_back", "accepted"), TypeError);
  // A person may give up what was accepted; then it is open until it is settled again.
  assert.equal(exitCodeOf(until("accepted", "rollback_started")), 3);
  assert.equal(exitCodeOf(until("accepted", "rollback_started", "rolled_back")), 1);
  const back = withPhase(begun, "rollback_started", at, "restart_failed");
  assert.deepEqual([triggerOf(back), triggerOf(begun)], ["restart_failed", null]);
  assert.equal(until("staged", "staged").phases.length, 2);
  assert.equal(withPhase(begun, "refused", at, "wrong_node").error, "wrong_node");
});
