// The results of simulations.
import {element} from './markdown.js';

// showStorms returns the elements for an answer of the method simulate. image makes an image
// of an SVG text.
export function showStorms({verdicts, svg}, image) {
  const shown = [];
  for (const v of verdicts) {
    const recovers = v.recovered_runs === v.runs;
    const pill = element('span', v.result);
    pill.className = `pill ${recovers ? 'good' : 'error'}`;
    shown.push(element('h3', `Storm ${v.storm} `, pill), element('p', sentence(v.why)));
    const facts = element('ul',
      element('li', `retries raise the load to ${v.amplification.toFixed(2)} × at most`),
      element('li', `${Math.round(100 * v.failed_share)} % of the calls fail`));
    shown.push(facts);
    if (v.helps) {
      const list = element('ul', ...v.helps.map((h) => element('li', h)));
      shown.push(element('p', 'What would help, as simulated:'), list);
    } else if (!recovers) {
      shown.push(element('p', 'None of the changes that were tried helps.'));
    }
    const model = element('details', element('summary', 'What was simulated'),
      element('ul', ...[...v.system, ...v.assumed ?? [], `${v.runs} run`].map((line) => element('li', line))));
    shown.push(model);
  }
  shown.push(image(svg, 'Load, queue and results over time, which the text above sums up'));
  return shown;
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1) + '.';
}
