// The TypeScript SDK's client of the handshake era, through the journey of clients.py. Standard input names the server
// and the journey, standard output gets what was seen. Errors of the protocol are part of it; anything else ends it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const given = JSON.parse(process.env.JOURNEY);
const transport = given.url
  ? new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: given.headers } })
  : new StdioClientTransport({ command: given.command, args: given.arguments });
const client = new Client({ name: 'judge-v1', version: '1.0.0' });
await client.connect(transport);

const call = (name, args) => client.callTool({ name, arguments: args });
const codeOf = async (promise) => promise.then(() => null, (failure) => failure.code ?? String(failure));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const seen = {
  protocol: transport.protocolVersion ?? null,
  tools,
  created: (await call('canvas_create', { title: given.title, reason: 'judged' })).structuredContent,
  listed: (await call('canvas_list', {})).structuredContent,
  refused: await call('canvas_create', { title: 5 }),
  unknownTool: await codeOf(call('canvas_nothing', {})),
  resources: (await client.listResources()).resources.map((resource) => resource.uri),
  inbox: (await call('agent_inbox', {})).structuredContent,
  mailbox: (await client.readResource({ uri: 'nexus://mailbox' })).contents,
  unknownResource: await codeOf(client.readResource({ uri: 'nexus://nothing' })),
};
await client.close();
process.stdout.write(JSON.stringify(seen));
