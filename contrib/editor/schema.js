// Compiles the schema in the strict mode of ajv, as SchemaStore does, and matches its patterns against long texts.
'use strict';
const Ajv = require('ajv');
const assert = require('assert');
const fs = require('fs');
const path = require('path');

const schema = JSON.parse(fs.readFileSync(path.join(__dirname, '..', '..', 'schema', 'policy.schema.json'), 'utf8'));

// The keywords that only editors read. ajv knows no others that are not of JSON Schema.
const ajv = new Ajv({strict: true});
for (const keyword of ['markdownDescription', 'errorMessage', 'deprecationMessage', 'defaultSnippets']) ajv.addKeyword(keyword);
const validate = ajv.compile(schema);
assert(validate({version: 1, policies: {read: {timeout: '1m 30s', backoff: {linear: {increment: '1s'}}}}}), ajv.errorsText(validate.errors));
assert(!validate({version: 1, policies: {read: {timeout: '30'}}}));
assert(!validate({version: 1, policies: {read: {backoff: {linear: {}}}}}));

// A pattern that backtracks takes seconds for a tenth of this text, or does not end.
const n = 200_000;
const repeated = [' ', '1', 'a', '1 ', '1s', '1 s ', '1.', '_', '5-'];
const patterns = new Set();
JSON.stringify(schema, (key, value) => {
  if (key === 'pattern' && typeof value === 'string') patterns.add(value);
  return value;
});
assert(patterns.size > 2);
for (const pattern of patterns) {
  for (const text of repeated) {
    const start = process.hrtime.bigint();
    new RegExp(pattern, 'u').test(`1${text.repeat(n / text.length)}!`);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    assert(ms < 2000, `${pattern} takes ${ms} ms for ${n} characters of ${JSON.stringify(text)}`);
  }
}
console.log(`ajv accepts the schema in strict mode; ${patterns.size} patterns match in linear time`);
