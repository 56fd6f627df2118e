// The playground: a page on which one writes a policy file and sees its problems, its
// schedule and what it does to a service. mount shows it in an element; backend.js has the
// backends that answer its questions.
import {Editor} from './editor.js';
import {examples} from './examples.js';
import {element} from './markdown.js';
import {link, linked} from './share.js';
import {showStorms} from './storm.js';
import style from './style.css';

export {local, wasm} from './backend.js';

const tabs = {explain: 'Explain', picture: 'Picture', storm: 'Storm', convert: 'Convert', rule: 'Rule'};

// mount shows the playground in an element, and returns it. It opens the file of the link,
// if the address has one, else start, {name, text}, else the first example. With the option
// themes, it has a button that selects the light or the dark theme; without, it has the
// color-scheme of the element. destroy() of the result ends it.
export function mount(host, backend, {start = examples[0], themes = false} = {}) {
  return new Playground(host, backend, start, themes);
}

class Playground {
  checked; // the text whose problems are shown
  #root;
  #start;
  #answers = 0; // of checks that were asked for
  #policy = '';
  #kind = 'grpc';
  #rule = '';
  #tab = 'explain';
  #shown = {}; // by tab, what it shows: the question as text
  #mounted = new AbortController();
  #timer;
  #storms; // that are simulated: an AbortController

  constructor(host, backend, start, themes) {
    this.backend = backend;
    this.#start = start;
    this.#root = host.shadowRoot ?? host.attachShadow({mode: 'open'});
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    this.#root.adoptedStyleSheets = [sheet];
    this.#root.innerHTML = page;
    if (themes) this.#chooseTheme(host);
    this.editor = new Editor(this.$('.editor'), this.#root, {
      ask: (method, fields) => this.#ask(method, fields), changed: () => this.#changed(),
    });
    this.#bar();
    this.#tabs();
    addEventListener('hashchange', () => this.#openLink(), {signal: this.#mounted.signal});
    this.#open();
  }

  destroy() {
    this.#mounted.abort();
    this.#storms?.abort();
    clearTimeout(this.#timer);
    this.editor.view.destroy();
    this.backend.end?.();
    this.#root.replaceChildren();
  }

  $(selector) {
    return this.#root.querySelector(selector);
  }

  #ask(method, fields, options) {
    return this.backend.ask({method, name: this.editor.name, text: this.editor.text, ...fields}, options);
  }

  // --- the file

  async #open() {
    if (await this.#openLink()) return;
    let kept = null;
    try { // a tab that is reloaded has its text again, unless the file has changed meanwhile
      kept = JSON.parse(sessionStorage.getItem('retrygen-playground'));
    } catch { /* no storage, or not ours */ }
    this.#show(kept?.start === this.#start.text ? kept.file : this.#start);
  }

  async #openLink() {
    try {
      const file = await linked(location.hash);
      if (file) this.#show(file);
      return file !== null;
    } catch {
      this.#say('The link is damaged: it has no file that can be read.');
      return false;
    }
  }

  #show(file) {
    this.$('.name').value = file.name;
    this.editor.open(file);
    this.#check();
  }

  #changed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      try {
        const file = {name: this.editor.name, text: this.editor.text};
        sessionStorage.setItem('retrygen-playground', JSON.stringify({start: this.#start.text, file}));
      } catch { /* no storage */ }
      this.#check();
    }, 150);
  }

  async #check() {
    clearTimeout(this.#timer);
    const answer = ++this.#answers;
    const text = this.editor.text;
    let found;
    try {
      found = await this.#ask('check');
    } catch (error) {
      this.#say(`The file cannot be checked: ${error.message}.`);
      return;
    }
    if (answer !== this.#answers || text !== this.editor.text) return; // a later one will follow
    this.#say('');
    this.checked = text;
    this.editor.show(found.problems, (rule) => this.#openRule(rule));
    this.#list(found);
    this.#policies(found.policies);
    this.#update();
  }

  #list({problems, summary, system}) {
    this.$('.system').textContent = system ? `Read as: ${system}` : '';
    this.$('.summary').textContent = summary || 'no problems';
    this.$('.problems ol').replaceChildren(...problems.map((p) => {
      const at = element('button', `${p.line}:${p.column}`);
      at.className = 'at';
      at.setAttribute('aria-label', `Go to line ${p.line}, column ${p.column}`);
      at.onclick = () => this.editor.select(p);
      const severity = element('span', p.severity);
      severity.className = `pill ${p.severity}`;
      const rule = element('button', p.rule);
      rule.className = 'rule';
      rule.setAttribute('aria-label', `Describe rule ${p.rule}`);
      rule.onclick = () => this.#openRule(p.rule);
      const text = element('span', p.text, ' ', rule);
      if (p.fix) {
        const fix = element('button', p.fix.title);
        fix.className = 'fix';
        fix.onclick = () => this.editor.edit(p.fix.edits);
        text.append(' ', fix);
      }
      if (p.paste) text.append(element('pre', p.paste));
      return element('li', at, severity, text);
    }));
  }

  #policies(names) {
    if (names.length === 0) return; // until the text is YAML again
    if (!names.includes(this.#policy)) this.#policy = names[0] ?? '';
    this.$('.policy').replaceChildren(...names.map((name) => new Option(name, name, false, name === this.#policy)));
  }

  // --- the bar above

  #bar() {
    const select = this.$('.examples');
    examples.forEach((e, i) => select.append(new Option(e.title, i)));
    select.onchange = () => {
      if (select.value !== '') this.#show(examples[select.value]);
      select.value = '';
    };
    this.$('.name').onchange = (event) => {
      this.editor.name = event.target.value.trim() || 'retry.yaml';
      this.#changed();
    };
    this.$('.format').onclick = async () => {
      try {
        const text = this.editor.text;
        const {edits} = await this.#ask('format');
        if (text === this.editor.text) this.editor.edit(edits);
        this.#say(edits.length > 0 ? '' : 'The file is in its canonical form.');
      } catch (error) {
        this.#say(`The file is unchanged: ${error.message}.`);
      }
    };
    this.$('.share').onclick = async () => {
      history.replaceState(history.state, '', await link({name: this.editor.name, text: this.editor.text}));
      try {
        await navigator.clipboard.writeText(location.href);
        this.#say('The link with this file is copied. Nothing was sent to a server.');
      } catch {
        this.#say('The address of this page is now the link with this file. Nothing was sent to a server.');
      }
    };
  }

  #say(text) {
    const notice = this.$('.notice');
    notice.textContent = text;
    notice.hidden = text === '';
  }

  #chooseTheme(host) {
    const button = this.$('.theme');
    const names = ['light dark', 'light', 'dark'];
    const labels = {'light dark': 'Theme: system', light: 'Theme: light', dark: 'Theme: dark'};
    const apply = (name) => {
      document.documentElement.style.colorScheme = name;
      host.style.colorScheme = name;
      button.textContent = labels[name];
      button.dataset.theme = name;
    };
    let stored = null;
    try {
      stored = localStorage.getItem('retrygen-theme');
    } catch { /* no storage */ }
    apply(names.includes(stored) ? stored : names[0]);
    button.hidden = false;
    button.onclick = () => {
      const next = names[(names.indexOf(button.dataset.theme) + 1) % names.length];
      apply(next);
      try {
        localStorage.setItem('retrygen-theme', next);
      } catch { /* no storage */ }
    };
  }

  // --- the tabs

  #tabs() {
    const list = this.$('[role=tablist]');
    for (const [id, title] of Object.entries(tabs)) {
      const tab = element('button', title);
      Object.assign(tab, {id: `tab-${id}`, role: 'tab', hidden: id === 'rule'});
      tab.setAttribute('aria-controls', `panel-${id}`);
      tab.onclick = () => this.#select(id);
      list.append(tab);
    }
    list.onkeydown = (event) => {
      const visible = [...list.children].filter((tab) => !tab.hidden);
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      const at = visible.findIndex((tab) => tab.getAttribute('aria-selected') === 'true');
      const next = step ? visible[(at + step + visible.length) % visible.length]
        : {Home: visible[0], End: visible.at(-1)}[event.key];
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.click();
    };
    this.$('.policy').onchange = (event) => {
      this.#policy = event.target.value;
      this.#update();
    };
    this.$('.kind').onchange = (event) => {
      this.#kind = event.target.value;
      this.#update();
    };
    this.$('.simulate').onclick = () => this.#storms ? this.#storms.abort() : this.#simulate();
    this.#select('explain');
  }

  #select(id) {
    this.#tab = id;
    for (const tab of this.$('[role=tablist]').children) {
      const selected = tab.id === `tab-${id}`;
      tab.setAttribute('aria-selected', selected);
      tab.tabIndex = selected ? 0 : -1;
    }
    for (const panel of this.#root.querySelectorAll('[role=tabpanel]')) panel.hidden = panel.id !== `panel-${id}`;
    this.$('.of-policy').hidden = id === 'convert' || id === 'rule';
    this.#update();
  }

  #openRule(rule) {
    this.#rule = rule;
    this.$('#tab-rule').hidden = false;
    this.#select('rule');
    this.$('#tab-rule').focus();
  }

  // update asks for what the selected tab shows, unless it shows it already.
  async #update() {
    if (this.#answers === 0) return; // no file is open yet
    const id = this.#tab;
    const fields = {
      explain: {policy: this.#policy}, picture: {policy: this.#policy}, storm: {policy: this.#policy},
      convert: {kind: this.#kind}, rule: {rule: this.#rule},
    }[id];
    const question = JSON.stringify([fields, id === 'rule' ? '' : this.editor.name + '\n' + this.editor.text]);
    if (this.#shown[id] === question) return;
    if (id === 'storm') {
      this.#stormIsStale();
      if (this.#shown.storm === undefined) this.#simulate();
      return;
    }
    this.#shown[id] = question;
    const panel = this.$(`#panel-${id} .shown`);
    try {
      if (id === 'convert') await this.#loadKinds();
      const content = this.#content(id, await this.#ask(id, fields));
      if (this.#shown[id] !== question) return;
      panel.replaceChildren(...content);
      panel.classList.remove('old');
    } catch (error) { // what was right last remains, so that the page is calm while one types
      if (this.#shown[id] !== question) return;
      panel.querySelector('.why')?.remove();
      const why = element('p', sentence(error.message));
      why.className = 'why';
      panel.prepend(why);
      panel.classList.add('old');
    }
  }

  #content(id, answer) {
    switch (id) {
      case 'explain':
        return [pre(answer.text)];
      case 'picture':
        return [image(answer.svg, `The schedule of the policy ${this.#policy}, which the tab Explain has as text`)];
      case 'rule':
        return [pre(answer.text)];
      case 'convert':
        return this.#conversion(answer);
    }
  }

  #conversion({name, text, losses}) {
    const content = [pre(text)];
    if (name === 'retry.yaml') {
      const open = element('button', 'Open in the editor');
      open.onclick = () => this.#show({name, text});
      content.unshift(open);
    }
    if (losses.length > 0) {
      const list = element('ul', ...losses.map((l) => element('li', element('code', `${l.line}:${l.column} ${l.path}`),
        ` ${l.why}`)));
      const noun = losses.length === 1 ? 'setting has' : 'settings have';
      content.unshift(element('h3', `${losses.length} ${noun} no counterpart`), list);
    }
    return content;
  }

  // loadKinds lists the systems to which a policy file is converted.
  async #loadKinds() {
    const select = this.$('.kind');
    if (select.length === 0) {
      const {kinds} = await this.#ask('kinds');
      if (select.length === 0) {
        select.append(...kinds.map((k) => new Option(k.title, k.name, false, k.name === this.#kind)));
      }
    }
    this.$('.to').hidden = this.$('.system').textContent !== '';
  }

  // --- storms

  #stormIsStale() {
    const stale = this.$('.stale');
    stale.hidden = this.#shown.storm === undefined;
  }

  async #simulate() {
    this.#storms?.abort();
    const storms = this.#storms = new AbortController();
    const {signal} = storms;
    const fields = {policy: this.#policy};
    this.#shown.storm = JSON.stringify([fields, this.editor.name + '\n' + this.editor.text]);
    const button = this.$('.simulate');
    const panel = this.$('#panel-storm .shown');
    button.textContent = 'Stop';
    this.$('.stale').hidden = true;
    panel.replaceChildren();
    panel.setAttribute('aria-busy', 'true');
    try {
      for (const storm of ['capacity', 'errors']) {
        const busy = element('p', `Simulating ${fields.policy} in the storm ${storm} …`);
        busy.className = 'busy';
        panel.append(busy);
        const answer = await this.#ask('simulate', {...fields, storm}, {slow: true, signal});
        busy.replaceWith(...showStorms(answer, image));
      }
    } catch (error) {
      panel.querySelector('.busy')?.remove();
      panel.append(element('p', signal.aborted ? 'The simulation was stopped.' : sentence(error.message)));
    }
    if (this.#storms !== storms) return;
    this.#storms = undefined;
    button.textContent = 'Simulate again';
    panel.removeAttribute('aria-busy');
  }
}

function pre(text) {
  const e = element('pre', text);
  e.tabIndex = 0; // to scroll it by keys
  return e;
}

// image shows an SVG image. As an image, it runs no scripts, and its styles are its own.
function image(svg, alt) {
  const url = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
  const img = Object.assign(new Image(), {src: url, alt});
  img.onload = img.onerror = () => URL.revokeObjectURL(url);
  return img;
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1) + '.';
}

const page = `
<div class="bar">
  <label>Example <select class="examples"><option value="">choose …</option></select></label>
  <label>File <input class="name" size="16" spellcheck="false" autocomplete="off"></label>
  <button class="format">Format</button>
  <button class="share">Share a link</button>
  <button class="theme" hidden></button>
</div>
<p class="notice" role="status" hidden></p>
<div class="panes">
  <div class="left">
    <div class="editor"></div>
    <section class="problems" aria-label="Problems">
      <h2>Problems <span class="summary" role="status"></span> <span class="system"></span></h2>
      <ol></ol>
    </section>
  </div>
  <div class="right">
    <div role="tablist" aria-label="About the file"></div>
    <label class="of-policy">Policy <select class="policy"></select></label>
    <div id="panel-explain" role="tabpanel" aria-labelledby="tab-explain"><div class="shown"></div></div>
    <div id="panel-picture" role="tabpanel" aria-labelledby="tab-picture"><div class="shown"></div></div>
    <div id="panel-storm" role="tabpanel" aria-labelledby="tab-storm">
      <button class="simulate">Simulate</button>
      <span class="stale" hidden>The file or the policy has changed.</span>
      <div class="shown"></div>
    </div>
    <div id="panel-convert" role="tabpanel" aria-labelledby="tab-convert">
      <label class="to">To <select class="kind"></select></label>
      <div class="shown"></div>
    </div>
    <div id="panel-rule" role="tabpanel" aria-labelledby="tab-rule"><div class="shown"></div></div>
  </div>
</div>`;
