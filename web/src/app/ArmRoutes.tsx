// Every arm with its route: the hops as boxes in a row.
import type { JSX } from "preact";
import type { ArmRoute } from "../api";
import { rowsOf } from "./arm-route";

/** The arms of a plan or a run. */
export function ArmRoutes({ arms }: { arms: readonly ArmRoute[] }): JSX.Element {
  return (
    <ul class="arms">
      {arms.map((arm) => (
        <li key={arm.name}>
          <h3>{arm.name}</h3>
          {arm.about !== "" && <p class="how">{arm.about}</p>}
          {rowsOf(arm).map((row, index) => (
            <p class="route" key={index}>
              {row.map((piece, at) => <span key={at} class={piece.kind}>{piece.text}</span>)}
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}
