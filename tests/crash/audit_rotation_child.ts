/**
 * One audit record that makes a full file move away and the oldest go, in a process that dies at a
 * given moment of that. Run by `audit_rotation_test.ts`.
 *
 *     audit_rotation_child.ts FOLDER NUMBER      dies at that moment; -1 lives and prints all moments
 *
 * @module
 */

import { AppendFile } from "../../lib/host/append_file.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { openAudit } from "../../lib/operation/audit.ts";
import { BOUNDS, EVENT } from "../support/small_audit.ts";

const [folder = "", number = ""] = Deno.args;
const moments: string[] = [];
let counting = false;

function around<T>(what: string, act: () => T): T {
  if (!counting) return act();
  hit(`before ${what}`);
  const result = act();
  hit(`after ${what}`);
  return result;
}

function hit(moment: string): void {
  if (moments.length === Number(number)) Deno.kill(Deno.pid, "SIGKILL");
  moments.push(moment);
}

const { renameSync, removeSync, openSync } = Deno;
Deno.renameSync = (from, to) => around("move", () => renameSync(from, to));
Deno.removeSync = (path, options) => around("remove", () => removeSync(path, options));
Deno.openSync = (path, options) =>
  options?.createNew === true
    ? around("fresh file", () => openSync(path, options))
    : openSync(path, options);
const { append } = AppendFile.prototype;
AppendFile.prototype.append = function (line, flush) {
  return around(`record ${JSON.parse(line).phase}`, () => append.call(this, line, flush));
};

const opened = await openAudit(`${folder}/audit.jsonl`, systemClock, BOUNDS);
if (opened.kind !== "open") throw new Error(opened.code);
counting = true;
opened.audit.append(EVENT, true);
counting = false;
opened.audit.close();
console.log(JSON.stringify(moments));
