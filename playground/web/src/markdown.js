// The Markdown of descriptions: paragraphs, lists, code and strong words. It makes elements
// and never parses HTML.

export function markdown(text) {
  const root = document.createElement('div');
  root.className = 'doc';
  for (const block of text.split(/(```[^\n]*\n[\s\S]*?```)|\n{2,}/).filter((part) => part?.trim())) {
    const code = /^```[^\n]*\n([\s\S]*?)```$/.exec(block);
    if (code) {
      root.append(element('pre', code[1]));
      continue;
    }
    const items = block.trim().split(/^[-*] /m);
    if (items.length > 1 && items[0] === '') {
      const list = element('ul');
      for (const item of items.slice(1)) list.append(inline(element('li'), item));
      root.append(list);
    } else {
      root.append(inline(element('p'), block));
    }
  }
  return root;
}

function inline(parent, text) {
  for (const part of text.split(/(`[^`]*`|\*\*[^*]+\*\*|\[[^\]]*\]\([^)]*\))/)) {
    const link = /^\[([^\]]*)\]/.exec(part);
    if (part.length > 1 && part.startsWith('`')) parent.append(element('code', part.slice(1, -1)));
    else if (part.startsWith('**')) parent.append(element('strong', part.slice(2, -2)));
    else parent.append(link ? link[1].replaceAll('`', '') : part);
  }
  return parent;
}

// element returns a new element with a text or with children.
export function element(name, ...children) {
  const e = document.createElement(name);
  e.append(...children);
  return e;
}
