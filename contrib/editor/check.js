// Opens the policy files of testdata in yaml-language-server, and compares its
// diagnostics and completions with want.txt.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const path = require('path');
const {pathToFileURL} = require('url');

const root = path.join(__dirname, '..', '..');
const policies = path.join(root, 'testdata', 'policies');
const wanted = path.join(__dirname, 'want.txt');
const settings = {
  validate: true,
  completion: true,
  schemas: {[pathToFileURL(path.join(root, 'schema', 'policy.schema.json'))]: '*.yaml'},
  schemaStore: {enable: false},
};
// Places at which a user asks for completion: the text ends there.
const completions = ['', 'version: 1\npolicies:\n  read:\n    ', 'version: 1\npolicies:\n  read:\n    backoff: ', 'version: 1\npolicies:\n  read:\n    jitter: '];

const server = spawn(process.execPath, [path.join(__dirname, 'node_modules', 'yaml-language-server', 'bin', 'yaml-language-server'), '--stdio']);
const waiting = new Map(); // requests of ours, by id
const published = new Map(); // what to call when diagnostics of a file arrive
let input = Buffer.alloc(0);
let lastID = 0;

server.stdout.on('data', (data) => {
  input = Buffer.concat([input, data]);
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/i.exec(input.subarray(0, end))[1]);
    if (input.length < end + 4 + length) return;
    receive(JSON.parse(input.subarray(end + 4, end + 4 + length)));
    input = input.subarray(end + 4 + length);
  }
});

function receive(message) {
  if (message.method === 'workspace/configuration') {
    send({id: message.id, result: message.params.items.map((item) => (item.section === 'yaml' ? settings : null))});
  } else if (message.method && message.id !== undefined) {
    send({id: message.id, result: null});
  } else if (message.method === 'textDocument/publishDiagnostics') {
    const done = published.get(message.params.uri);
    if (done) done(message.params.diagnostics);
  } else if (message.id !== undefined) {
    waiting.get(message.id)(message.result);
  }
}

function send(message) {
  const text = JSON.stringify({jsonrpc: '2.0', ...message});
  server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function request(method, params) {
  return new Promise((resolve) => {
    waiting.set(++lastID, resolve);
    send({id: lastID, method, params});
  });
}

// open opens a document and returns its diagnostics.
function open(uri, text) {
  return new Promise((resolve) => {
    published.set(uri, resolve);
    send({method: 'textDocument/didOpen', params: {textDocument: {uri, languageId: 'yaml', version: 1, text}}});
  });
}

async function main() {
  setTimeout(() => fail('yaml-language-server did not answer within two minutes'), 120_000);
  await request('initialize', {processId: process.pid, rootUri: null, capabilities: {workspace: {configuration: true}}});
  send({method: 'initialized', params: {}});
  send({method: 'workspace/didChangeConfiguration', params: {settings: {yaml: settings}}});

  let got = '';
  for (const dir of ['ok', 'err']) {
    for (const name of fs.readdirSync(path.join(policies, dir)).filter((n) => n.endsWith('.yaml')).sort()) {
      const file = path.join(policies, dir, name);
      const found = await open(pathToFileURL(file).href, fs.readFileSync(file, 'utf8'));
      found.sort((a, b) => a.range.start.line - b.range.start.line || a.range.start.character - b.range.start.character);
      for (const d of found) {
        const deprecated = /^Write [a-z]/.test(d.message); // a deprecationMessage
        if (dir === 'ok' && !deprecated) fail(`${dir}/${name} is right, but an editor says: ${d.message}`);
        got += `${dir}/${name}:${d.range.start.line + 1}:${d.range.start.character + 1}: ${deprecated ? 'deprecated: ' : ''}${d.message.replace(/\n/g, ' ')}\n`;
      }
    }
  }
  for (const [i, text] of completions.entries()) {
    const uri = `file:///completion${i}.yaml`;
    await open(uri, text);
    const lines = text.split('\n');
    const position = {line: lines.length - 1, character: lines.at(-1).length};
    const list = await request('textDocument/completion', {textDocument: {uri}, position});
    const labels = (list.items || list).map((item) => item.label);
    got += `completion of ${JSON.stringify(text)}: ${[...new Set(labels)].sort().join(' ')}\n`;
  }

  if (process.argv[2] === '-update') fs.writeFileSync(wanted, got);
  const want = fs.readFileSync(wanted, 'utf8');
  if (got !== want) {
    const [w, g] = [want, got].map((text) => new Set(text.split('\n')));
    for (const line of w) if (!g.has(line)) console.error(`- ${line}`);
    for (const line of g) if (!w.has(line)) console.error(`+ ${line}`);
    fail('the editor says something else than want.txt: npm run update, and read the diff');
  }
  console.log(`${got.split('\n').length - 1} passed, 0 failed`);
  process.exit(0);
}

function fail(text) {
  console.error(text);
  process.exit(1);
}

main().catch((err) => fail(err.stack));
