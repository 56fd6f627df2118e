// Adds the schema, its entry of the catalog and policy files as tests to a checkout of SchemaStore, and runs its checks.
'use strict';
const {execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const store = process.argv[2];
if (!store) {
  console.error('usage: node schemastore.js DIR, a checkout of SchemaStore after npm ci');
  process.exit(2);
}
const root = path.join(__dirname, '..', '..');
const name = 'retrygen.json';
// SchemaStore reads YAML 1.2, which has no merge keys.
const mergeKeys = ['anchors.yaml'];
const wrong = ['attempts.yaml', 'durations.yaml', 'misspelt.yaml'];

const modeline = `# yaml-language-server: $schema=../../schemas/json/${name}\n`;
function test(dir, from, files) {
  fs.mkdirSync(path.join(store, 'src', dir, 'retrygen'), {recursive: true});
  for (const file of files) {
    const text = fs.readFileSync(path.join(from, file), 'utf8').replace(/\r/g, '').replace(/^# yaml-language-server.*\n/, '');
    fs.writeFileSync(path.join(store, 'src', dir, 'retrygen', file), modeline + text);
  }
}
const policies = path.join(root, 'testdata', 'policies');
test('test', path.join(policies, 'ok'), fs.readdirSync(path.join(policies, 'ok')).filter((f) => !mergeKeys.includes(f)));
test('negative_test', path.join(policies, 'err'), wrong);
fs.copyFileSync(path.join(root, 'schema', 'policy.schema.json'), path.join(store, 'src', 'schemas', 'json', name));

function insert(file, after, text) {
  const at = path.join(store, file);
  const before = fs.readFileSync(at, 'utf8');
  if (!before.includes(after)) throw new Error(`${file} has no ${after}`);
  if (!before.includes(name)) fs.writeFileSync(at, before.replace(after, () => `${after}\n${text},`));
}
const entry = JSON.parse(fs.readFileSync(path.join(__dirname, 'catalog.json'), 'utf8'));
insert('src/api/json/catalog.json', '"schemas": [', JSON.stringify({...entry, url: `https://www.schemastore.org/${name}`}));
insert('src/schema-validation.jsonc', '"options": {', `"${name}": {"unknownKeywords": ["errorMessage", "deprecationMessage"]}`);

execFileSync(process.execPath, ['cli.js', 'check', `--schema-name=${name}`], {cwd: store, stdio: 'inherit'});
