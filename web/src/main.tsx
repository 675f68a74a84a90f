// Draws the report of the run whose view this file carries.
import { render } from "preact";
import { Report } from "./Report";
import { readView } from "./data";
import "./style.css";
import { follow, themeOf } from "./theme";

follow(themeOf(location.hash));
const read = readView(document.getElementById("tare-view")?.textContent);
const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  if ("view" in read) {
    document.title = `${read.view.run.experiment} · Tare`;
    render(<Report view={read.view} />, root);
  } else {
    render(<p class="problem">{read.problem}</p>, root);
  }
}
