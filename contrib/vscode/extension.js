// The extension starts `retrygen lsp` and connects the editor with it.
const vscode = require("vscode");
const {LanguageClient, TransportKind} = require("vscode-languageclient/node");

let client;

// start starts the server with the current settings.
async function start() {
  const settings = vscode.workspace.getConfiguration("retrygen");
  const [command, ...args] = settings.get("command");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const documentSelector = [{scheme: "file", pattern: "**/retry.{yaml,yml}"}];
  if (settings.get("otherSystems")) {
    documentSelector.push({scheme: "file", language: "yaml"});
  }
  client = new LanguageClient(
    "retrygen",
    {command, args: [...args, "lsp"], transport: TransportKind.stdio, options: {cwd: folder}},
    {documentSelector},
  );
  try {
    await client.start();
  } catch (err) {
    const install = "go install github.com/retrygen/retrygen/cmd/retrygen@latest";
    vscode.window.showErrorMessage(
      `retrygen cannot be started (${err.message}). Install it with ${install}, or set retrygen.command.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop().catch(() => {}); // it may not have started
}

// restart restarts the server after the restarts that are not finished, so that only one
// server runs.
let restarted = Promise.resolve();

function restart() {
  restarted = restarted.catch(() => {}).then(stop).then(start);
  return restarted;
}

exports.activate = async context => {
  context.subscriptions.push(
    vscode.commands.registerCommand("retrygen.restart", restart),
    vscode.workspace.onDidChangeConfiguration(e => e.affectsConfiguration("retrygen") && restart()),
  );
  await restart();
};

exports.deactivate = () => restarted.catch(() => {}).then(stop);
