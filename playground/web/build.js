// Bundles the page into dist, which is committed: the command retrygen ui embeds it, and
// go install runs no npm. With -check, it compares dist with what it would write.
import * as esbuild from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, 'dist');
const {outputFiles} = await esbuild.build({
  absWorkingDir: here,
  entryPoints: ['src/playground.js', 'src/worker.js'],
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  minify: true,
  charset: 'utf8',
  legalComments: 'eof',
  target: ['chrome123', 'firefox120', 'safari17.5'], // which have light-dark() of CSS
  loader: {'.css': 'text', '.yaml': 'text', '.json': 'text', '.conf': 'text'},
  write: false,
});
const files = new Map(outputFiles.map((f) => [path.basename(f.path), Buffer.from(f.contents)]));
for (const name of fs.readdirSync(path.join(here, 'pages'))) {
  files.set(name, fs.readFileSync(path.join(here, 'pages', name)));
}
files.set('licenses.txt', Buffer.from(licenses()));

if (process.argv.includes('-check')) {
  const there = fs.existsSync(dist) ? fs.readdirSync(dist) : [];
  for (const name of new Set([...there, ...files.keys()])) {
    const file = path.join(dist, name);
    if (!files.has(name) || !fs.existsSync(file) || !fs.readFileSync(file).equals(files.get(name))) {
      console.error(`playground/web/dist/${name} is stale: run npm run build in playground/web`);
      process.exitCode = 1;
    }
  }
} else {
  fs.rmSync(dist, {recursive: true, force: true});
  fs.mkdirSync(dist);
  for (const [name, text] of files) fs.writeFileSync(path.join(dist, name), text);
}

// licenses returns the licenses of the packages that are bundled.
function licenses() {
  const lock = JSON.parse(fs.readFileSync(path.join(here, 'package-lock.json')));
  let text = 'The page of the playground contains these packages.\n';
  for (const name of Object.keys(lock.packages).sort()) {
    if (!name || /\/(@esbuild|esbuild)(\/|$)/.test(name)) continue;
    const folder = path.join(here, name);
    const license = fs.readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
    text += `\n${name.replace('node_modules/', '')} ${lock.packages[name].version}\n\n`;
    text += fs.readFileSync(path.join(folder, license), 'utf8').trim() + '\n';
  }
  return text;
}
