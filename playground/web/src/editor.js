// The editor: CodeMirror with the answers of package playground.
import {autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap} from '@codemirror/commands';
import {yaml} from '@codemirror/lang-yaml';
import {bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting} from '@codemirror/language';
import {lintGutter, lintKeymap, setDiagnostics} from '@codemirror/lint';
import {highlightSelectionMatches, searchKeymap} from '@codemirror/search';
import {Compartment, EditorState} from '@codemirror/state';
import {
  EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers,
} from '@codemirror/view';
import {tags} from '@lezer/highlight';
import {element, markdown} from './markdown.js';
import {offset, position} from './positions.js';

const colors = HighlightStyle.define([
  {tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic'},
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)'},
  {tag: [tags.string, tags.content, tags.attributeValue], color: 'var(--text)'},
  {tag: [tags.keyword, tags.labelName, tags.typeName], color: 'var(--wait)'},
  {tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--faint)'},
]);

const isYAML = (name) => !/\.(conf|cfg|properties|tf)$/.test(name);

// An Editor shows one file. changed is called after each change of the text.
export class Editor {
  #language = new Compartment();
  #name = '';

  // ask returns a promise of the answer to a method, with the fields of a question.
  constructor(parent, root, {ask, changed}) {
    this.ask = ask;
    this.view = new EditorView({
      parent, root,
      state: EditorState.create({
        extensions: [
          lintGutter(), lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), highlightSelectionMatches(),
          history(), indentOnInput(), indentUnit.of('  '), bracketMatching(), closeBrackets(),
          this.#language.of(yaml()), syntaxHighlighting(colors),
          autocompletion({
            override: [(context) => this.#complete(context)], activateOnCompletion: () => true, icons: false,
          }),
          hoverTooltip((view, at) => this.#hover(view, at)),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap,
            ...lintKeymap]),
          EditorView.contentAttributes.of({'aria-label': 'Policy file', spellcheck: 'false', autocapitalize: 'off'}),
          EditorView.updateListener.of((update) => update.docChanged && changed()),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get name() {
    return this.#name;
  }

  set name(name) {
    this.#name = name;
    this.view.dispatch({effects: this.#language.reconfigure(isYAML(name) ? yaml() : [])});
  }

  // open replaces the file.
  open({name, text}) {
    this.name = name;
    this.view.dispatch({changes: {from: 0, to: this.view.state.doc.length, insert: text}, selection: {anchor: 0}});
    this.view.scrollDOM.scrollTop = 0;
  }

  // show underlines problems. Each has actions: its fix, and the page of its rule.
  show(problems, openRule) {
    const {doc} = this.view.state;
    const diagnostics = problems.map((p) => {
      const from = offset(doc, p.line, p.column);
      const actions = [{name: `About ${p.rule}`, apply: () => openRule(p.rule)}];
      if (p.fix) actions.unshift({name: p.fix.title, apply: () => this.edit(p.fix.edits)});
      return {
        from, to: Math.max(from, offset(doc, p.line, p.column + p.width)),
        severity: p.severity, source: p.rule, message: p.text, actions,
        renderMessage: () => element('div', p.text, ...p.paste ? [element('pre', p.paste)] : []),
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  // edit applies edits of the text, as package playground returns them.
  edit(edits) {
    const {doc} = this.view.state;
    this.view.dispatch({changes: edits.map((e) => ({
      from: offset(doc, e.line, e.column), to: offset(doc, e.endLine, e.endColumn), insert: e.text,
    }))});
    this.view.focus();
  }

  // select selects the part of the text that a problem is about.
  select(p) {
    const {doc} = this.view.state;
    const anchor = offset(doc, p.line, p.column);
    this.view.dispatch({selection: {anchor, head: offset(doc, p.line, p.column + p.width)}, scrollIntoView: true});
    this.view.focus();
  }

  async #complete(context) {
    const before = context.matchBefore(/[^\n]*/).text;
    if (!context.explicit && !/(^|[\s{[,])[\w.*-]+$|: $/.test(before)) return null;
    const {doc} = context.state;
    const {completions} = await this.ask('complete', position(doc, context.pos));
    if (completions.length === 0) return null;
    return {
      from: offset(doc, completions[0].line, completions[0].column),
      validFor: /^[\w.*-]*$/,
      options: completions.map((c, i) => ({
        label: c.label, detail: c.detail, boost: Math.max(-99, 99 - i), // in their order
        info: c.doc ? () => markdown(c.doc) : undefined,
        apply: c.text,
      })),
    };
  }

  async #hover(view, at) {
    const {doc} = view.state;
    const answer = await this.ask('hover', position(doc, at)).catch(() => ({doc: ''}));
    if (answer.doc === '' || doc !== view.state.doc) return null;
    return {
      pos: offset(doc, answer.line, answer.column), end: offset(doc, answer.endLine, answer.endColumn), above: true,
      create: () => ({dom: markdown(answer.doc)}),
    };
  }
}
