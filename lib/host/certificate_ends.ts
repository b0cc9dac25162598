/**
 * When certificates end: those of a PEM text, and the one an address shows. Looked at, not believed:
 * whether it is the right one is the business of whoever dials.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** An end in Unix milliseconds, or why it is not known. */
export type CertificateEnd =
  | { readonly kind: "seen"; readonly endsAt: number }
  | (Refusal<"certificate_unseen"> & { readonly cause: string });

/** The ends of every certificate in `pem`, in their order; one that cannot be read ends never: null. */
export function endsOf(pem: string): readonly (number | null)[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => {
    try {
      const end = Date.parse(new X509Certificate(block).validTo);
      return Number.isNaN(end) ? null : end;
    } catch {
      return null;
    }
  });
}

/** The end of the certificate that is shown at `hostname:port` within `mostMs` milliseconds. */
export function endShownAt(
  { hostname, port }: { readonly hostname: string; readonly port: number },
  mostMs: number,
): Promise<CertificateEnd> {
  const { promise, resolve } = Promise.withResolvers<CertificateEnd>();
  let socket: ReturnType<typeof connect>;
  try {
    socket = connect({ host: hostname, port, rejectUnauthorized: false });
  } catch (error) {
    return Promise.resolve(unseen("no session came about", causeOf(error)));
  }
  const timer = setTimeout(() => end(unseen("no session in time", "timeout")), mostMs);
  const end = (told: CertificateEnd) => {
    clearTimeout(timer);
    socket.destroy();
    resolve(told);
  };
  socket.once("error", (error) => end(unseen("no session came about", causeOf(error))));
  socket.once("secureConnect", () => {
    const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
    end(
      Number.isNaN(endsAt)
        ? unseen("the certificate does not say when it ends", "valid_to")
        : { kind: "seen", endsAt },
    );
  });
  return promise;
}

function unseen(detail: string, cause: string): CertificateEnd {
  return { ...refuse("certificate_unseen", detail), cause };
}
