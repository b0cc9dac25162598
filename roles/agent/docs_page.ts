/**
 * The catalogue as a page for people: `GET /docs`.
 *
 * One file, no script, nothing from elsewhere: it works without internet and has nothing to attack.
 * It is open. It tells which operations this host has and what each takes, which is in the project's
 * own documents too, and nothing of the host's state.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { sha256 } from "../../lib/host/digest.ts";
import type { Catalogue, OperationEntry } from "../../lib/operation/catalogue.ts";

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: .25rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; }
section { border-top: 1px solid #8886; } .effect { font-size: .8em; font-weight: normal; }
`;

const STYLE_HASH = sha256(new TextEncoder().encode(STYLE)).toBase64();

/** Nothing may be loaded, run, framed or sent; the one style is known by its hash. */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The response. */
export function docsResponse(node: string, catalogue: Catalogue): Response {
  return new Response(docsPage(node, catalogue), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": DOCS_POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
}

/** The page as text. */
export function docsPage(node: string, { entries, digest }: Catalogue): string {
  const list = entries.map(({ name, brief }) =>
    `<li><a href="#${escaped(name)}"><code>${escaped(name)}</code></a> ${escaped(brief)}</li>`
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>anvil-agent of ${escaped(node)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>anvil-agent of ${escaped(node)}</h1>
<p>Operations of this host, as its roles give them. The same for machines:
<code>GET /openapi.json</code> and <code>GET /v1/operations</code>, with a token. Catalogue
<code>${escaped(digest)}</code>.</p>
<h2>How to call one</h2>
<pre>${escaped(example(node))}</pre>
<p>A mutation is shown by <code>"dry_run": true</code>. Live it needs the header
<code>idempotency-key</code>: the same key again never runs it twice, it tells how it ended. Anything
but 200 is a problem document (RFC 9457) with <code>code</code> and <code>may_have_executed</code>.</p>
<h2>Operations</h2>
<ul>
${list.join("\n")}
</ul>
${entries.map(section).join("\n")}
</body>
</html>
`;
}

function example(node: string): string {
  return `curl -s http://127.0.0.1:8766/v1/operations/node.identity \\
  -H "authorization: Bearer $TOKEN" -H 'x-anvil-node: ${node}' \\
  -H 'content-type: application/json' -d '{"input": {}}'`;
}

function section(entry: OperationEntry): string {
  const words = [
    entry.effect === "mutate" ? "changes something" : "changes nothing",
    ...(entry.destructive ? ["needs confirm: true"] : []),
  ];
  return `<section aria-labelledby="${escaped(entry.name)}">
<h3 id="${escaped(entry.name)}"><code>${escaped(entry.name)}</code>
<span class="effect">${escaped(words.join(", "))}</span></h3>
<p>${escaped(entry.brief)}</p>
<table>
<tr><th scope="row">Scopes</th><td>${entry.scopes.map(code).join(", ")}</td></tr>
<tr><th scope="row">Hosts</th><td>${
    entry.roles === null ? "all" : entry.roles.map(code).join(", ")
  }</td></tr>
<tr><th scope="row">Deadline</th><td>${entry.deadline_ms / 1000} s</td></tr>
</table>
<details><summary>Input</summary><pre>${pretty(entry.input)}</pre></details>
<details><summary>Result</summary><pre>${pretty(entry.output)}</pre></details>
</section>`;
}

function code(text: string): string {
  return `<code>${escaped(text)}</code>`;
}

function pretty(schema: Json): string {
  return escaped(JSON.stringify(schema, null, 2));
}

/** Text as text, in content and in quoted attributes. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}
