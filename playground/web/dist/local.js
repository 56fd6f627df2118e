// The playground of retrygen ui, whose server answers its questions.
import {local, mount} from './playground.js';

const start = await (await fetch('start')).json();
const host = document.getElementById('playground');
host.playground = mount(host, local('answer'), {themes: true, ...start && {start}});
