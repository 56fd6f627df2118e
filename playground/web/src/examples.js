// What one can start from: files of this repository, which its tests check.
import quickstart from '../../../examples/quickstart/retry.yaml';
import orders from '../../../examples/orders/retry.yaml';
import agent from '../../../examples/agent/retry.yaml';
import mistakes from '../../../testdata/policies/err/first_hour.yaml';
import capacity from '../../../testdata/policies/ok/capacity.yaml';
import presets from '../../../testdata/policies/ok/clients_list.yaml';
import groups from '../../../testdata/policies/ok/groups.yaml';
import durable from '../../../testdata/policies/ok/durable.yaml';
import envoy from '../../../foreign/testdata/envoy/targets.yaml';
import nginx from '../../../foreign/testdata/nginx/nginx.conf';
import resilience4j from '../../../foreign/testdata/resilience4j/backends.yaml';

export const examples = [
  {title: 'Retries with backoff', name: 'retry.yaml', text: quickstart},
  {title: 'A breaker and a fallback', name: 'retry.yaml', text: orders},
  {title: 'An agent with limits on time', name: 'retry.yaml', text: agent},
  {title: 'Concurrency, rates and hedges', name: 'retry.yaml', text: capacity},
  {title: 'Presets for clients', name: 'retry.yaml', text: presets},
  {title: 'Groups of calls', name: 'retry.yaml', text: groups},
  {title: 'Durable steps', name: 'retry.yaml', text: durable},
  {title: 'With mistakes', name: 'retry.yaml', text: mistakes},
  {title: 'Envoy', name: 'envoy.yaml', text: envoy},
  {title: 'nginx', name: 'nginx.conf', text: nginx},
  {title: 'Resilience4j', name: 'application.yaml', text: resilience4j},
];
