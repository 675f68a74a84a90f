// The route of an arm, from the client to the service, as boxes and what is between them.
import type { ArmRoute } from "../api";

/** A box, or what is between two. */
export interface Piece {
  kind: "hop" | "between";
  text: string;
}

/** An arrow, with the security of the connection in it. */
const ARROW = /\s*([─═][^▶]*▶|(?<=\s)-+>(?=\s))\s*/;

/** Words that say how a connection is secured. */
const SECURITY = /^(?:plaintext|tls|mtls)$/i;

function between(text: string): Piece {
  const security = text.replaceAll(/[─═▶>-]/g, "").trim();
  return { kind: "between", text: security === "" ? "→" : `${security} →` };
}

function pieces(text: string): Piece[] {
  return text.split(ARROW).flatMap((part): Piece[] => {
    if (part.trim() === "") return [];
    return [ARROW.test(part) || SECURITY.test(part.trim()) ? between(part) : { kind: "hop", text: part.trim() }];
  });
}

function joined(all: readonly Piece[]): Piece[] {
  return all.flatMap((piece, index): Piece[] => (index > 0 && piece.kind === "hop" && all[index - 1]?.kind === "hop" ? [{ kind: "between", text: "→" }, piece] : [piece]));
}

/** The rows of boxes of an arm: one for each route that is told whole, else one in all. */
export function rowsOf(arm: ArmRoute): Piece[][] {
  const parts = arm.route.map(pieces);
  const isWhole = (row: readonly Piece[]) => row.filter((piece) => piece.kind === "hop").length > 1;
  const rows = parts.some(isWhole) ? parts : [parts.flat()];
  return rows.filter((row) => row.length > 0).map(joined);
}
