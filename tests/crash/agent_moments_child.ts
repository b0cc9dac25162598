/**
 * One mutation in a process of its own that dies at a given moment: before or after anything that is
 * written down or done. Run by `agent_moments_test.ts`.
 *
 *     agent_moments_child.ts FOLDER NUMBER      dies at that moment; -1 lives and prints all moments
 *
 * @module
 */

import { AppendFile } from "../../lib/host/append_file.ts";
import { Database } from "../../lib/host/sqlite.ts";
import { OperationRig, put } from "../../lib/testing/operation_rig.ts";

const [folder = "", number = ""] = Deno.args;
const dies = Number(number);
const moments: string[] = [];
let counting = false;
let inside = false;

function hit(moment: string): void {
  if (moments.length === dies) Deno.kill(Deno.pid, "SIGKILL");
  moments.push(moment);
}

function around<T>(what: string, act: () => T): T {
  if (!counting || inside) return act();
  hit(`before ${what}`);
  inside = true;
  const result = act();
  inside = false;
  hit(`after ${what}`);
  return result;
}

const { append } = AppendFile.prototype;
AppendFile.prototype.append = function (line, flush) {
  return around(`audit ${JSON.parse(line).phase}`, () => append.call(this, line, flush));
};
const { run, runSoon, transaction } = Database.prototype;
const named = (sql: string, values: readonly unknown[]) =>
  /^UPDATE runs SET step/.test(sql) ? `step ${values[0]} ${values[1]}` : "settle";
Database.prototype.run = function (sql, ...values) {
  return around(named(sql, values), () => run.call(this, sql, ...values));
};
Database.prototype.runSoon = function (sql, ...values) {
  return around(named(sql, values), () => runSoon.call(this, sql, ...values));
};
Database.prototype.transaction = function (act) {
  return around("claim", () => transaction.call(this, act)) as ReturnType<typeof act>;
};

using rig = await OperationRig.open({ folder, epoch: "first" });
rig.world.push = (text) =>
  around("the effect", () => {
    Deno.writeTextFileSync(`${folder}/world`, `${text}\n`, { append: true });
    return 1;
  });
counting = true;
await rig.runner.call(put("a"));
counting = false;
console.log(JSON.stringify(moments));
