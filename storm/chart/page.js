// Shows the values of all lines at the time under the pointer, in all figures of a section. Arrow keys move the time.
for (const section of document.querySelectorAll('section')) {
  const figures = [...section.querySelectorAll('figure')].map(node => ({
    node, data: JSON.parse(node.dataset.values), svg: node.querySelector('svg'), cross: node.querySelector('.cross'),
    box: node.querySelector('.values'),
  }));
  let at = 0;
  const time = s => s < 120 ? s + ' s' : Math.floor(s / 60) + ' min ' + (s % 60 ? Math.round(s % 60) + ' s' : '');
  const number = (v, unit) => v === null ? '–' : unit === '%' ? (100 * v).toFixed(0) + ' %'
    : unit === 's' ? v.toPrecision(3) + ' s' : v >= 100 || v === 0 ? Math.round(v).toLocaleString('en-US') : v.toPrecision(3);
  const show = i => {
    for (const f of figures) {
      const d = f.data, n = d.lines[0].values.length;
      at = Math.max(0, Math.min(n - 1, i));
      const x = d.left + (d.width - d.left - d.right) * at / Math.max(1, n - 1);
      f.cross.setAttribute('x1', x); f.cross.setAttribute('x2', x); f.cross.style.visibility = 'visible';
      f.box.textContent = [time(at * d.step), ...d.lines.map(l => l.name + ' ' + number(l.values[at], d.unit))].join('\n');
      const scale = f.svg.clientWidth / d.width, wide = f.box.offsetWidth;
      const place = x * scale + 10 + wide > (d.width - d.right) * scale ? x * scale - wide - 10 : x * scale + 10;
      f.box.style.left = place + 'px'; f.box.style.visibility = 'visible';
    }
  };
  const hide = () => figures.forEach(f => { f.cross.style.visibility = f.box.style.visibility = 'hidden'; });
  for (const f of figures) {
    f.node.addEventListener('pointermove', e => {
      const d = f.data, box = f.svg.getBoundingClientRect(), x = (e.clientX - box.left) * d.width / box.width;
      show(Math.round((x - d.left) / (d.width - d.left - d.right) * (d.lines[0].values.length - 1)));
    });
    f.node.addEventListener('pointerleave', hide);
    f.node.addEventListener('blur', hide);
    f.node.addEventListener('focus', () => show(at));
    f.node.addEventListener('keydown', e => {
      const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[e.key];
      if (step) { show(at + step); e.preventDefault(); }
    });
  }
}
