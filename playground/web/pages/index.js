// The playground as files on a web server: WebAssembly answers its questions.
import {mount, wasm} from './playground.js';

const host = document.getElementById('playground');
host.playground = mount(host, wasm('.'), {themes: true});
