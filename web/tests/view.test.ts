import { describe, expect, it } from "vitest";
import { odd, plain } from "../fixtures/views.mjs";
import { TOKEN, filled } from "../fill.mjs";
import { readView } from "../src/data";
import { layoutOf, sharing } from "../src/layout";
import { inks, shades } from "../src/palette";
import { markOf } from "../src/plot/forest";
import { percentileAxes } from "../src/plot/percentiles";
import { anchorOf, capital, sectionsOf, together } from "../src/section/Tables";
import { after, themeOf } from "../src/theme";

describe("the data of a page", () => {
  it("survive being written into it, whatever text is in them", () => {
    const view = odd();
    view.run.question = "</script><!--<script>$& $1 " + TOKEN;
    const page = filled(`<script id="tare-view">${TOKEN}</script>`, JSON.stringify(view));
    expect(page.match(/<\/script>/g)).toHaveLength(1);
    const text = /<script id="tare-view">(.*)<\/script>/s.exec(page)?.[1];
    expect(readView(text)).toEqual({ view: JSON.parse(JSON.stringify(view)) });
  });
  it("are asked for by name when they are absent, broken or of another version", () => {
    for (const text of [null, "", TOKEN, "{", JSON.stringify({ ...plain(), version: 1 })]) {
      expect(readView(text)).toHaveProperty("problem");
    }
  });
});

describe("the layout", () => {
  it("has a panel per level with the arms that were measured", () => {
    const layout = layoutOf(odd(2));
    expect(layout.panels.map((panel) => panel.name)).toEqual(["50/s", "400/s"]);
    expect(layout.panels[0]?.series.map((series) => series.name)).not.toContain("never-run");
  });
  it("has a panel per arm when levels are compared, with the first level neutral", () => {
    const layout = layoutOf({ ...plain(), compare: "levels" });
    expect(layout.panels.map((panel) => panel.name)).toEqual(["direct", "client-sidecar", "both-sidecars", "both-sidecars-mtls"]);
    expect(layout.inks.get("400/s")?.color).toBe("var(--baseline)");
  });
  it("keeps a level beyond the knee off the axis of the others", () => {
    const { panels } = layoutOf(odd(6));
    const beyond = panels.find((panel) => panel.beyond);
    const first = panels[0];
    if (beyond === undefined || first === undefined) throw new Error("the fixture has lost its knee");
    expect(sharing(panels, beyond).panels).toEqual([beyond]);
    expect(sharing(panels, first).panels).not.toContain(beyond);
    const top = percentileAxes(sharing(panels, first).panels, "latency")?.y[1] ?? Number.NaN;
    expect(top).toBeLessThan(10);
  });
});

describe("ink", () => {
  it("is different for each of twenty arms, and neutral for the baseline only", () => {
    const names = Array.from({ length: 20 }, (_, index) => `arm ${index}`);
    const all = [...inks(names, "arm 3").values()].map((ink) => `${ink.color} ${ink.dash}`);
    expect(new Set(all).size).toBe(20);
    expect(all.filter((ink) => ink.startsWith("var(--baseline)"))).toHaveLength(1);
  });
  it("of a part follows its name across arms", () => {
    const parts = plain().levels.flatMap((level) => level.cells.flatMap((cell) => cell.parts));
    const colors = shades(parts);
    expect(colors.get("client")).toBe("var(--tare-0)");
    expect(new Set([colors.get("server"), colors.get("client-sidecar"), colors.get("server-sidecar")]).size).toBe(3);
  });
});

describe("a mark", () => {
  it("tells the outcomes apart by shape", () => {
    const [first] = plain().overheads;
    if (first === undefined) throw new Error("the fixture has no comparison");
    const marks = [
      { outcome: "differs", within_margin: false }, { outcome: "differs", within_margin: true }, { outcome: "same" },
      { outcome: "undecided", more_blocks: null }, { outcome: "none", reason: "x" }, { outcome: "descriptive" },
    ] as const;
    expect(marks.map((outcome) => markOf({ ...first, outcome }))).toEqual(["differs", "differs-little", "same", "undecided", "plain", "plain"]);
  });
});

describe("tables", () => {
  it("stand in sections in the order of the view", () => {
    expect(sectionsOf(plain())).toEqual(["Assertions", "Network and host", "Overhead"]);
    expect(anchorOf("Network and host")).toBe("network-and-host");
  });
  it("of several levels are one with a column of levels, unless their columns differ", () => {
    const levels = plain().tables.filter((table) => table.level != null);
    expect(together(levels)?.columns.map((column) => column.label)).toEqual(["level", "arm", "direction", "packets /1000", "lost"]);
    expect(together(levels)?.rows).toHaveLength(levels.reduce((sum, table) => sum + table.rows.length, 0));
    expect(together(plain().tables)).toBeNull();
  });
  it("have titles that begin as sentences do, quantiles and mTLS aside", () => {
    expect(["link traffic", "p99 against rate", "mTLS"].map(capital)).toEqual(["Link traffic", "p99 against rate", "mTLS"]);
  });
});

describe("the theme", () => {
  it("is the system's unless the address says otherwise", () => {
    expect(["", "#latency", "#theme=dark", "#theme=light", "#theme=blue"].map(themeOf)).toEqual(["system", "system", "dark", "light", "system"]);
    expect(after(after(after("system")))).toBe("system");
  });
});
