import assert from "node:assert/strict";
import { digestOf, textsOf } from "./installed_units.ts";

Deno.test("units: the texts of systemctl cat, each under its path and in their order", () => {
  const paths = ["/etc/a.service", "/etc/a.service.d/x.conf"];
  const cat = "# /etc/a.service\n[Unit]\n# /etc/other\n\n# /etc/a.service.d/x.conf\n[Service]\n";
  assert.deepEqual(textsOf(cat, paths), ["[Unit]\n# /etc/other\n", "[Service]\n"]);
  assert.deepEqual(textsOf(cat.replaceAll("\n", "\r\n"), paths), [
    "[Unit]\n# /etc/other\n",
    "[Service]\n",
  ]);
  assert.equal(textsOf(cat, [...paths, "/etc/b.conf"]), null, "one that is not there");
  assert.equal(textsOf("", paths), null);
});

Deno.test("units: line ends and the newline at the end are nobody's drift", () => {
  assert.equal(digestOf("[Unit]\nA=b"), digestOf("[Unit]\r\nA=b\n\n"));
  assert.notEqual(digestOf("[Unit]\nA=b"), digestOf("[Unit]\nA=c"));
});
