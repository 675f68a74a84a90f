// The routes of an arm, from the client to the service, as boxes and what is between them.
import type { ArmRoute } from "../api";

/** A box, or what is between two. */
export interface Piece {
  kind: "hop" | "between";
  text: string;
}

const SECURITY: Record<string, string> = { plaintext: "→", tls: "TLS →", mtls: "mTLS →" };

/** The rows of boxes of an arm: parts and proxies, and between two of them the security of the hop. */
export function rowsOf(arm: ArmRoute): Piece[][] {
  return arm.routes.map((route) =>
    route.map((text, index) => (index % 2 === 0 ? { kind: "hop", text } : { kind: "between", text: SECURITY[text] ?? `${text} →` })),
  );
}
