// Starts `retrygen lsp` and communicates with it through the protocol library of VS Code.
// RETRYGEN is the program; it is built if that is not set.
const assert = require("node:assert");
const {spawn, execFileSync} = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {pathToFileURL} = require("node:url");
const rpc = require("vscode-languageserver-protocol/node");

const root = path.resolve(__dirname, "../..");
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "retrygen-vscode-"));
process.on("exit", () => fs.rmSync(temp, {recursive: true}));

let program = process.env.RETRYGEN;
if (!program) {
  program = path.join(temp, "retrygen");
  execFileSync("go", ["build", "-o", program, "./cmd/retrygen"], {cwd: root, stdio: "inherit"});
}

async function main() {
  const server = spawn(program, ["lsp"], {stdio: ["pipe", "pipe", "inherit"]});
  const exited = new Promise(done => server.on("exit", done));
  const conn = rpc.createProtocolConnection(
    new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  const published = [];
  let wake = () => {};
  conn.onNotification(rpc.PublishDiagnosticsNotification.type, p => {
    published.push(p);
    wake();
  });
  conn.onRequest(rpc.RegistrationRequest.type, () => {});
  conn.listen();

  // diagnostics returns the problems of a version of a file.
  const diagnostics = async version => {
    for (;;) {
      const p = published.find(p => p.version === version);
      if (p) return p.diagnostics;
      await new Promise(done => (wake = done));
    }
  };

  const {capabilities} = await conn.sendRequest(rpc.InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(temp).href,
    capabilities: {workspace: {didChangeWatchedFiles: {dynamicRegistration: true}}},
  });
  assert.equal(capabilities.positionEncoding, "utf-16");
  await conn.sendNotification(rpc.InitializedNotification.type, {});

  const uri = pathToFileURL(path.join(temp, "retry.yaml")).href;
  const textDocument = {uri, languageId: "yaml", version: 1,
    text: "version: 1\npolicies:\n  read: {max_atempts: 3}\n  slow: {extends: read, jit}\n"};
  await conn.sendNotification(rpc.DidOpenTextDocumentNotification.type, {textDocument});
  const [problem] = await diagnostics(1);
  assert.equal(problem.code, "P101");
  assert.deepEqual(problem.range, {start: {line: 2, character: 9}, end: {line: 2, character: 20}});

  const [fix] = await conn.sendRequest(rpc.CodeActionRequest.type,
    {textDocument: {uri}, range: problem.range, context: {diagnostics: [problem]}});
  assert.equal(fix.title, "Write max_attempts");
  await conn.sendNotification(rpc.DidChangeTextDocumentNotification.type, {
    textDocument: {uri, version: 2},
    contentChanges: fix.edit.changes[uri].map(edit => ({range: edit.range, text: edit.newText})),
  });
  const items = await conn.sendRequest(rpc.CompletionRequest.type,
    {textDocument: {uri}, position: {line: 3, character: 27}});
  assert.ok(items.some(item => item.label === "jitter"), JSON.stringify(items));
  await conn.sendNotification(rpc.DidChangeTextDocumentNotification.type, {
    textDocument: {uri, version: 3},
    contentChanges: [{range: {start: {line: 3, character: 22}, end: {line: 3, character: 27}}, text: ""}],
  });
  assert.deepEqual(await diagnostics(3), []);

  const hover = await conn.sendRequest(rpc.HoverRequest.type,
    {textDocument: {uri}, position: {line: 3, character: 19}});
  assert.match(hover.contents.value, /at worst: 3 calls/);
  const lenses = await conn.sendRequest(rpc.CodeLensRequest.type, {textDocument: {uri}});
  assert.deepEqual(lenses.map(l => l.command.title), ["at worst: 3 calls, no time limit", "at worst: 3 calls, no time limit"]);
  const to = await conn.sendRequest(rpc.DefinitionRequest.type,
    {textDocument: {uri}, position: {line: 3, character: 19}});
  assert.equal(to.range.start.line, 2);

  await conn.sendRequest(rpc.ShutdownRequest.type);
  await conn.sendNotification(rpc.ExitNotification.type);
  assert.equal(await exited, 0);

  // What is packaged loads, and has what an extension must have.
  const Module = require("node:module");
  const load = Module._load;
  Module._load = (name, ...rest) => name === "vscode" ? vscodeParts() : load(name, ...rest);
  const extension = require("./dist/extension.js");
  assert.equal(typeof extension.activate, "function");
  assert.equal(typeof extension.deactivate, "function");
}

// vscodeParts returns classes that the client library extends when it is loaded.
function vscodeParts() {
  return new Proxy({}, {get: (_, name) => typeof name === "string" ? class {} : undefined});
}

main().catch(err => {
  console.error(err);
  process.exit(1);
});
