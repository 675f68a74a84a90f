// The editor of experiments (CodeMirror): a chunk of its own, because most views do without.
import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { placeAt, suggestions, type Schema } from "./yaml";

/** What is wrong with the text, and where. */
export interface TextProblem {
  message: string;
  line: number;
  column: number;
}

/** An editor on the page. */
export interface Editor {
  show: (problem: TextProblem | null) => void;
  destroy: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--hue-0)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--quiet)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--hue-2)" },
  { tag: [tags.number, tags.bool, tags.keyword], color: "var(--hue-1)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px", height: "100%", maxHeight: "62vh" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--wash)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-cursor, .cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--band)" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--rule)", maxWidth: "min(560px, 90vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--band)", color: "var(--ink)" },
  ".cm-completionInfo": { maxWidth: "360px", fontFamily: "var(--sans)" },
});

function complete(schema: Schema | null, context: CompletionContext): CompletionResult | null {
  const text = context.state.doc.toString();
  const place = schema === null ? null : placeAt(text, context.pos);
  if (schema === null || place === null || (place.word === "" && !context.explicit && place.kind === "key")) return null;
  const options = suggestions(schema, place).map(({ label, isKey, about }) => ({ label, apply: isKey ? `${label}: ` : label, info: about === "" ? undefined : about, type: isKey ? "property" : "constant" }));
  return options.length === 0 ? null : { from: context.pos - place.word.length, options, validFor: /^[\w.-]*$/ };
}

/** Puts an editor into a shadow tree: there its styles need no style element, which the page's policy forbids. */
export function editorIn(parent: ShadowRoot, text: string, schema: () => Schema | null, changed: (text: string) => void): Editor {
  const view = new EditorView({
    parent,
    root: parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), lintGutter(),
        yaml(), syntaxHighlighting(COLOURS), LOOK, EditorView.lineWrapping,
        autocompletion({ override: [(context) => complete(schema(), context)], icons: false }),
        // Tab moves on to the next field, as everywhere: who has no mouse must be able to leave.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "Experiment as YAML", tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    show: (problem) => {
      const { doc } = view.state;
      const found = [];
      if (problem !== null) {
        const line = doc.line(Math.min(Math.max(problem.line, 1), doc.lines));
        const from = Math.min(line.from + Math.max(problem.column - 1, 0), line.to);
        found.push({ from, to: line.to, severity: "error" as const, message: problem.message });
      }
      view.dispatch(setDiagnostics(view.state, found));
    },
    destroy: () => view.destroy(),
  };
}
