/**
 * Spans of what is over, for the OpenTelemetry export that the runtime has built in and that a user
 * turns on with `OTEL_DENO=true`.
 *
 * @module
 */

/** Something that took place, told once it is over. */
export interface Span {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
  /** The caller's `traceparent`, as it was sent; a malformed one is passed over. */
  readonly traceparent: string | null;
}

/** What of the runtime's tracer is used here. */
interface Tracer {
  startSpan(name: string, options: object, context?: object): {
    setStatus(status: { readonly code: number }): void;
    end(at: number): void;
  };
}

const SERVER = 1;
const ERROR = 2;

/** Under which key OpenTelemetry's API keeps the parent in a context. */
const PARENT = Symbol.for("OpenTelemetry Context Key SPAN");

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Where spans named for `scope` go; null while the user has not turned the export on. */
export function systemSpans(scope: string): ((span: Span) => void) | null {
  const tracer: Tracer = Deno.telemetry.tracerProvider.getTracer(scope);
  try {
    tracer.startSpan("unused", {}); // never ended, so never exported; throws while it is off
  } catch {
    return null;
  }
  return ({ name, startMs, endMs, attributes, failed, traceparent }) => {
    const options = { kind: SERVER, startTime: startMs, attributes };
    const span = tracer.startSpan(name, options, contextOf(traceparent));
    if (failed) span.setStatus({ code: ERROR });
    span.end(endMs);
  };
}

function contextOf(traceparent: string | null): object | undefined {
  const match = traceparent === null ? null : TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, traceId, spanId, flags] = match;
  const traceFlags = Number.parseInt(flags ?? "0", 16);
  const parent = { spanContext: () => ({ traceId, spanId, traceFlags, isRemote: true }) };
  return { getValue: (key: symbol) => key === PARENT ? parent : undefined };
}
